"""Heads of the plain kind are read as h11 reads them; all others are left to it."""

from __future__ import annotations

import h11
import pytest
from gateway.plain_heads import PlainHead, plain_request, plain_response
from hypothesis import given
from hypothesis import strategies as st

POST = b"POST /v1/messages?beta=true HTTP/1.1\r\n"
LIMIT = 65536
NAMES = st.sampled_from(
    [b"Host", b"content-length", b"Connection", b"X-A", b"x-b", b"Transfer-Encoding", b"Expect", b"a b", b""]
)
VALUES = st.sampled_from(
    [
        b"a",
        b" 3",
        b"3\t",
        b"-3",
        b"3, 3",
        b"chunked",
        b"keep-alive",
        b"close",
        b"\xff",
        b"a\x00",
        b"a\nb",
        b"",
        b"100-continue",
    ]
)
LINES = st.lists(st.tuples(NAMES, VALUES, st.sampled_from([b"\r\n", b"\n", b"\r\n "])), max_size=5)


def head(*fields: bytes, first: bytes = POST) -> bytes:
    return first + b"".join(field + b"\r\n" for field in fields) + b"\r\n"


def test_a_request_of_the_plain_kind_is_read() -> None:
    """Names and order are kept, and what stands behind is the body."""
    data = head(b"Host: gateway", b"X-Api-Key:  a b\t", b"content-length: 12", b"Connection: Keep-Alive")
    assert plain_request(data + b"body", LIMIT) == PlainHead(
        b"/v1/messages?beta=true",
        ((b"Host", b"gateway"), (b"X-Api-Key", b"a b"), (b"content-length", b"12"), (b"Connection", b"Keep-Alive")),
        12,
        len(data),
    )


@pytest.mark.parametrize(
    "data",
    [
        b"",
        POST,
        head(b"host: x", b"content-length: 1")[:-1],
        head(b"host: x", b"content-length: 1", first=b"GET / HTTP/1.1\r\n"),
        head(b"host: x", b"content-length: 1", first=b"POST / HTTP/1.0\r\n"),
        head(b"host: x", b"content-length: 1", first=b"POST /a b HTTP/1.1\r\n"),
        head(b"content-length: 1"),
        head(b"host: x"),
        head(b"host: x", b"host: y", b"content-length: 1"),
        head(b"host: x", b"content-length: 1", b"content-length: 1"),
        head(b"host: x", b"content-length: +1"),
        head(b"host: x", b"content-length: 1", b"transfer-encoding: chunked"),
        head(b"host: x", b"transfer-encoding: chunked"),
        head(b"host: x", b"content-length: 1", b"connection: close"),
        head(b"host: x", b"content-length: 1", b"expect: 100-continue"),
        head(b"host: x", b"content-length: 1", b"upgrade: h2c"),
        head(b"host : x", b"content-length: 1"),
        head(b"host: x", b" y", b"content-length: 1"),
        head(b"host: x\x00", b"content-length: 1"),
        head(b"host: x\ny: z", b"content-length: 1"),
        head(b"host: x", b"content-length: 1", b"y: " + b"z" * LIMIT),
    ],
)
def test_any_other_request_is_left_to_others(data: bytes) -> None:
    """Whoever reads it then says what is wrong with it, or what is meant."""
    assert plain_request(data, LIMIT) is None


@pytest.mark.parametrize(
    ("data", "line", "length"),
    [
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n", b"200", None),
        (b"HTTP/1.1 529\r\nContent-Length: 2\r\n\r\n{}", b"529", 2),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", b"200", 0),
    ],
)
def test_an_answer_of_the_plain_kind_is_read(data: bytes, line: bytes, length: int | None) -> None:
    """With chunks or with a length."""
    found = plain_response(data)
    assert found is not None
    assert (found.line, found.length_bytes) == (line, length)


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\nx: y\r\n\r\n",
        b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\nx: y\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\ncontent-length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\ncontent-length: 2\n\n",
    ],
)
def test_any_other_answer_is_left_to_others(data: bytes) -> None:
    """Those whose body ends with the connection, or has none."""
    assert plain_response(data) is None


@given(LINES, st.booleans())
def test_what_is_plain_is_read_as_h11_reads_it(lines: list[tuple[bytes, bytes, bytes]], asks: bool) -> None:  # noqa: FBT001
    """Target or status, every header, and how long the body is: no head means two things."""
    first = POST if asks else b"HTTP/1.1 200 OK\r\n"
    data = first + b"".join(name + b":" + value + end for name, value, end in lines) + b"\r\n"
    found = plain_request(data, LIMIT) if asks else plain_response(data)
    if found is None:
        return
    http = h11.Connection(h11.SERVER if asks else h11.CLIENT)
    if not asks:
        http.send(h11.Request(method="POST", target="/", headers=[("host", "x")]))
        http.send(h11.EndOfMessage())
    http.receive_data(data)
    event = http.next_event()
    assert isinstance(event, h11.Request | h11.Response)
    line = event.target if isinstance(event, h11.Request) else str(event.status_code).encode()
    assert (found.line, list(found.headers)) == (
        line,
        [(bytes(name), bytes(value)) for name, value in event.headers.raw_items()],
    )
    assert found.end == len(data)
    named = dict(event.headers)
    assert found.length_bytes == (int(named[b"content-length"]) if b"content-length" in named else None)
    assert http.our_state is (h11.SEND_RESPONSE if asks else h11.DONE)
