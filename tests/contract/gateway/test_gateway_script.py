"""A script's answers on the wire: what a client gets, and what the evidence says of it."""

from __future__ import annotations

import hashlib
import json
import socket
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anthropic
import h11
import httpx
import pytest

from runner.core.model_script import parse_model_script

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import RunningGateway

MODEL = "scripted-policy (fixture)"
HEADERS = {"x-api-key": "client-token"}
ASK: dict[str, Any] = {"model": "m-1", "max_tokens": 500, "messages": [{"role": "user", "content": "Where is `x_y`?"}]}
TOOLS: Any = [{"name": "Grep", "input_schema": {"type": "object", "properties": {"pattern": {"type": "string"}}}}]


def script(rules: str, more: str = "") -> dict[str, Any]:
    """The changes to a configuration that play these rules, as the host hands them over."""
    text = f"format: pairbench/model-script\nversion: 1\n{more}\nrules:\n{rules}"
    played = parse_model_script(text.encode(), "script.yaml")
    return {"policy": {"name": "script", "version": 1}, "script": played.json_value()}


@dataclass
class Heard:
    """All that a connection gave until it ended, read by h11."""

    status: int | None
    headers: dict[str, str]
    body: bytes
    end: str
    """`whole`, `early` (closed within the answer), `reset`, or `no http`."""
    received: bytes = b""

    def events(self) -> list[str]:
        return [line[7:] for line in self.body.decode().splitlines() if line.startswith("event: ")]


def heard(gateway: RunningGateway, ask: dict[str, Any], *, tcp: bool = False, path: str = "/v1/messages") -> Heard:
    """What a client that reads to the end gets."""
    body = json.dumps(ask).encode()
    http = h11.Connection(h11.CLIENT)
    headers = [("host", "x"), ("x-api-key", "client-token"), ("content-length", str(len(body)))]
    sent = http.send(h11.Request(method="POST", target=path, headers=headers)) or b""
    got = Heard(None, {}, b"", "")
    with ExitStack() as opened:
        if tcp:
            host, port = gateway.ready["tcp"].split(":")
            client = opened.enter_context(socket.create_connection((host, int(port)), timeout=20))
        else:
            client = opened.enter_context(socket.socket(socket.AF_UNIX))
            client.settimeout(20)
            client.connect(gateway.socket)
        client.sendall(sent + (http.send(h11.Data(data=body)) or b""))
        http.send(h11.EndOfMessage())
        while not got.end:
            listen(http, client, got)
    return got


def listen(http: h11.Connection, client: socket.socket, got: Heard) -> None:
    try:
        event = http.next_event()
        if event is h11.NEED_DATA:
            data = client.recv(65536)
            got.received += data
            http.receive_data(data)
            return
    except ConnectionResetError:
        got.end = "reset"
        return
    except h11.RemoteProtocolError:
        got.end = "no http" if got.received and got.status is None else "early"
        return
    match event:
        case h11.Response():
            got.status = event.status_code
            got.headers = {name.decode(): value.decode() for name, value in event.headers}
        case h11.Data():
            got.body += bytes(event.data)
        case h11.EndOfMessage():
            got.end = "whole"
        case _:
            got.end = "no http" if got.received and got.status is None else "early"


def only(gateway: RunningGateway) -> dict[str, Any]:
    """The one exchange, once the gateway has ended."""
    gateway.end()
    (line,) = gateway.exchanges()
    return line


STREAM = ASK | {"stream": True}
BEGUN = {
    "input_tokens": 13,
    "output_tokens": {"unavailable": "cut before the final usage"},
    "cache_read_input_tokens": 0,
    "cache_write_5m_input_tokens": 0,
    "cache_write_1h_input_tokens": 0,
}
"""The usage of an answer to `STREAM` that was cut when it had begun."""
TEXT_EVENTS = [
    "message_start",
    "content_block_start",
    "ping",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
]


