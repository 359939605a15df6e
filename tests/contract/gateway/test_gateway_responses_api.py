"""The Responses API over plain HTTP against a running gateway: what is answered, and what is written down."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .conftest import RunningGateway

HEADERS = {"authorization": "Bearer client-token"}
INSTRUCTIONS = "Look things up. " * 400
QUESTION = {
    "type": "message",
    "role": "user",
    "content": [{"type": "input_text", "text": "What does `send_failed` do?"}],
}
SHELL = {"type": "function", "name": "exec_command", "parameters": {"type": "object", "properties": {"cmd": {}}}}
BODY: dict[str, Any] = {
    "model": "gpt-5.1",
    "instructions": INSTRUCTIONS,
    "input": [QUESTION],
    "tools": [SHELL],
    "stream": True,
}


@pytest.fixture
def wire(gateway: RunningGateway) -> Iterator[httpx.Client]:
    """Plain HTTP over the Unix socket."""
    with httpx.Client(transport=httpx.HTTPTransport(uds=gateway.socket), base_url="http://gateway") as http:
        yield http


def final(stream: str) -> dict[str, Any]:
    """The response in the last event of a stream."""
    last = stream.rstrip("\n").split("\n\n")[-1]
    response: dict[str, Any] = json.loads(last.partition("data: ")[2])["response"]
    return response


def test_a_conversation_goes_on_with_what_its_tools_gave(wire: httpx.Client, gateway: RunningGateway) -> None:
    """The second request reads the first one from the cache, and both sides count the same tokens."""
    first = wire.post("/v1/responses", json=BODY, headers=HEADERS)
    assert first.headers["content-type"] == "text/event-stream; charset=utf-8"
    call = final(first.text)["output"][-1]
    assert (call["type"], call["name"]) == ("function_call", "exec_command")
    assert json.loads(call["arguments"])["cmd"].startswith("grep -rnIE -e ")
    output = {"type": "function_call_output", "call_id": call["call_id"], "output": "Output:\n"}
    second = final(wire.post("/v1/responses", json=BODY | {"input": [QUESTION, call, output]}, headers=HEADERS).text)
    assert second["status"] == "completed"
    details = second["usage"]["input_tokens_details"]
    assert details["cached_tokens"] == final(first.text)["usage"]["input_tokens"] > 1024
    gateway.end()
    seen, later = gateway.exchanges()
    assert (later["path"], later["owner"], later["model_asked"], later["stop_reason"], later["streamed"]) == (
        "/v1/responses",
        "client",
        "gpt-5.1",
        "completed",
        True,
    )
    assert later["usage"] == {
        "input_tokens": second["usage"]["input_tokens"] - details["cached_tokens"],
        "output_tokens": second["usage"]["output_tokens"],
        "cache_read_input_tokens": details["cached_tokens"],
        "cache_write_5m_input_tokens": 0,
        "cache_write_1h_input_tokens": 0,
    }
    assert seen["usage"]["cache_read_input_tokens"] == 0


def test_a_whole_response_is_the_streamed_one(wire: httpx.Client, start: Callable[..., RunningGateway]) -> None:
    """From two gateways of one seed."""
    with httpx.Client(transport=httpx.HTTPTransport(uds=start().socket), base_url="http://gateway") as other:
        whole = other.post("/v1/responses", json=BODY | {"stream": False}, headers=HEADERS).json()
    assert whole == final(wire.post("/v1/responses", json=BODY, headers=HEADERS).text)


@pytest.mark.parametrize(
    ("headers", "body", "status", "error"),
    [
        (
            {},
            BODY,
            401,
            {"message": "invalid x-api-key", "type": "authentication_error", "code": "authentication_error"},
        ),
        (
            HEADERS,
            BODY | {"input": []},
            400,
            {
                "message": "input: the first message that instructs nobody must be the user's",
                "type": "invalid_request_error",
                "code": "invalid_request_error",
            },
        ),
    ],
)
def test_a_refused_response_has_that_api_s_shape(
    wire: httpx.Client, headers: dict[str, str], body: dict[str, Any], status: int, error: dict[str, str]
) -> None:
    """Its clients show the message."""
    answer = wire.post("/v1/responses", json=body, headers=headers)
    assert (answer.status_code, answer.json()) == (status, {"error": {"param": None, **error}})


def test_a_limit_is_an_exhausted_quota(start: Callable[..., RunningGateway]) -> None:
    """Counted with the requests of the other API."""
    gateway = start(request_limit=1)
    with httpx.Client(transport=httpx.HTTPTransport(uds=gateway.socket), base_url="http://gateway") as http:
        assert http.post("/v1/responses", json=BODY, headers=HEADERS).status_code == 200
        refused = http.post("/v1/responses", json=BODY, headers=HEADERS)
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "insufficient_quota")
    gateway.end()
    assert [exchange["refused"] for exchange in gateway.exchanges()] == [None, "request_limit"]
