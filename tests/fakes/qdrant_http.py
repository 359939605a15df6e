"""A Qdrant of a few points that speaks the two requests of the memory server, exactly, and misbehaves on demand."""

from __future__ import annotations

import http.server
import json
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

COLLECTION = "memory"


class FakeQdrant:
    """Points in memory: number to (vector, payload); `reply` replaces every answer by a status and a body."""

    def __init__(self, points: Mapping[int, tuple[Sequence[float], Any]]) -> None:
        """It serves nobody yet."""
        self.points = dict(points)
        self.reply: tuple[int, bytes] | None = None
        self.requests: list[tuple[str, str, Any]] = []
        self.url = ""

    def answer(self, method: str, path: str, body: Any) -> tuple[int, bytes]:
        """The status and body of a request, which is remembered."""
        self.requests.append((method, path, body))
        if self.reply is not None:
            return self.reply
        prefix = f"/collections/{COLLECTION}/points"
        if (method, path) == ("POST", f"{prefix}/query"):
            return _success({"points": self._nearest(body)})
        if (method, path) == ("POST", prefix):
            assert body["with_payload"] is True
            found = [number for number in body["ids"] if number in self.points]
            return _success([{"id": number, "payload": self.points[number][1]} for number in found])
        return _failure(404, f"Not found: Collection `{path.split('/')[2]}` doesn't exist!")

    def _nearest(self, body: Any) -> list[dict[str, Any]]:
        assert body["params"] == {"exact": True}
        assert body["with_payload"] is True
        scored = [
            {"id": number, "version": 0, "score": _product(body["query"], vector), "payload": payload}
            for number, (vector, payload) in self.points.items()
        ]
        return sorted(scored, key=lambda point: -point["score"])[: body["limit"]]


def _product(left: Sequence[float], right: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))


def _success(result: Any) -> tuple[int, bytes]:
    return 200, json.dumps({"result": result, "status": "ok", "time": 0.0001}).encode()


def _failure(status: int, message: str) -> tuple[int, bytes]:
    return status, json.dumps({"status": {"error": message}, "time": 0.0001}).encode()


@contextmanager
def serving(fake: FakeQdrant) -> Iterator[FakeQdrant]:
    """The fake answers on `fake.url`, a port of loopback, and on nothing afterwards."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            status, data = fake.answer(self.command, self.path, json.loads(body) if body else None)
            self.send_response(status)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = _serve  # noqa: N815 - names of the standard library

        def log_message(self, *arguments: object) -> None:
            del arguments

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        fake.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield fake
        finally:
            server.shutdown()
            thread.join()