def test_a_reply_is_streamed_as_any_other(start: Callable[..., RunningGateway]) -> None:
    """The provider's SDK reads thoughts, text and calls, and sees the usage of the rule."""
    rules = """
  - when: {turn: 1, text: {contains: x_y}, tools: Grep}
    respond:
      thinking: Where could it be?
      text: Let me look.
      calls: [{tool: Grep, input: {pattern: x_y, deep: {a: [1, null, true]}}}, {tool: Read, input: {}}]
"""
    gateway = start(**script(rules))
    with anthropic.Anthropic(base_url=gateway.url, api_key="client-token") as sdk:
        with sdk.messages.stream(**ASK, tools=TOOLS) as stream:
            kinds = [event.type for event in stream]
            streamed = stream.get_final_message()
        whole = sdk.messages.create(**ASK, tools=TOOLS)
    for message in (streamed, whole):
        assert [block.type for block in message.content] == ["thinking", "text", "tool_use", "tool_use"]
        thought, text, first, second = (block.model_dump() for block in message.content)
        assert (thought["thinking"], text["text"]) == ("Where could it be?", "Let me look.")
        assert thought["signature"].startswith("sig_01")
        assert (first["name"], first["input"]) == ("Grep", {"pattern": "x_y", "deep": {"a": [1, None, True]}})
        assert (second["name"], second["input"]) == ("Read", {})
        assert (message.model, message.stop_reason) == (MODEL, "tool_use")
    assert kinds.count("signature") == 1
    assert streamed.usage.output_tokens == whole.usage.output_tokens == 86
    gateway.end()
    assert [line["usage"]["output_tokens"] for line in gateway.exchanges()] == [86, 86]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("answer", "stop_reason"),
    [("{text: ''}", "end_turn"), ("{text: No., stop_reason: refusal}", "refusal"), ("{calls: []}", "end_turn")],
)
def test_a_message_may_be_empty_and_stop_for_any_reason(
    start: Callable[..., RunningGateway], *, stream: bool, answer: str, stop_reason: str
) -> None:
    """What a client does with refusals and empty answers can be seen."""
    gateway = start(**script(f"  - respond: {answer}"))
    got = heard(gateway, ASK | {"stream": stream})
    assert (got.status, got.end) == (200, "whole")
    assert only(gateway)["stop_reason"] == stop_reason


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("how", "sent", "observed"),
    [
        ("usage: none", None, {"unavailable": "the answer has no usage"}),
        ("usage: empty", {}, {"unavailable": "the answer's usage has no class of tokens"}),
        (
            "tokens: {input_tokens: 7, output_tokens: 9, cache_write_1h_input_tokens: 2}",
            {"input_tokens": 7, "output_tokens": 9, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 0},
            {
                "input_tokens": 7,
                "output_tokens": 9,
                "cache_read_input_tokens": 0,
                "cache_write_5m_input_tokens": 0,
                "cache_write_1h_input_tokens": 2,
            },
        ),
    ],
    ids=["none", "empty", "declared"],
)
def test_usage_is_what_the_script_says(
    start: Callable[..., RunningGateway],
    *,
    stream: bool,
    how: str,
    sent: dict[str, int] | None,
    observed: dict[str, Any],
) -> None:
    """Missing usage is missing on the wire and unavailable in the evidence, never zero."""
    gateway = start(**script(f"  - respond: {{text: Yes., {how}}}"))
    got = heard(gateway, ASK | {"stream": stream})
    documents = [json.loads(line[6:]) for line in got.body.decode().splitlines() if line.startswith("data: ")]
    last = documents[-2] if stream else json.loads(got.body)
    first = documents[0]["message"] if stream else last
    assert ("usage" in first, "usage" in last) == (sent is not None, sent is not None)
    if sent is not None:
        assert {key: last["usage"].get(key) for key in sent} == sent
        assert bool(last["usage"]) is bool(sent)
    line = only(gateway)
    assert (line["usage"], line["model_resolved"], line["stop_reason"]) == (observed, MODEL, "end_turn")


def test_the_name_of_the_model_may_be_another_fixture_s(start: Callable[..., RunningGateway]) -> None:
    """A provider that answers with another model than it was asked for."""
    gateway = start(**script("  - respond: {text: Yes., model: remapped (fixture)}"))
    assert json.loads(heard(gateway, ASK).body)["model"] == "remapped (fixture)"
    line = only(gateway)
    assert (line["model_asked"], line["model_resolved"]) == ("m-1", "remapped (fixture)")


