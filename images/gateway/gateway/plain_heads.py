"""Is this a head of the plain kind, as nearly all are? Reads those at once; every other one is left to h11.

Plain is what can be read in one way only: HTTP/1.1, well-formed, whole, with one framing, on a connection that goes on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

Headers = tuple[tuple[bytes, bytes], ...]

# RFC 9110 sections 5.1, 5.5 and 5.6.2; neither continued lines nor control characters.
FIELDS = rb"((?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t -~\x80-\xff]*\r\n)+)\r\n"
REQUEST = re.compile(rb"POST ([!-~]+) HTTP/1\.1\r\n" + FIELDS)
RESPONSE = re.compile(rb"HTTP/1\.1 ([2-5][0-9]{2})(?: [\t -~\x80-\xff]*)?\r\n" + FIELDS)
LENGTH = re.compile(rb"[0-9]{1,12}")
# What changes how a body is framed, or what becomes of the connection.
FRAMING = (b"transfer-encoding", b"content-length", b"connection", b"expect", b"upgrade", b"host")
BODILESS = (204, 304)


@dataclass(frozen=True)
class PlainHead:
    """A head that was read; `line` is the target of a request, or the status of a response."""

    line: bytes
    headers: Headers
    length_bytes: int | None
    """None: the body is chunked."""
    end: int
    """Where the body begins."""


def plain_request(data: bytes, limit_bytes: int) -> PlainHead | None:
    """The head of a POST with a length and a host that `data` begins with; None where it is another one."""
    head = _read(REQUEST, data)
    if head is None or head.end > limit_bytes or head.length_bytes is None:
        return None
    hosts = sum(name.lower() == b"host" for name, _ in head.headers)
    return head if hosts == 1 else None


def plain_response(data: bytes) -> PlainHead | None:
    """The head of a response with a body that `data` begins with; None where it is another one."""
    head = _read(RESPONSE, data)
    return None if head is None or int(head.line) in BODILESS else head


def _read(kind: re.Pattern[bytes], data: bytes) -> PlainHead | None:
    found = kind.match(data)
    if found is None:
        return None
    headers, special = [], {}
    for line in found[2].split(b"\r\n")[:-1]:
        name, _, value = line.partition(b":")
        value = value.strip(b" \t")
        headers.append((name, value))
        lower = name.lower()
        if lower in FRAMING:
            if lower in special:
                return None
            special[lower] = value
    if special.get(b"connection", b"keep-alive").lower() != b"keep-alive" or b"expect" in special:
        return None
    chunked, length = special.get(b"transfer-encoding"), special.get(b"content-length")
    if b"upgrade" in special or (chunked is None) == (length is None):
        return None
    if chunked is not None and chunked.lower() != b"chunked":
        return None
    if length is not None and LENGTH.fullmatch(length) is None:
        return None
    return PlainHead(found[1], tuple(headers), None if length is None else int(length), found.end())
