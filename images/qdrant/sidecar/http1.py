"""HTTP/1.1 as a server needs it here: one request from a socket, one answer onto it, within limits.

It knows nothing of Qdrant. The standard library's server would do the same for 40 ms more at every start.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from socket import socket

HEAD_BYTES_LIMIT = 32 * 1024
HEADERS_LIMIT = 100
_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")

REASONS = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    409: "Conflict",
    411: "Length Required",
    413: "Content Too Large",
    422: "Unprocessable Content",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    501: "Not Implemented",
    503: "Service Unavailable",
    505: "HTTP Version Not Supported",
}


class ProtocolError(Exception):
    """What came isn't a request that can be answered and followed by another: answer `status`, then close."""

    def __init__(self, status: int, message: str, method: str = "", path: str = "") -> None:
        """Hold the answer, and what is known of the request."""
        super().__init__(message)
        self.status = status
        self.message = message
        self.method = method
        self.path = path


class Request:
    """One request: its method, its path without the query, and its body."""

    __slots__ = ("body", "keep_alive", "method", "path")

    def __init__(self, method: str, path: str, body: bytes, *, keep_alive: bool) -> None:
        """Hold the parts; `keep_alive` says that another request may follow."""
        self.method = method
        self.path = path
        self.body = body
        self.keep_alive = keep_alive

    def segments(self) -> list[str]:
        """Return the decoded parts of the path; a trailing slash makes no difference.

        Raises:
            ValueError: when an escape is malformed or isn't UTF-8.
        """
        parts = [unquote(part) for part in self.path[1:].split("/")]
        return parts[:-1] if parts and parts[-1] == "" else parts


def unquote(text: str) -> str:
    """Return `text` with its percent escapes decoded.

    Raises:
        ValueError: when an escape is malformed or the result isn't UTF-8.
    """
    if "%" not in text:
        return text
    first, *rest = text.split("%")
    decoded = bytearray(first.encode("latin-1"))
    for piece in rest:
        if len(piece) < 2 or not all(digit in "0123456789abcdefABCDEF" for digit in piece[:2]):
            raise ValueError("a malformed percent escape")
        decoded.append(int(piece[:2], 16))
        decoded += piece[2:].encode("latin-1")
    return decoded.decode("utf-8")


class Wire:
    """The bytes of one connection, read as requests, one after another."""

    def __init__(self, connection: socket, body_bytes_limit: int) -> None:
        """Hold the socket and the largest body that is read."""
        self._connection = connection
        self._limit = body_bytes_limit
        self._buffer = bytearray()

    def wait(self) -> bool:
        """Return once a request has begun: True; False when the other side is done."""
        return bool(self._buffer) or self._receive()

    def _receive(self) -> bool:
        chunk = self._connection.recv(256 * 1024)
        self._buffer += chunk
        return bool(chunk)

    def read(self) -> Request | None:
        """Return the next request, whole; None when the other side went away within it.

        Raises:
            ProtocolError: when it is malformed or too large.
        """
        end = -1
        while end < 0:
            end = self._buffer.find(b"\r\n\r\n")
            if end > HEAD_BYTES_LIMIT or (end < 0 and len(self._buffer) > HEAD_BYTES_LIMIT):
                raise ProtocolError(431, "the head of the request is too large")
            if end < 0 and not self._receive():
                return None
        head = self._buffer[:end].decode("latin-1").lstrip("\r\n")
        del self._buffer[: end + 4]
        method, path, version, headers = _parse_head(head)
        body = self._body(_content_length(headers, method, path), headers, method, path)
        if body is None:
            return None
        connection = headers.get("connection", "").lower()
        keep_alive = connection != "close" if version == "HTTP/1.1" else connection == "keep-alive"
        return Request(method, path, body, keep_alive=keep_alive)

    def _body(self, length: int, headers: dict[str, str], method: str, path: str) -> bytes | None:
        if length > self._limit:
            raise ProtocolError(413, f"the body is larger than {self._limit} bytes", method, path)
        if headers.get("expect", "").lower() == "100-continue" and len(self._buffer) < length:
            self._connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        while len(self._buffer) < length:
            if not self._receive():
                return None
        body = bytes(self._buffer[:length])
        del self._buffer[:length]
        return body


def _parse_head(head: str) -> tuple[str, str, str, dict[str, str]]:
    line, *lines = head.split("\r\n")
    parts = line.split(" ")
    if len(parts) != 3 or not parts[0] or not set(parts[0]) <= _TOKEN:
        raise ProtocolError(400, "a malformed request line")
    method, target, version = parts
    path = target.split("?", 1)[0]
    if version not in ("HTTP/1.1", "HTTP/1.0"):
        raise ProtocolError(505, "only HTTP/1.1 and HTTP/1.0 are served", method, path)
    if not path.startswith("/") or not path.isascii() or not path.isprintable():
        raise ProtocolError(400, "a malformed request target", method, "")
    if len(lines) > HEADERS_LIMIT:
        raise ProtocolError(431, "too many header fields", method, path)
    headers: dict[str, str] = {}
    for field in lines:
        name, colon, value = field.partition(":")
        if not colon or not name or not set(name) <= _TOKEN:
            raise ProtocolError(400, "a malformed header field", method, path)
        key = name.lower()
        if key in ("content-length", "transfer-encoding") and key in headers:
            raise ProtocolError(400, f"{key} is given twice", method, path)
        headers[key] = value.strip(" \t")
    return method, path, version, headers


def _content_length(headers: dict[str, str], method: str, path: str) -> int:
    if "transfer-encoding" in headers:
        raise ProtocolError(411, "a body needs a content-length; transfer encodings aren't served", method, path)
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()) or len(length) > 18:
        raise ProtocolError(400, "a malformed content-length", method, path)
    return int(length)


def response(status: int, content_type: str, body: bytes, *, keep_alive: bool, with_body: bool = True) -> bytes:
    """Return the bytes of an answer; an answer to HEAD says how long the body would be and leaves it out."""
    head = (
        f"HTTP/1.1 {status} {REASONS[status]}\r\n"
        f"content-type: {content_type}\r\n"
        f"content-length: {len(body)}\r\n"
        f"connection: {'keep-alive' if keep_alive else 'close'}\r\n\r\n"
    ).encode("ascii")
    return head + body if with_body else head