def test_errors_are_the_provider_s(start: Callable[..., RunningGateway]) -> None:
    """Overloaded twice with a header, then an answer: what the SDK retries, and what the evidence counts."""
    rules = """
  - times: 1
    respond: {error: {status: 529, message: Busy, headers: {retry-after-ms: "1"}}}
  - when: {resends: 1}
    respond: {error: {status: 429, type: odd_error, headers: {retry-after-ms: "1", x-should-retry: "true"}}}
  - respond: {text: At last.}
"""
    gateway = start(**script(rules))
    with anthropic.Anthropic(base_url=gateway.url, api_key="client-token", max_retries=2) as sdk:
        sdk.messages.create(**ASK)
    first = heard(start(**script(rules)), STREAM)
    assert (first.status, first.end, first.headers["retry-after-ms"]) == (529, "whole", "1")
    assert json.loads(first.body)["error"] == {"type": "overloaded_error", "message": "Busy"}
    assert first.headers["request-id"] == json.loads(first.body)["request_id"]
    gateway.end()
    lines = gateway.exchanges()
    assert [(line["status"], line["refused"], line["cut"], line["resend_of"]) for line in lines] == [
        (529, None, False, None),
        (429, None, False, 1),
        (200, None, False, 1),
    ]
    assert lines[0]["usage"] == {"unavailable": "the answer is an error"}
    assert json.loads(gateway.bodies()[1]["response"])["error"]["type"] == "odd_error"


@pytest.mark.parametrize(("by", "end"), [("reset", "reset"), ("close", "early"), ("end", "whole")])
@pytest.mark.parametrize(("after", "whole_events"), [(0, 0), (1, 1), (5, 5), (6, 6), (7, 7), (99, 7)])
def test_a_stream_is_cut_after_an_event(
    start: Callable[..., RunningGateway], by: str, end: str, after: int, whole_events: int
) -> None:
    """Whole events arrive, then the declared end; usage counts once the final one was sent."""
    gateway = start(**script(f"  - respond: {{text: Yes., cut: {{after_events: {after}, by: {by}}}}}"))
    got = heard(gateway, STREAM, tcp=True)
    assert (got.status, got.end, got.events()) == (200, end, TEXT_EVENTS[:whole_events])
    line = only(gateway)
    assert (line["status"], line["cut"], line["refused"]) == (200, True, None)
    assert line["response_sha256"] == "sha256:" + hashlib.sha256(got.body).hexdigest()
    assert line["response_bytes"] == len(got.body)
    assert line["model_resolved"] == (MODEL if whole_events else None)
    final = whole_events >= 6
    whole = BEGUN | {"output_tokens": 8}
    assert line["usage"] == (whole if final else BEGUN if whole_events else {"unavailable": "cut before any usage"})
    assert line["stop_reason"] == ("end_turn" if final else None)


def test_a_stream_is_cut_within_an_event(start: Callable[..., RunningGateway]) -> None:
    """Byte by byte, what was sent is what is recorded."""
    gateway = start(**script("  - respond: {text: Yes., cut: {after_bytes: 700, by: close}}"))
    got = heard(gateway, STREAM)
    assert (got.end, len(got.body)) == ("early", 700)
    line = only(gateway)
    assert (line["response_bytes"], line["cut"]) == (700, True)
    assert gateway.bodies()[0]["response"] == got.body.decode()
    assert line["usage"] == BEGUN


def test_over_a_unix_socket_a_reset_is_an_early_end(start: Callable[..., RunningGateway]) -> None:
    """All that was sent before it arrives all the same."""
    gateway = start(**script("  - respond: {text: Yes., cut: {after_events: 2}}"))
    got = heard(gateway, STREAM)
    assert (got.end, got.events()) == ("early", TEXT_EVENTS[:2])


@pytest.mark.parametrize(
    ("place", "end", "bytes_sent"), [("after_bytes: 10", "early", 10), ("after_events: 0", "early", 0)]
)
def test_a_whole_answer_is_cut(start: Callable[..., RunningGateway], place: str, end: str, bytes_sent: int) -> None:
    """A declared length that isn't kept is noticed by the client, and nothing of the usage counts."""
    gateway = start(**script(f"  - respond: {{text: Yes., cut: {{{place}, by: close}}}}"))
    got = heard(gateway, ASK)
    assert (got.status, got.end, len(got.body)) == (200, end, bytes_sent)
    line = only(gateway)
    assert (line["cut"], line["response_bytes"], line["streamed"]) == (True, bytes_sent, False)
    assert line["usage"] == {"unavailable": "cut before any usage"}


@pytest.mark.parametrize("by", ["reset", "close"])
def test_an_answer_may_be_cut_before_it_begins(start: Callable[..., RunningGateway], by: str) -> None:
    """Not one byte was sent, so there is no status."""
    gateway = start(**script(f"  - respond: {{text: Yes., cut: {{before_headers: true, by: {by}}}}}"))
    got = heard(gateway, STREAM, tcp=True)
    assert (got.status, got.body, got.end) == (None, b"", "reset" if by == "reset" else "early")
    line = only(gateway)
    assert (line["status"], line["cut"], line["first_byte_ns"], line["response_bytes"]) == (None, True, None, 0)
    assert (line["model_asked"], line["usage"]) == ("m-1", {"unavailable": "no answer was made"})


