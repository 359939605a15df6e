"""One request from bytes, one answer into bytes."""

from __future__ import annotations

import socket
from contextlib import closing

import pytest
from sidecar.http1 import ProtocolError, Request, Wire, response, unquote


def read_all(data: bytes, limit: int = 100) -> list[Request]:
    """The requests that a wire reads from `data`."""
    ours, theirs = socket.socketpair()
    with closing(ours), closing(theirs):
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        wire = Wire(ours, limit)
        requests = []
        while wire.wait():
            request = wire.read()
            if request is None:
                break
            requests.append(request)
        return requests


def test_request_with_a_body() -> None:
    """Method, path without the query, and exactly the announced bytes."""
    (request,) = read_all(b"PUT /a/b?wait=true HTTP/1.1\r\nContent-Length: 3\r\nHost: x\r\n\r\nxyz")
    assert (request.method, request.path, request.body, request.keep_alive) == ("PUT", "/a/b", b"xyz", True)


def test_requests_follow_each_other() -> None:
    """What comes after a body is the next request; blank lines before one are skipped."""
    data = b"POST /1 HTTP/1.1\r\ncontent-length: 2\r\n\r\nab\r\nGET /2 HTTP/1.1\r\n\r\n"
    assert [(request.path, request.body) for request in read_all(data)] == [("/1", b"ab"), ("/2", b"")]


@pytest.mark.parametrize(
    ("data", "keep_alive"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", True),
        (b"GET / HTTP/1.1\r\nConnection: Close\r\n\r\n", False),
        (b"GET / HTTP/1.0\r\n\r\n", False),
        (b"GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n", True),
    ],
)
def test_connection_stays_open_as_the_version_says(data: bytes, keep_alive: bool) -> None:  # noqa: FBT001
    """HTTP/1.1 keeps a connection unless told otherwise, HTTP/1.0 the other way round."""
    assert [request.keep_alive for request in read_all(data)] == [keep_alive]


def test_expected_continue_is_sent() -> None:
    """A client that waits for permission to send its body gets it."""
    ours, theirs = socket.socketpair()
    with closing(ours), closing(theirs):
        theirs.sendall(b"PUT / HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 1\r\n\r\n")
        theirs.shutdown(socket.SHUT_WR)
        assert Wire(ours, 100).read() is None
        assert theirs.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"


def test_body_over_the_limit_is_refused_unread() -> None:
    """The announced length decides, before any byte of the body has come."""
    with pytest.raises(ProtocolError, match="larger than 100 bytes") as caught:
        read_all(b"PUT /x HTTP/1.1\r\ncontent-length: 101\r\n\r\n")
    assert (caught.value.status, caught.value.method, caught.value.path) == (413, "PUT", "/x")


@pytest.mark.parametrize(
    ("path", "segments"),
    [
        ("/", []),
        ("/a", ["a"]),
        ("/a/", ["a"]),
        ("/a//b", ["a", "", "b"]),
        ("/a%2Fb/%C5%BE%20", ["a/b", "ž "]),
        ("/+", ["+"]),
    ],
)
def test_path_is_split_before_it_is_decoded(path: str, segments: list[str]) -> None:
    """An escaped slash is part of a name."""
    assert Request("GET", path, b"", keep_alive=True).segments() == segments


@pytest.mark.parametrize("text", ["%", "%2", "%zz", "%+1", "%ff", "%C5"])
def test_malformed_escapes_are_refused(text: str) -> None:
    """An escape is two hexadecimal digits, and the result is UTF-8."""
    with pytest.raises(ValueError, match=r"escape|utf-8"):
        unquote(text)


def test_response_has_length_type_and_body() -> None:
    """An answer says how long it is and whether the connection stays open."""
    assert response(404, "application/json", b"{}", keep_alive=True) == (
        b"HTTP/1.1 404 Not Found\r\n"
        b"content-type: application/json\r\n"
        b"content-length: 2\r\n"
        b"connection: keep-alive\r\n\r\n{}"
    )


def test_response_to_head_has_the_length_only() -> None:
    """The body is announced and left out."""
    answer = response(200, "text/plain", b"abc", keep_alive=False, with_body=False)
    assert b"content-length: 3\r\nconnection: close\r\n\r\n" in answer
    assert answer.endswith(b"\r\n\r\n")
