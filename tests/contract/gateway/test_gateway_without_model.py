"""The gateway of a study that has no model: it is there as in any pod, and answers nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import RunningGateway

BODY = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "Anybody?"}]}


@pytest.mark.parametrize(
    ("method", "path", "owner", "status"),
    [
        ("POST", "/v1/messages", "client", 402),
        ("POST", "/v1/messages", "memory", 402),
        ("POST", "/v1/responses", "client", 429),
        ("GET", "/v1/models", "client", 402),
    ],
)
def test_every_request_is_refused_and_kept(
    start: Callable[..., RunningGateway], method: str, path: str, owner: str, status: int
) -> None:
    """The refusal is one that clients don't try again; the exchange says who asked."""
    gateway = start(mode="none", policy=None)
    answer = httpx.request(
        method, gateway.url + path, json=BODY if method == "POST" else None, headers={"x-api-key": f"{owner}-token"}
    )
    assert (answer.status_code, answer.headers["x-should-retry"]) == (status, "false")
    assert "this study has no model" in answer.text
    gateway.end()
    (exchange,) = gateway.exchanges()
    assert (exchange["owner"], exchange["refused"], exchange["path"]) == (owner, "not_served", path)


def test_its_ready_line_names_no_model(start: Callable[..., RunningGateway]) -> None:
    """There is none."""
    assert set(start(mode="none", policy=None).ready) == {"event", "mode", "socket", "tcp"}
