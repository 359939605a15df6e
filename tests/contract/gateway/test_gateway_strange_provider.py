"""A gateway before a provider that speaks HTTP in odd ways, stops within an answer, or tells its key."""

from __future__ import annotations

import gzip
import socket
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from tests.contract.gateway.conftest import RunningGateway, start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["start"]

KEY = "sk-provider-key-that-no-trial-may-see"
BODY = b'{"model":"claude-sonnet-4-5","max_tokens":5,"messages":[{"role":"user","content":"x"}]}'
# A request in a head of the plain kind, and the same one in chunks, which another reader reads.
HEAD = b"POST /v1/messages HTTP/1.1\r\nhost: g\r\nx-api-key: client-token\r\n"
PLAIN = HEAD + b"content-length: %d\r\n\r\n%b" % (len(BODY), BODY)
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)
MESSAGE = b'{"model":"claude-x","usage":{"input_tokens":7,"output_tokens":1}}'


@dataclass
class Raw:
    """Says to each request the same bytes, piece by piece, each when `next` was called; then it closes, or rests."""

    pieces: list[bytes] = field(default_factory=list)
    closes: bool = True
    paced: bool = False
    url: str = ""
    went_on: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    ended: threading.Event = field(default_factory=threading.Event)

    def next(self) -> None:
        self.went_on.release()

    def serve(self, listener: socket.socket) -> None:
        while not self.ended.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                while BODY not in connection.recv(65536):
                    pass
                for piece in self.pieces:
                    if self.paced:
                        self.went_on.acquire()
                    connection.sendall(piece)
                if not self.closes:
                    self.ended.wait(20)


@pytest.fixture
def raw() -> Iterator[Raw]:
    provider = Raw()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        provider.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread = threading.Thread(target=provider.serve, args=(listener,), daemon=True)
        thread.start()
        yield provider
        provider.ended.set()
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(20)


@pytest.fixture
def live(start: Callable[..., RunningGateway], raw: Raw, tmp_path: Path) -> Callable[..., RunningGateway]:
    def start_live(**changes: object) -> RunningGateway:
        (tmp_path / "key").write_text(KEY)
        upstream = {"base_url": raw.url, "auth": "api-key", "ca_file": None, "key_file": str(tmp_path / "key")}
        return start(mode="live", policy=None, upstream=upstream, **changes)

    return start_live


def connect(gateway: RunningGateway, request: bytes) -> socket.socket:
    host, _, port = gateway.ready["tcp"].rpartition(":")
    connection = socket.create_connection((host, int(port)), timeout=20)
    connection.sendall(request)
    return connection


def said(gateway: RunningGateway, request: bytes, ending: bytes = b"") -> bytes:
    """What the client gets until `ending` or the connection's end."""
    got = b""
    with connect(gateway, request) as connection:
        while not ending or not got.endswith(ending):
            data = connection.recv(65536)
            if not data:
                break
            got += data
    return got


def answer(body: bytes, *headers: bytes, length: int | None = None) -> bytes:
    lines = [b"HTTP/1.1 200 OK", b"content-type: application/json", *headers]
    lines.append(b"content-length: %d" % (len(body) if length is None else length))
    return b"\r\n".join((*lines, b"", body))