@pytest.mark.parametrize("place", ["before_headers: true", "after_events: 0", "after_events: 3", "after_bytes: 200"])
def test_a_stall_lasts_until_the_client_goes(start: Callable[..., RunningGateway], place: str) -> None:
    """Whoever waits gets nothing more; the exchange ends when he leaves, and the gateway goes on."""
    rules = f"""
  - times: 1
    respond: {{text: Yes., stall: {{{place}}}}}
  - respond: {{text: Next.}}
"""
    gateway = start(**script(rules))
    body = json.dumps(STREAM).encode()
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(20)
        client.connect(gateway.socket)
        head = b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nx-api-key: client-token\r\nContent-Length: %d\r\n\r\n"
        client.sendall(head % len(body) + body)
        if not place.startswith("before"):
            assert client.recv(100).startswith(b"HTTP/1.1 200 ")
        # Another client is answered meanwhile.
        assert b"Next." in heard(gateway, ASK | {"model": "m-2"}).body
    lines = stalled_lines(gateway)
    begun = not place.startswith("before")
    assert (lines[1]["status"], lines[1]["cut"], lines[1]["refused"]) == (200 if begun else None, True, None)
    reason = "cut before any usage" if begun else "no answer was made"
    assert lines[1]["usage"] == (BEGUN if "3" in place else {"unavailable": reason})
    assert lines[2]["cut"] is False


def stalled_lines(gateway: RunningGateway) -> dict[int, dict[str, Any]]:
    gateway.end()
    return {line["seq"]: line for line in gateway.exchanges()}


def test_sealing_ends_a_stall(start: Callable[..., RunningGateway]) -> None:
    """A host that collects evidence doesn't wait for whoever still hangs."""
    gateway = start(**script("  - respond: {text: Yes., stall: {after_events: 2}}"))
    with (
        httpx.Client(base_url=gateway.url) as client,
        client.stream("POST", "/v1/messages", json=STREAM, headers=HEADERS) as got,
    ):
        assert got.status_code == 200
        assert gateway.end()["exchanges"] == 1
    (line,) = gateway.exchanges()
    assert (line["cut"], line["status"], line["stop_reason"]) == (True, 200, None)


def test_a_client_that_leaves_during_a_delay_is_noticed(start: Callable[..., RunningGateway]) -> None:
    """A day's delay holds nothing up once nobody waits for it."""
    gateway = start(**script("  - respond: {text: Yes., delay_ms: {headers: 86400000}}"))
    with httpx.Client(base_url=gateway.url) as client, pytest.raises(httpx.ReadTimeout):
        client.post("/v1/messages", json=ASK, headers=HEADERS, timeout=0.2)
    line = only(gateway)
    assert (line["status"], line["cut"], line["model_asked"]) == (None, True, "m-1")


def test_delays_change_no_byte(start: Callable[..., RunningGateway]) -> None:
    """Headers, first event and the others come late, and are the same."""
    plain = start(**script("  - respond: {text: Yes.}"))
    late = start(**script("  - respond: {text: Yes., delay_ms: {headers: 5, first_event: 5, between_events: 5}}"))
    assert heard(plain, STREAM).body == heard(late, STREAM).body
    assert heard(plain, ASK).body == heard(late, ASK).body
    for gateway in (plain, late):
        gateway.end()
    stamps = [[line["last_byte_ns"] - line["received_ns"] for line in one.exchanges()] for one in (plain, late)]
    assert min(stamps[1]) >= 10_000_000
    assert [line["usage"] for line in plain.exchanges()] == [line["usage"] for line in late.exchanges()]


def test_a_stream_may_end_with_an_error(start: Callable[..., RunningGateway]) -> None:
    """The error is an event, the body ends properly, and the SDK raises the provider's error."""
    rules = """
  - when: {stream: true}
    respond: {text: Yes., error_event: {after_events: 3, type: api_error, message: Broken}}
"""
    gateway = start(**script(rules))
    got = heard(gateway, STREAM)
    assert (got.status, got.end, got.events()) == (200, "whole", [*TEXT_EVENTS[:3], "error"])
    with anthropic.Anthropic(base_url=gateway.url, api_key="client-token", max_retries=0) as sdk:
        with pytest.raises(anthropic.APIStatusError, match="Broken"), sdk.messages.stream(**ASK) as stream:
            stream.get_final_message()
        assert sdk.messages.create(**ASK).stop_reason == "end_turn"
    gateway.end()
    first, second, third = gateway.exchanges()
    assert (first["cut"], first["status"], first["stop_reason"]) == (True, 200, None)
    assert first["usage"] == second["usage"] == BEGUN
    assert (third["cut"], third["streamed"], third["usage"]["output_tokens"]) == (False, False, 17)


