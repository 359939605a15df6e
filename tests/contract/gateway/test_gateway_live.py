"""A gateway in live mode against a provider over TLS: what passes, in both directions, and what is seen of it."""

from __future__ import annotations

import gzip
import http.client
import json
from typing import TYPE_CHECKING, Any

import anthropic
import httpx
import pytest

from tests.contract.gateway.conftest import RunningGateway, start
from tests.fakes.provider import KEY, Provider, Reply, Seen, agent, running_provider, write_ca

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

__all__ = ["start"]

BODY = b'{"model": "claude-sonnet-4-5",  "max_tokens": 500, "stream": true, "messages": [{"role": "user", "content": "\xc3\xa4"}]}'
USAGE = {
    "input_tokens": 7,
    "cache_read_input_tokens": 5,
    "cache_creation_input_tokens": 3,
    "cache_creation": {"ephemeral_5m_input_tokens": 1, "ephemeral_1h_input_tokens": 2},
    "output_tokens": 1,
}
START = b'event: message_start\ndata: {"type":"message_start","message":{"model":"claude-sonnet-4-5-20250929","usage":%s}}\n\n'
DELTA = b'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":11}}\n\n'
STREAM = [START % json.dumps(USAGE).encode(), b"event: ping\ndata: {}\n\n", DELTA, b"event: message_stop\ndata: {}\n\n"]
EVENTS = (("content-type", "text/event-stream"), ("request-id", "req_1"))
SEEN_USAGE = {
    "input_tokens": 7,
    "output_tokens": 11,
    "cache_read_input_tokens": 5,
    "cache_write_5m_input_tokens": 1,
    "cache_write_1h_input_tokens": 2,
}


@pytest.fixture
def provider() -> Iterator[Provider]:
    with running_provider(agent()) as running:
        yield running


@pytest.fixture
def live(start: Callable[..., RunningGateway], provider: Provider, tmp_path: Path) -> Callable[..., RunningGateway]:
    """Starts gateways that know the provider and its key."""

    def start_live(auth: str = "api-key", **changes: object) -> RunningGateway:
        key_file = tmp_path / "key"
        key_file.write_text(KEY + "\n")
        upstream = {
            "base_url": provider.url,
            "auth": auth,
            "ca_file": write_ca(provider, tmp_path),
            "key_file": str(key_file),
        }
        running = start(mode="live", policy=None, upstream=upstream, **changes)
        assert not key_file.exists()
        return running

    return start_live


def played(pieces: list[bytes], **more: Any) -> Callable[[Seen, int], Any]:
    async def behave(_seen: Seen, _number: int) -> Reply:
        return Reply(**({"headers": EVENTS, "pieces": pieces} | more))

    return behave


def chunks(gateway: RunningGateway, body: bytes = BODY) -> list[bytes]:
    with httpx.Client(base_url=gateway.url) as client:
        headers = {"x-api-key": "client-token", "content-type": "application/json"}
        with client.stream("POST", "/v1/messages?beta=true", content=body, headers=headers) as response:
            return list(response.iter_raw())


def test_bodies_and_headers_pass_unchanged(live: Callable[..., RunningGateway], provider: Provider) -> None:
    """The provider sees the client's bytes, query and headers in their order; only the secret and the host are ours."""
    gateway = live()
    sent = [
        (b"X-Odd-Name", b"a"),
        (b"anthropic-beta", b"one,two"),
        (b"X-Api-Key", b"client-token"),
        (b"x-odd-name", b"b"),
    ]
    with httpx.Client(base_url=gateway.url) as client:
        client.headers.clear()
        client.post("/v1/messages?beta=true", content=BODY, headers=sent)
    (seen,) = provider.requests
    assert (seen.method, seen.target, seen.body) == ("POST", "/v1/messages?beta=true", BODY)
    kept = [header for header in seen.headers if header[0].lower() not in {b"host", b"content-length", b"x-api-key"}]
    assert kept == [(b"X-Odd-Name", b"a"), (b"anthropic-beta", b"one,two"), (b"x-odd-name", b"b")]
    assert seen.header(b"x-api-key") == KEY.encode()
    assert seen.header(b"host") == f"127.0.0.1:{provider.port}".encode()


def test_a_bearer_key_goes_out_as_one(live: Callable[..., RunningGateway], provider: Provider) -> None:
    """A client's own header says nothing of how the provider wants the key."""
    gateway = live(auth="bearer")
    chunks(gateway)
    assert provider.requests[0].header(b"authorization") == b"Bearer " + KEY.encode()
    assert provider.requests[0].header(b"x-api-key") is None


