"""The provider's own SDK, and plain HTTP, against a running gateway."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import anthropic
import httpx
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .conftest import RunningGateway

MODEL = "scripted-policy (fixture)"
TOOLS: Any = [
    {"name": "Grep", "input_schema": {"type": "object", "properties": {"pattern": {"type": "string"}}}},
    {"name": "Read", "input_schema": {"type": "object", "properties": {"file_path": {"type": "string"}}}},
]
QUESTION: Any = {"role": "user", "content": "What does `send_failed` do?"}
CACHED_SYSTEM: Any = [{"type": "text", "text": "x" * 6000, "cache_control": {"type": "ephemeral"}}]
HEADERS = {"x-api-key": "client-token"}
BODY: dict[str, Any] = {"model": "claude-sonnet-4-5", "max_tokens": 500, "messages": [QUESTION]}


@pytest.fixture
def client(gateway: RunningGateway) -> Iterator[anthropic.Anthropic]:
    """The provider's SDK, as it would be used against the provider."""
    with anthropic.Anthropic(base_url=gateway.url, api_key="client-token", max_retries=2) as sdk:
        yield sdk


@pytest.fixture
def wire(gateway: RunningGateway) -> Iterator[httpx.Client]:
    """Plain HTTP over the Unix socket."""
    with httpx.Client(transport=httpx.HTTPTransport(uds=gateway.socket), base_url="http://gateway") as http:
        yield http


def test_the_sdk_reads_a_whole_message(client: anthropic.Anthropic) -> None:
    """Without streaming, the answer is one message with a tool call."""
    message = client.messages.create(model="m", max_tokens=500, messages=[QUESTION], tools=TOOLS)
    assert (message.model, message.stop_reason, message.role) == (MODEL, "tool_use", "assistant")
    text, use = message.content
    assert isinstance(text, anthropic.types.TextBlock)
    assert isinstance(use, anthropic.types.ToolUseBlock)
    assert (text.text, use.name, use.input) == (
        "Searching the workspace for send_failed.",
        "Grep",
        {"pattern": r"\bsend_failed\b"},
    )


def test_the_sdk_reads_a_stream_and_finds_the_same(client: anthropic.Anthropic, start: Callable[..., Any]) -> None:
    """Streamed pieces add up to what a gateway of the same seed answers at once."""
    with client.messages.stream(
        model="m", max_tokens=500, messages=[QUESTION], tools=TOOLS, system=CACHED_SYSTEM
    ) as stream:
        kinds = [event.type for event in stream]
        streamed = stream.get_final_message()
    with anthropic.Anthropic(base_url=start().url, api_key="client-token") as other:
        whole = other.messages.create(model="m", max_tokens=500, messages=[QUESTION], tools=TOOLS, system=CACHED_SYSTEM)
    texts = [block.text for message in (streamed, whole) for block in message.content if block.type == "text"]
    calls = [
        (block.id, block.name, block.input)
        for message in (streamed, whole)
        for block in message.content
        if block.type == "tool_use"
    ]
    assert texts == ["Searching the workspace for send_failed."] * 2
    assert calls[0] == calls[1]
    assert (streamed.id, streamed.stop_reason) == (whole.id, whole.stop_reason)
    assert streamed.usage.output_tokens == whole.usage.output_tokens
    assert streamed.usage.cache_creation_input_tokens == whole.usage.cache_creation_input_tokens
    assert kinds[0] == "message_start"
    assert kinds[-1] == "message_stop"
    assert kinds.count("input_json") >= 2


def test_a_tool_conversation_ends_in_an_answer(client: anthropic.Anthropic) -> None:
    """The SDK's own objects go back and forth until the agent has its sources."""
    messages: list[Any] = [QUESTION]
    results = {"Grep": "pkg/a.py:3:def send_failed(self):", "Read": "3\tdef send_failed(self):\n4\t    fail()"}
    for expected in ("Grep", "Read"):
        message = client.messages.create(model="m", max_tokens=500, messages=messages, tools=TOOLS)
        use = message.content[-1]
        assert isinstance(use, anthropic.types.ToolUseBlock)
        assert use.name == expected
        result = {"type": "tool_result", "tool_use_id": use.id, "content": results[use.name]}
        messages += [{"role": "assistant", "content": message.content}, {"role": "user", "content": [result]}]
    message = client.messages.create(model="m", max_tokens=500, messages=messages, tools=TOOLS)
    text = message.content[0]
    assert isinstance(text, anthropic.types.TextBlock)
    assert (message.stop_reason, text.text.rpartition("\n\n")[2]) == ("end_turn", "Sources:\n- pkg/a.py:3-4")


def test_a_second_turn_reads_what_the_first_wrote(client: anthropic.Anthropic) -> None:
    """The SDK sees the prompt cache as the provider reports it."""
    ask: Any = {"model": "m", "max_tokens": 500, "system": CACHED_SYSTEM, "messages": [QUESTION]}
    first, second = client.messages.create(**ask).usage, client.messages.create(**ask).usage
    assert (first.cache_creation_input_tokens, first.cache_read_input_tokens) == (1509, 0)
    assert (second.cache_creation_input_tokens, second.cache_read_input_tokens) == (0, 1509)
    assert first.cache_creation is not None
    assert first.cache_creation.ephemeral_5m_input_tokens == 1509
    assert first.input_tokens == second.input_tokens == 16


def test_the_sdk_counts_tokens(client: anthropic.Anthropic, gateway: RunningGateway) -> None:
    """A count is the sum of all input classes, and is no model request."""
    assert client.messages.count_tokens(model="m", messages=[QUESTION], system=CACHED_SYSTEM).input_tokens == 1525
    gateway.end()
    assert gateway.exchanges()[0]["usage"] == {"unavailable": "a count of tokens uses none"}