@pytest.mark.parametrize(
    ("raw", "content_type", "body"),
    [
        ("{text: 'data: {oops'}", "text/event-stream; charset=utf-8", b"data: {oops"),
        ("{base64: '/w==', content_type: application/json, status: 200}", "application/json", b"\xff"),
        ("{text: <html>, status: 502, content_type: text/html, headers: {server: x}}", "text/html", b"<html>"),
    ],
    ids=["broken-event", "binary", "page"],
)
def test_a_body_may_be_no_message(
    start: Callable[..., RunningGateway], raw: str, content_type: str, body: bytes
) -> None:
    """HTTP is right and what it carries isn't."""
    gateway = start(**script(f"  - respond: {{raw: {raw}}}"))
    got = heard(gateway, STREAM)
    assert (got.end, got.body, got.headers["content-type"]) == ("whole", body, content_type)
    line = only(gateway)
    assert (line["status"], line["cut"], line["response_bytes"]) == (got.status, False, len(body))
    assert line["usage"] == {"unavailable": "the answer is no message"}
    kept = gateway.bodies()[0]["response"]
    assert kept == ({"base64": "/w=="} if body == b"\xff" else body.decode())


def test_what_is_sent_may_be_no_http(start: Callable[..., RunningGateway]) -> None:
    """Bytes go out as they are and the connection ends; nobody was told a status."""
    gateway = start(**script("  - respond: {raw: {text: SSH-2.0-x, wire: true}}"))
    assert heard(gateway, STREAM).end == "no http"
    line = only(gateway)
    assert (line["status"], line["response_bytes"], line["cut"]) == (None, 9, False)
    assert line["first_byte_ns"] is not None
    assert gateway.bodies()[0]["response"] == "SSH-2.0-x"


def test_the_default_policy_plays_where_no_rule_applies(start: Callable[..., RunningGateway]) -> None:
    """And where a rule says so, whole or cut."""
    rules = """
  - when: {turn: 2}
    respond: {text: Never.}
  - when: {model: other*}
    respond: {policy: plain-agent, usage: none}
"""
    gateway = start(**script(rules))
    with_tools = ASK | {"tools": TOOLS}
    plain = json.loads(heard(gateway, with_tools).body)
    assert plain["content"][-1]["input"] == {"pattern": r"\bx_y\b"}
    other = json.loads(heard(gateway, with_tools | {"model": "other-1"}).body)
    assert (other["content"][-1]["name"], "usage" in other) == ("Grep", False)


def test_otherwise_an_error_is_a_refusal(start: Callable[..., RunningGateway]) -> None:
    """A script that means to be complete shows where it isn't."""
    gateway = start(**script("  - {times: 1, respond: {text: Once.}}", "otherwise: error"))
    assert [heard(gateway, ASK).status for _ in range(2)] == [200, 402]
    gateway.end()
    assert [line["refused"] for line in gateway.exchanges()] == [None, "no_rule"]


def test_scripted_errors_count_against_the_request_limit(start: Callable[..., RunningGateway]) -> None:
    """A client that asks again and again meets the cap, whatever it is answered."""
    gateway = start(request_limit=2, **script("  - respond: {error: {status: 529}}"))
    assert [heard(gateway, ASK).status for _ in range(3)] == [529, 529, 402]


def test_other_paths_may_fail_too(start: Callable[..., RunningGateway]) -> None:
    """Counting tokens, or whatever a client asks besides."""
    rules = """
  - when: {path: /v1/messages/count_tokens}
    times: 1
    respond: {error: {status: 500}}
  - when: {path: /v1/models}
    respond: {raw: {text: "{}"}, stall: {after_bytes: 1}}
"""
    gateway = start(**script(rules))
    statuses = [heard(gateway, ASK, path="/v1/messages/count_tokens").status for _ in range(2)]
    assert statuses == [500, 200]
    assert heard(gateway, ASK).status == 200
    with httpx.Client(base_url=gateway.url) as client:
        assert client.head("/v1/messages/count_tokens?x=1", headers=HEADERS).status_code == 404