def test_chunks_keep_their_boundaries_and_usage_is_read(
    live: Callable[..., RunningGateway], provider: Provider
) -> None:
    """Each event comes in the chunk in which it was sent, and every class of the usage is seen."""
    provider.behaviour = played(STREAM)
    gateway = live()
    assert chunks(gateway) == STREAM
    (line,) = gateway.exchanges()
    assert line["usage"] == SEEN_USAGE
    assert (line["model_asked"], line["model_resolved"]) == ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929")
    assert (line["stop_reason"], line["streamed"], line["cut"], line["status"]) == ("end_turn", True, False, 200)
    assert gateway.bodies() == [{"seq": 1, "request": BODY.decode(), "response": b"".join(STREAM).decode()}]


def test_compressed_answers_pass_as_they_are_and_are_read(
    live: Callable[..., RunningGateway], provider: Provider
) -> None:
    """What the client gets is the provider's gzip, byte for byte; the gateway reads along."""
    packed = gzip.compress(b"".join(STREAM), mtime=0)
    pieces = [packed[:40], packed[40:]]
    provider.behaviour = played(pieces, headers=(*EVENTS, ("content-encoding", "gzip")))
    gateway = live()
    assert chunks(gateway) == pieces
    assert gateway.exchanges()[0]["usage"] == SEEN_USAGE


def test_a_coding_that_nobody_reads_leaves_the_usage_unavailable(
    live: Callable[..., RunningGateway], provider: Provider
) -> None:
    """An answer that can't be read passes, and its usage is no zero."""
    provider.behaviour = played([b"???"], headers=(*EVENTS, ("content-encoding", "exotic")))
    gateway = live()
    assert chunks(gateway) == [b"???"]
    assert gateway.exchanges()[0]["usage"] == {"unavailable": "content-encoding exotic can't be read"}


def test_a_cut_stream_is_cut_for_the_client_too(live: Callable[..., RunningGateway], provider: Provider) -> None:
    """The client meets the same end; the input is known, the output isn't."""
    provider.behaviour = played(STREAM[:2], breaks=True)
    gateway = live()
    with pytest.raises(httpx.RemoteProtocolError):
        chunks(gateway)
    (line,) = gateway.exchanges()
    assert line["cut"] is True
    assert line["usage"]["input_tokens"] == 7
    assert line["usage"]["output_tokens"] == {"unavailable": "cut before the final usage"}


def test_a_client_that_leaves_ends_the_request_at_the_provider(
    live: Callable[..., RunningGateway], provider: Provider
) -> None:
    """Nobody goes on generating for a client that is gone."""

    async def endless() -> AsyncIterator[bytes]:
        while True:
            for piece in STREAM[:2]:
                yield piece

    async def behave(_seen: Seen, _number: int) -> Reply:
        return Reply(headers=EVENTS, pieces=endless())

    provider.behaviour = behave
    gateway = live()
    with httpx.Client(base_url=gateway.url) as client:
        headers = {"x-api-key": "client-token"}
        with client.stream("POST", "/v1/messages", content=BODY, headers=headers) as response:
            next(response.iter_raw())
    assert provider.went.wait(20)
    gateway.end()
    assert gateway.exchanges()[0]["cut"] is True


@pytest.mark.parametrize(("status", "kind"), [(429, "rate_limit_error"), (529, "overloaded_error")])
def test_trouble_passes_with_its_retry_after(
    live: Callable[..., RunningGateway], provider: Provider, status: int, kind: str
) -> None:
    """The client learns from the provider itself how long to wait."""
    error = json.dumps({"type": "error", "error": {"type": kind, "message": "later"}}).encode()
    provider.behaviour = played(
        [error], status=status, whole=True, headers=(("content-type", "application/json"), ("retry-after", "7"))
    )
    gateway = live()
    answer = httpx.post(f"{gateway.url}/v1/messages", content=BODY, headers={"x-api-key": "client-token"})
    assert (answer.status_code, answer.headers["retry-after"], answer.content) == (status, "7", error)
    assert gateway.exchanges()[0]["usage"] == {"unavailable": "the answer is an error"}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(("POST", path) for path in ("/", "/v2/messages", "/v1/../admin", "/v1//messages", "/v1/messages/")),
        *(("POST", path) for path in ("/v1/%6dessages", "/v1/MESSAGES", "/v1/messages:x", "/v1/messages/batches")),
        *(("POST", path) for path in ("/v1/chat/completions", "/v1/complete", "/v1/responses/compact", "/v1/files")),
        *((method, "/v1/messages") for method in ("DELETE", "PATCH", "PUT", "FOO", "TRACE", "OPTIONS", "HEAD", "GET")),
        *((method, "/v1/models") for method in ("POST", "DELETE", "TRACE", "get", "HEAD")),
        *(
            ("GET", path)
            for path in ("/v1/files", "/v1/models/a/b", "/v1/models/..", "/v1/models/", "/v1/organizations")
        ),
    ],
)
def test_only_requests_for_a_model_go_out(
    live: Callable[..., RunningGateway], provider: Provider, method: str, path: str
) -> None:
    """Each has one spelling and one method; what else a provider offers may cost what nobody counts."""
    gateway = live()
    client = http.client.HTTPConnection(gateway.ready["tcp"], timeout=20)
    client.request(method, path, BODY, {"x-api-key": "client-token"})
    assert client.getresponse().status == 404
    client.close()
    assert provider.requests == []
    (line,) = gateway.exchanges()
    assert (line["refused"], line["method"], line["path"]) == ("not_served", method, path)


