"""Does everything that the client needs answer?"""

from __future__ import annotations

import functools
import socket
from typing import TYPE_CHECKING

from supervisor import launch

if TYPE_CHECKING:
    from collections.abc import Callable

_PAUSE_S = 0.01
_NS_PER_S = 1_000_000_000
_HEAD_LIMIT_BYTES = 4096


class NotReadyError(Exception):
    """Something that the client needs didn't answer in time; the text names it."""


def wait(
    wanted: launch.Ready, socket_path: str | None, now_ns: Callable[[], int], pause: Callable[[float], None]
) -> None:
    """The socket takes connections and every URL of `wanted` answers with 200.

    Each is asked again until it answers, and once only when it does: what is asked keeps a log.

    Raises:
        NotReadyError: the time is over.
    """
    end_ns = now_ns() + wanted.timeout_ms * 1_000_000
    checks: list[tuple[str, Callable[[float], str]]] = []
    if socket_path is not None:
        checks.append((socket_path, functools.partial(_knock, socket_path)))
    checks.extend((url, functools.partial(_ask, url)) for url in wanted.http)
    for name, check in checks:
        problem = "no time was left to ask"
        while (left_ns := end_ns - now_ns()) > 0:
            problem = check(left_ns / _NS_PER_S)
            if not problem:
                break
            pause(_PAUSE_S)
        if problem:
            raise NotReadyError(f"{name} did not answer within {wanted.timeout_ms} ms: {problem}")


def _knock(path: str, left_s: float) -> str:
    """What keeps the socket at `path` from taking a connection, or nothing."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knocker:
        knocker.settimeout(left_s)
        try:
            knocker.connect(path)
        except OSError as error:
            return error.strerror or str(error)
    return ""


def _ask(url: str, left_s: float) -> str:
    """What keeps `url` from answering with 200, or nothing."""
    host, port, path = launch.split_url(url)
    try:
        # Not `create_connection`: it imports a codec for international names, in every trial.
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as connection:
            connection.settimeout(left_s)
            connection.connect((host, port))
            # HTTP/1.1, since some servers answer 1.0 without a status line; the answer's end isn't waited for.
            request = f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n"
            connection.sendall(request.encode("ascii"))
            head = b""
            while b"\r\n" not in head and len(head) < _HEAD_LIMIT_BYTES:
                data = connection.recv(_HEAD_LIMIT_BYTES)
                if not data:
                    break
                head += data
    except OSError as error:
        return error.strerror or str(error)
    words = head.split(b"\r\n", 1)[0].split()
    if len(words) >= 2 and words[0].startswith(b"HTTP/1.") and words[1] == b"200":
        return ""
    return f"answered {b' '.join(words[:2])[:40]!r}"