def test_who_asked_and_how_often_decide(start: Callable[..., RunningGateway]) -> None:
    """The memory's calls, re-sends and numbers of exchanges are told apart."""
    rules = """
  - {when: {owner: memory}, respond: {text: memory}}
  - {when: {resends: {at_least: 2}}, respond: {text: third time}}
  - {when: {retry_count: {at_least: 1, at_most: 3}}, respond: {text: retried}}
  - {when: {exchange: 5}, respond: {text: fifth}}
  - {respond: {text: first}}
"""
    gateway = start(**script(rules))
    asked: list[tuple[dict[str, Any], dict[str, str]]] = [
        (ASK, {}),
        (ASK, {"x-api-key": "memory-token"}),
        (ASK, {}),
        (ASK | {"model": "m-2"}, {"x-stainless-retry-count": "2"}),
        (ASK | {"model": "m-3"}, {}),
        (ASK | {"model": "m-4"}, {}),
    ]
    with httpx.Client(base_url=gateway.url) as client:
        answers = [client.post("/v1/messages", json=ask, headers=HEADERS | changes) for ask, changes in asked]
    texts = [answer.json()["content"][0]["text"] for answer in answers]
    assert texts == ["first", "memory", "third time", "retried", "fifth", "first"]


def test_results_of_tools_decide(start: Callable[..., RunningGateway]) -> None:
    """The last result of the named tool, whether it failed, and the last text of a human."""
    rules = """
  - {when: {tool_result: {tool: Grep, failed: true}}, respond: {text: it failed}}
  - {when: {tool_result: {tool: Grep, contains: [pkg/, py], matches: "pkg*3"}}, respond: {text: found}}
  - {when: {tool_result: {}, text: {matches: "Go on*"}}, respond: {text: went on}}
  - {respond: {text: nothing}}
"""
    gateway = start(**script(rules))
    use = {"type": "tool_use", "id": "t1", "name": "Grep", "input": {}}

    def answered(result: dict[str, Any], *more: dict[str, Any]) -> str:
        content = [{"type": "tool_result", "tool_use_id": "t1"} | result, *more]
        messages = [*ASK["messages"], {"role": "assistant", "content": [use]}, {"role": "user", "content": content}]
        return str(json.loads(heard(gateway, ASK | {"messages": messages}).body)["content"][0]["text"])

    reminder = {"type": "text", "text": "<system-reminder>Be quick.</system-reminder>"}
    assert [
        answered({"content": "pkg/a.py:3", "is_error": True}),
        answered({"content": [{"type": "text", "text": "pkg/a.py:3"}]}),
        answered({"content": "pkg/a.py:30"}),
        answered({"content": "none"}, {"type": "text", "text": "Go on, please."}, reminder),
    ] == ["it failed", "found", "nothing", "went on"]


def test_two_gateways_of_one_script_answer_alike(start: Callable[..., RunningGateway]) -> None:
    """Signatures, identifiers and usage follow from seed, script and requests alone."""
    played = script("  - respond: {thinking: Hm., text: Yes., calls: [{tool: Read, input: {a: 1}}]}")
    first, second = start(**played), start(**played)
    for ask in (STREAM, ASK, STREAM):
        assert heard(first, ask).body == heard(second, ask).body


def test_one_script_serves_both_apis(start: Callable[..., RunningGateway]) -> None:
    """A rule without a path is for every request that a model answers; one with a path for that API alone."""
    rules = """
  - when: {path: /v1/responses, turn: 2}
    respond: {text: For responses alone.}
  - when: {turn: 1}
    respond: {text: For either., model: other (fixture)}
"""
    gateway = start(**script(rules, "otherwise: error"))
    asked = {"model": "m-1", "input": "Where is `x_y`?"}
    later = [{"role": "user", "content": "Where?"}, {"role": "assistant", "content": "There."}]
    assert b"For either." in heard(gateway, ASK).body
    assert b"For either." in heard(gateway, asked, path="/v1/responses").body
    again = {"role": "user", "content": "Sure?"}
    assert heard(gateway, ASK | {"messages": [*later, again]}).status == 402
    assert b"For responses alone." in heard(gateway, asked | {"input": [*later, again]}, path="/v1/responses").body
    gateway.end()
    assert [line["model_resolved"] for line in gateway.exchanges()] == [
        "other (fixture)",
        "other (fixture)",
        None,
        MODEL,
    ]