@pytest.mark.parametrize("target", ["/v1/models?limit=1", "/v1/models/claude-sonnet-4-5"])
def test_models_can_be_asked_for(live: Callable[..., RunningGateway], provider: Provider, target: str) -> None:
    """Reading what models there are is no answer of a model."""
    provider.behaviour = played([b'{"data":[]}'], whole=True, headers=(("content-type", "application/json"),))
    gateway = live()
    answer = httpx.get(gateway.url + target, headers={"authorization": "Bearer client-token"})
    assert (answer.status_code, answer.json()) == (200, {"data": []})
    assert provider.requests[0].target == target


def test_a_provider_that_nobody_reaches_is_said_to_be(start: Callable[..., RunningGateway], tmp_path: Path) -> None:
    """The client gets an error that it may try again, and the evidence says that nothing went out."""
    key = tmp_path / "key"
    key.write_text(KEY)
    upstream = {"base_url": "http://127.0.0.1:1", "auth": "api-key", "ca_file": None, "key_file": str(key)}
    gateway = start(mode="live", policy=None, upstream=upstream)
    answer = httpx.post(f"{gateway.url}/v1/messages", content=BODY, headers={"x-api-key": "client-token"})
    assert (answer.status_code, answer.json()["error"]["type"]) == (502, "api_error")
    assert "x-should-retry" not in answer.headers
    assert gateway.exchanges()[0]["refused"] == "upstream_unreachable"


def test_a_certificate_of_a_stranger_is_refused(
    start: Callable[..., RunningGateway], provider: Provider, tmp_path: Path
) -> None:
    """A key goes to nobody whom the declared authority doesn't know."""
    key = tmp_path / "key"
    key.write_text(KEY)
    upstream = {"base_url": provider.url, "auth": "api-key", "ca_file": None, "key_file": str(key)}
    gateway = start(mode="live", policy=None, upstream=upstream)
    assert (
        httpx.post(f"{gateway.url}/v1/messages", content=BODY, headers={"x-api-key": "client-token"}).status_code == 502
    )
    assert provider.requests == []


def test_the_key_comes_by_a_file_that_is_removed(
    start: Callable[..., RunningGateway], provider: Provider, tmp_path: Path
) -> None:
    """Without a key nothing goes out; a signal makes the gateway take it, and the file is gone."""
    key = tmp_path / "key"
    upstream = {
        "base_url": provider.url,
        "auth": "api-key",
        "ca_file": write_ca(provider, tmp_path),
        "key_file": str(key),
    }
    gateway = start(mode="live", policy=None, upstream=upstream)
    headers = {"x-api-key": "client-token"}
    assert httpx.post(f"{gateway.url}/v1/messages", content=BODY, headers=headers).status_code == 502
    gateway.process.send_signal(12)
    assert gateway.next_event() == {"event": "unkeyed", "reason": "FileNotFoundError"}
    key.write_text(KEY)
    gateway.process.send_signal(12)
    assert gateway.next_event() == {"event": "keyed"}
    assert not key.exists()
    assert httpx.post(f"{gateway.url}/v1/messages", content=BODY, headers=headers).status_code == 200
    gateway.end()
    assert KEY.encode() not in b"".join(path.read_bytes() for path in gateway.folder.rglob("*.json*"))


def test_the_sdk_speaks_through_it(live: Callable[..., RunningGateway], provider: Provider) -> None:
    """The provider's own SDK notices nothing."""
    gateway = live()
    with anthropic.Anthropic(base_url=gateway.url, api_key="client-token") as sdk:
        message = sdk.messages.create(
            model="claude-haiku-4-5", max_tokens=50, messages=[{"role": "user", "content": "x"}]
        )
    assert message.model == "claude-haiku-4-5"
    assert gateway.exchanges()[0]["usage"]["output_tokens"] == message.usage.output_tokens