@pytest.mark.parametrize("request_bytes", [PLAIN, CHUNKED], ids=["plain", "other"])
class TestBothReaders:
    """Whichever of the two reads a client's request, the answer is the same."""

    def test_chunks_win_over_a_length(
        self, live: Callable[..., RunningGateway], raw: Raw, request_bytes: bytes
    ) -> None:
        """What the client gets has one framing (RFC 9112, 6.3), and all of the body."""
        raw.pieces = [
            b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n"
            b"%x\r\n%b\r\n0\r\n\r\n" % (len(MESSAGE), MESSAGE)
        ]
        got = said(live(), request_bytes, b"\r\n0\r\n\r\n")
        head, _, body = got.partition(b"\r\n\r\n")
        assert b"content-length" not in head.lower()
        assert b"transfer-encoding: chunked" in head.lower()
        assert body == b"%x\r\n%b\r\n0\r\n\r\n" % (len(MESSAGE), MESSAGE)

    def test_a_header_beyond_ascii_passes(
        self, live: Callable[..., RunningGateway], raw: Raw, request_bytes: bytes
    ) -> None:
        """Byte for byte: RFC 9110 section 5.5 lets it stand."""
        raw.pieces = [answer(MESSAGE, b"x-region: Z\xfcrich \xe2\x82\xac")]
        got = said(live(), request_bytes, MESSAGE)
        assert b"x-region: Z\xfcrich \xe2\x82\xac\r\n" in got
        assert got.endswith(MESSAGE)

    def test_what_came_of_an_answer_reaches_the_client(
        self, live: Callable[..., RunningGateway], raw: Raw, request_bytes: bytes
    ) -> None:
        """Of 1,000 declared bytes 500 came: the client has these 500, as the evidence says."""
        raw.pieces = [answer(b"x" * 500, length=1000)]
        gateway = live()
        assert said(gateway, request_bytes).endswith(b"\r\n\r\n" + b"x" * 500)
        gateway.end()
        (line,) = gateway.exchanges()
        assert (line["response_bytes"], line["cut"]) == (500, True)

    def test_no_piece_waits_for_the_next(
        self, live: Callable[..., RunningGateway], raw: Raw, request_bytes: bytes
    ) -> None:
        """Of a body of ten bytes five are with the client while the provider rests; the last one comes with the rest."""
        raw.pieces, raw.paced, raw.closes = [answer(b"01234", length=10), b"56789"], True, False
        with connect(live(), request_bytes) as connection:
            raw.next()
            got = b""
            while not got.endswith(b"01234"):
                got += connection.recv(65536)
            raw.next()
            while not got.endswith(b"0123456789"):
                got += connection.recv(65536)

    def test_a_model_beyond_unicode_is_counted(
        self, live: Callable[..., RunningGateway], raw: Raw, request_bytes: bytes
    ) -> None:
        """The answer passes, and its exchange has a line with its usage."""
        raw.pieces = [answer(MESSAGE.replace(b"claude-x", b"claude-\\ud800"))]
        gateway = live()
        assert said(gateway, request_bytes, b"}}").endswith(b'"output_tokens":1}}')
        (line,) = gateway.exchanges()
        assert (line["model_resolved"], line["usage"]["input_tokens"], line["cut"]) == ("claude-?", 7, False)


def chunked(*pieces: bytes) -> list[bytes]:
    head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    return [head, *(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces), b"0\r\n\r\n"]


def quoting(key: bytes) -> bytes:
    return b'{"error":"your header x-api-key was ' + key + b'"}'


@pytest.mark.parametrize(
    ("pieces", "passing"),
    [
        ([answer(quoting(KEY.encode()))], []),
        ([answer(b"{}", b"x-quoted: Bearer " + KEY.encode())], []),
        (chunked(b"before", quoting(KEY.encode())), [b"before"]),
        (
            chunked(b"before " + KEY[:9].encode(), KEY[9:20].encode(), KEY[20:].encode()),
            [KEY[:9].encode(), KEY[9:20].encode()],
        ),
        ([answer(gzip.compress(quoting(KEY.encode())), b"content-encoding: gzip")], []),
        ([b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2;k=" + KEY.encode() + b"\r\n{}\r\n0\r\n\r\n"], []),
    ],
    ids=["body", "head", "later piece", "across pieces", "packed", "extension of a chunk"],
)
def test_a_key_that_comes_back_ends_the_answer(
    live: Callable[..., RunningGateway], raw: Raw, pieces: list[bytes], passing: list[bytes]
) -> None:
    """Neither client nor evidence get it; the exchange says what happened, and keeps no body."""
    raw.pieces, raw.paced = pieces, True
    gateway = live()
    got = b""
    with connect(gateway, PLAIN) as connection:
        raw.next()
        for expected in passing:
            # With the client before the next one is sent, so that borders stay where they are.
            raw.next()
            while expected + b"\r\n" not in got:
                got += connection.recv(65536)
        for _ in pieces:
            raw.next()
        while data := connection.recv(65536):
            got += data
    assert KEY.encode() not in got
    assert KEY[20:].encode() not in got
    gateway.end()
    (line,) = gateway.exchanges()
    assert (line["key_returned"], line["cut"]) == (True, True)
    assert gateway.bodies() == []
    assert KEY.encode() not in b"".join(path.read_bytes() for path in (gateway.folder / "gateway").iterdir())


def test_a_small_answer_that_unpacks_to_gigabytes_harms_nobody(live: Callable[..., RunningGateway], raw: Raw) -> None:
    """It passes as it is, has no usage, and the next request is answered; the process stays small."""
    block = ((131072 << 3) | 2).to_bytes(3, "little") + b"a"
    bomb = b"\x28\xb5\x2f\xfd\x00\x58" + block * 16_000
    raw.pieces = [answer(bomb, b"content-encoding: zstd")]
    gateway = live()
    for _ in range(2):
        assert said(gateway, PLAIN, bomb[-100:]).endswith(bomb)
    peak = _peak_bytes(gateway.process.pid)
    assert peak < 400_000_000
    assert [line["usage"] for line in gateway.exchanges()] == [
        {"unavailable": "the body holds more than 33554432 bytes at once"}
    ] * 2


def _peak_bytes(pid: int) -> int:
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        (line,) = (line for line in file if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024