def test_an_answer_that_is_too_long_is_cut(client: anthropic.Anthropic) -> None:
    """`max_tokens` holds, and the stop reason says so."""
    message = client.messages.create(model="m", max_tokens=12, messages=[QUESTION], tools=TOOLS)
    assert message.stop_reason == "max_tokens"
    assert 0 < message.usage.output_tokens <= 12


def test_refusals_are_the_provider_s_errors_and_final(start: Callable[..., RunningGateway]) -> None:
    """The SDK raises what it raises for the provider, and sends nothing again."""
    gateway = start(request_limit=1)
    stranger = anthropic.Anthropic(base_url=gateway.url, api_key="wrong", max_retries=5)
    with stranger, pytest.raises(anthropic.AuthenticationError):
        stranger.messages.create(model="m", max_tokens=5, messages=[QUESTION])
    with anthropic.Anthropic(base_url=gateway.url, auth_token="client-token", api_key=None, max_retries=5) as sdk:
        sdk.messages.create(model="m", max_tokens=500, messages=[QUESTION])
        with pytest.raises(anthropic.APIStatusError, match="the limit of 1 model requests is reached") as caught:
            sdk.messages.create(model="m", max_tokens=500, messages=[QUESTION])
        with pytest.raises(anthropic.BadRequestError):
            sdk.messages.create(model="m", max_tokens=0, messages=[QUESTION])
    assert caught.value.status_code == 402
    gateway.end()
    assert [(line["status"], line["owner"], line["refused"]) for line in gateway.exchanges()] == [
        (401, "unknown", "unauthorized"),
        (200, "client", None),
        (402, "client", "request_limit"),
        (400, "client", "bad_request"),
    ]


def test_every_exchange_is_recorded(wire: httpx.Client, gateway: RunningGateway) -> None:
    """Served or not, whoever asked: one line each, with the bytes that went over the wire."""
    body = json.dumps(BODY | {"stream": True}).encode()
    headers = {"x-api-key": "memory-token", "x-stainless-retry-count": "1"}
    answers = [
        wire.post("/v1/messages?beta=true", content=body, headers=headers),
        wire.post("/v1/messages?beta=true", content=body, headers=headers),
        wire.head("/api/hello", headers=HEADERS),
        wire.get("/v1/models", headers=HEADERS),
    ]
    assert answers[0].headers["content-type"] == "text/event-stream; charset=utf-8"
    assert gateway.end() == {
        "event": "stopped",
        "exchanges": 4,
        "unrecorded": 0,
        "record_limit_reached": False,
        "evidence_lost": False,
    }
    lines, bodies = gateway.exchanges(), gateway.bodies()
    assert [(one["seq"], one["method"], one["path"], one["status"]) for one in lines] == [
        (1, "POST", "/v1/messages?beta=true", 200),
        (2, "POST", "/v1/messages?beta=true", 200),
        (3, "HEAD", "/api/hello", 404),
        (4, "GET", "/v1/models", 404),
    ]
    assert [one["refused"] for one in lines] == [None, None, "not_served", "not_served"]
    assert [one["resend_of"] for one in lines] == [None, 1, None, None]
    assert [one["owner"] for one in lines] == ["memory", "memory", "client", "client"]
    first = lines[0]
    assert (first["model_asked"], first["model_resolved"], first["stop_reason"]) == (
        "claude-sonnet-4-5",
        MODEL,
        "end_turn",
    )
    assert (first["streamed"], first["cut"], first["retry_count"]) == (True, False, 1)
    assert first["received_ns"] <= first["first_byte_ns"] <= first["last_byte_ns"]
    for one, kept, answer in zip(lines, bodies, answers, strict=True):
        assert kept["seq"] == one["seq"]
        assert kept["response"].encode() == answer.content
        assert one["response_bytes"] == len(answer.content)
    assert bodies[0]["request"].encode() == body


def test_the_record_limit_stops_the_client(start: Callable[..., RunningGateway]) -> None:
    """The exchange that would cross the limit is refused, every later one too, and the files stay below it."""
    gateway = start(record_limit_bytes=24_000)
    statuses = []
    with httpx.Client(transport=httpx.HTTPTransport(uds=gateway.socket), base_url="http://gateway") as http:
        for size in (8000, 8000, 8000, 1):
            body = json.dumps(BODY | {"system": "x" * size}).encode()
            statuses.append(http.post("/v1/messages", content=body, headers=HEADERS).status_code)
    assert statuses == [200, 402, 402, 402]
    assert gateway.end()["record_limit_reached"] is True
    assert [line["refused"] for line in gateway.exchanges()] == [None, "record_limit", "record_limit", "record_limit"]
    assert [line["seq"] for line in gateway.bodies()] == [1]
    assert sum(file.stat().st_size for file in (gateway.folder / "gateway").iterdir()) <= 24_000


def test_two_gateways_of_one_seed_answer_alike(start: Callable[..., RunningGateway]) -> None:
    """The same conversation gets the same bytes, whatever the machine's parts of the request say."""
    answers = []
    for device in ("a" * 64, "b" * 64):
        gateway = start()
        with httpx.Client(base_url=gateway.url) as http:
            body = BODY | {"tools": TOOLS, "stream": True, "metadata": {"user_id": device}}
            answers.append(http.post("/v1/messages", json=body, headers=HEADERS).content)
    assert answers[0] == answers[1]
