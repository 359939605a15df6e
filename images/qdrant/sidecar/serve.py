"""The command `serve`: copies the index, opens it, answers requests until it is told to stop."""

from __future__ import annotations

import os
import signal
import time

from sidecar import dumping, holes, index
from sidecar.options import Option, read_options, whole
from sidecar.refusal import FatalError
from sidecar.routes import VERSION
from sidecar.server import Server, say
from sidecar.store import COLLECTIONS, Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sidecar.reading import Json

OPTIONS = [
    Option("storage", "directory for what is served; its content changes"),
    Option("index", "index directory that is copied into an empty storage; may be missing or empty", ""),
    Option("host", "address to listen on", "127.0.0.1"),
    Option("port", "port to listen on; 0 takes a free one", "6333"),
    Option("body-bytes", "largest request body", str(32 * 1024 * 1024)),
    Option("dump", "log what searches return, and print points at the end, so many bytes at most; 0: neither", "0"),
]


# Blocked everywhere and waited for in one place: a handler of Python's, whose signal comes between its last look and a
# blocking system call, would run after the next connection only.
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def run(arguments: list[str]) -> int:
    """Serve until SIGTERM or SIGINT; return 0 once everything is on disk.

    Raises:
        FatalError: when the index can't be copied, the storage not be opened, or the address not be had.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    options = read_options("serve", OPTIONS, arguments)
    port = whole("serve", "port", options["port"], 0, 65535)
    body_bytes = whole("serve", "body-bytes", options["body-bytes"], 1, 2**31)
    dump_bytes = whole("serve", "dump", options["dump"], 0, 2**31)
    store = Store(options["storage"])
    ready = _open(store, options["storage"], options["index"])
    server = _listen(store, options["host"], port, body_bytes, traces=dump_bytes > 0)
    server.start()
    say({"event": "ready", "engine": "qdrant-edge", "version": VERSION, "port": server.port, **ready})
    signal.sigwait(STOP_SIGNALS)
    try:
        if dump_bytes:
            # A request that writes ends at its next point, and none begins: what is printed is what the store ends as.
            store.stop()
            with store.writing:
                dumping.dump(store, dump_bytes)
    finally:
        # The threads of connections are daemons: they end with the process, after their current call into the engine.
        store.close()
    return 0


def _open(store: Store, storage: str, index_directory: str) -> dict[str, Json]:
    started = time.monotonic_ns()
    description = index.describe(index_directory) if index_directory else None
    files = written = 0
    if description is not None:
        os.makedirs(store.root, exist_ok=True)
        if os.listdir(store.root):
            raise FatalError(f"{storage}: the storage isn't empty, so that no index can be copied into it")
        files, written = holes.copy_tree(os.path.join(index_directory, COLLECTIONS), store.root)
    copied = time.monotonic_ns()
    store.load()
    return {
        "collections": [*store.names()],
        "points": store.points_count(),
        "logical_digest": None if description is None else description.get("logical_digest"),
        "copied_files": files,
        "copied_bytes": written,
        "copy_us": (copied - started) // 1000,
        "load_us": (time.monotonic_ns() - copied) // 1000,
    }


def _listen(store: Store, host: str, port: int, body_bytes: int, *, traces: bool) -> Server:
    try:
        return Server(store, host, port, body_bytes, traces=traces)
    except OSError as error:
        raise FatalError(f"{host}:{port}: can't listen: {error.strerror or error}") from error
