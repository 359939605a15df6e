"""Whose request it is, and whether it may go on."""

from __future__ import annotations

import pytest
from gateway.admission import Admission
from gateway.config import Token
from gateway.exchange import Exchange, Request
from gateway.provider_errors import RefusedError

TOKENS = {"client": Token(b"c-1"), "memory": Token(b"m-1")}


def exchange(
    seq: int, body: bytes = b"", target: str = "/v1/messages", headers: dict[str, str] | None = None
) -> Exchange:
    return Exchange(seq, 0, Request("POST", target, tuple((headers or {}).items()), body))


@pytest.mark.parametrize(
    ("headers", "owner"),
    [
        ({"x-api-key": "c-1"}, "client"),
        ({"x-api-key": "m-1"}, "memory"),
        ({"authorization": "Bearer c-1"}, "client"),
        ({"authorization": "bearer  m-1 "}, "memory"),
        ({"x-api-key": "wrong", "authorization": "Bearer c-1"}, "client"),
        ({"authorization": "Basic c-1"}, "unknown"),
        ({"x-api-key": "C-1"}, "unknown"),
        ({"x-api-key": "ü"}, "unknown"),
        ({"x-api-key": ""}, "unknown"),
        ({}, "unknown"),
    ],
)
def test_a_token_tells_the_owner(headers: dict[str, str], owner: str) -> None:
    """Either header may carry the token; anything else is nobody's."""
    admission = Admission(TOKENS, 1)
    made = exchange(1, headers=headers)
    admission.note(made)
    assert made.owner == owner


def test_nobody_is_refused() -> None:
    """A request without a known token gets the provider's 401."""
    made = exchange(1)
    with pytest.raises(RefusedError) as caught:
        Admission(TOKENS, 1).require_owner(made)
    assert (caught.value.status, caught.value.refused) == (401, "unauthorized")


def test_the_same_body_to_the_same_place_is_a_resend() -> None:
    """The first of its kind is named; another path, another body or no body isn't one."""
    admission = Admission(TOKENS, 1)
    made = [
        exchange(1, b"a"),
        exchange(2, b"b"),
        exchange(3, b"a"),
        exchange(4, b"a", "/v1/messages/count_tokens"),
        exchange(5, b"a"),
        exchange(6),
        exchange(7),
    ]
    for one in made:
        admission.note(one)
    assert [one.resend_of for one in made] == [None, None, 1, None, 1, None, None]


def test_the_number_of_model_requests_is_limited() -> None:
    """The request after the last is refused in a way on which clients stop."""
    admission = Admission(TOKENS, 2)
    admission.take_model_request()
    admission.take_model_request()
    with pytest.raises(RefusedError) as caught:
        admission.take_model_request()
    assert (caught.value.status, caught.value.refused) == (402, "request_limit")
