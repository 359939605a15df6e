"""Accepts connections, answers their requests in Qdrant's shape, and logs each before its answer leaves.

Every connection has a thread. The engine never gives up the interpreter's lock, so more would gain nothing.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time

from sidecar import routes
from sidecar.http1 import ProtocolError, Request, Wire, response
from sidecar.refusal import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sidecar.store import Store

CONNECTIONS_LIMIT = 128
IDLE_LIMIT_S = 600.0
REQUEST_LIMIT_S = 30.0
_LOGGED_PATH_CHARACTERS = 512
_LOGGED_POINTS = 1000


class Answer:
    """A status, a type and the bytes of an answer."""

    __slots__ = ("body", "content_type", "returned", "status")

    def __init__(self, status: int, content_type: str, body: bytes, returned: list[int | str] | None = None) -> None:
        """Hold the parts; `returned` are the points that a search found, None of an answer to anything else."""
        self.status = status
        self.content_type = content_type
        self.body = body
        self.returned = returned


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")


def error_answer(status: int, message: str, elapsed_s: float) -> Answer:
    """Return an error in Qdrant's shape."""
    shown = message.encode("utf-8", "replace").decode("utf-8")
    return Answer(status, "application/json", _json({"status": {"error": shown}, "time": elapsed_s}))


def respond(request: Request, store: Store) -> Answer:
    """Return the answer to a request, whatever happens: a panic of the engine is an answer too."""
    started = time.perf_counter()
    try:
        segments = request.segments()
        if request.method in ("GET", "HEAD") and len(segments) == 1 and segments[0] in routes.HEALTHY:
            return Answer(200, "text/plain; charset=utf-8", routes.HEALTHY[segments[0]].encode("ascii"))
        method = "GET" if request.method == "HEAD" else request.method
        result = routes.answer(method, segments, request.body, store)
        elapsed_s = time.perf_counter() - started
        if not segments:
            return Answer(200, "application/json", _json(result))
        body = _json({"result": result, "status": "ok", "time": elapsed_s})
        return Answer(200, "application/json", body, routes.returned(segments, result))
    except Refused as refused:
        return error_answer(refused.status, refused.message, time.perf_counter() - started)
    except ValueError as error:
        return error_answer(400, f"Wrong input: {error}", time.perf_counter() - started)
    except BaseException as error:  # the engine's PanicException is no Exception
        message = f"Service internal error: {type(error).__name__}: {error}"
        return error_answer(500, message, time.perf_counter() - started)


class Server:
    """A listening socket and the threads of its connections."""

    def __init__(self, store: Store, host: str, port: int, body_bytes_limit: int, *, traces: bool = False) -> None:
        """Listen on `host` and `port` (0 takes a free one); `traces` logs what each search returned.

        Raises:
            OSError: when that isn't possible.
        """
        self._store = store
        self._body_bytes_limit = body_bytes_limit
        self._traces = traces
        self._listener = socket.create_server((host, port), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        self._free = threading.Semaphore(CONNECTIONS_LIMIT)
        self._logging = threading.Lock()
        self._sequence = 0

    def start(self) -> None:
        """Accept connections from now on, in a thread of its own."""
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except ConnectionError:
                continue
            except OSError as error:
                # Nobody can be served any more; a process that stays would look as if it could.
                print(f"sidecar serve: can't accept connections: {error}", file=sys.stderr, flush=True)
                os._exit(2)
            if not self._free.acquire(blocking=False):
                connection.close()
                continue
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                wire = Wire(connection, self._body_bytes_limit)
                while self._exchange(connection, wire):
                    pass
        except OSError:
            pass  # the other side went away; what it asked before is logged
        finally:
            self._free.release()

    def _exchange(self, connection: socket.socket, wire: Wire) -> bool:
        """Answer one request; tell whether another may follow."""
        connection.settimeout(IDLE_LIMIT_S)
        if not wire.wait():
            return False
        received_ns = time.monotonic_ns()
        connection.settimeout(REQUEST_LIMIT_S)
        try:
            request = wire.read()
            if request is None:
                return False
        except (ProtocolError, TimeoutError) as error:
            problem = error if isinstance(error, ProtocolError) else ProtocolError(408, "the request didn't end")
            refusal = error_answer(problem.status, problem.message, 0.0)
            self._log(problem.method, problem.path, problem.status, received_ns)
            connection.sendall(response(refusal.status, refusal.content_type, refusal.body, keep_alive=False))
            return False
        answer = respond(request, self._store)
        self._log(request.method, request.path, answer.status, received_ns, answer.returned)
        connection.sendall(
            response(
                answer.status,
                answer.content_type,
                answer.body,
                keep_alive=request.keep_alive,
                with_body=request.method != "HEAD",
            )
        )
        return request.keep_alive

    def _log(
        self, method: str, path: str, status: int, received_ns: int, returned: list[int | str] | None = None
    ) -> None:
        with self._logging:
            self._sequence += 1
            event: dict[str, Any] = {
                "event": "request",
                "seq": self._sequence,
                "method": method,
                "path": path[:_LOGGED_PATH_CHARACTERS],
                "status": status,
                "received_ns": received_ns,
                "duration_us": (time.monotonic_ns() - received_ns) // 1000,
            }
            if self._traces and returned is not None:
                event["returned"] = returned[:_LOGGED_POINTS]
            say(event)


def say(event: dict[str, Any]) -> None:
    """Write one JSON line to standard output, in one piece."""
    write(line_of(event))


def line_of(event: dict[str, Any]) -> bytes:
    """Return an event as a line of JSON."""
    return json.dumps(event, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"


def write(line: bytes) -> None:
    """Write a line to standard output."""
    while line:
        line = line[os.write(1, line) :]
