"""A memory that merges, connects and recalls: `python3 main.py /in/reconsolidation.json`, or `--version`.

Standard output is `pairbench/reconsolidation-events` 1; what it did is in the store. Exit codes: 0 every case is done,
1 the last event says what went wrong, 2 the launch is wrong (one line on standard error, no event).
"""

from __future__ import annotations

import gc
import importlib
import importlib.metadata
import os
import platform
import re
import sys
import time
from typing import TYPE_CHECKING, Any

BEGAN_NS = time.perf_counter_ns()
# Thousands of classes are made below and none of them is garbage.
gc.disable()
sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from messages import lazy  # noqa: E402 - its own folder isn't a place for imports

lazy.make_lazy("anthropic")

from messages.events import Spent, counts_of, say  # noqa: E402
from messages.replies import ProviderError  # noqa: E402
from reconsolidator.launch import Launch, LaunchError, read_launch  # noqa: E402
from reconsolidator.reconsolidating import Reconsolidator  # noqa: E402
from reconsolidator.store import Store, StoreError  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterable

    from messages.replies import Reply

FORMAT = "pairbench/reconsolidation-events"
VERSION = 1
CLIENT_VERSION = "1"
MODEL_DIR = "/opt/model"
PACKAGES = ("anthropic", "numpy", "onnxruntime", "tokenizers")
_MESSAGE_CHARACTERS = 200
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")


async def trial(launch: Launch) -> str:
    """The outcome, which was said; every case before whatever went wrong is in the store."""
    asks = launch.mode == "connections"
    replies: list[Reply] = []
    done = 0
    try:
        # What a mode doesn't need is never loaded.
        model = importlib.import_module("messages.provider").Provider(launch.max_retries) if asks else None
        vectors = importlib.import_module("memory.embedding").MiniLM(
            os.environ.get("PAIRBENCH_MODEL_DIR", MODEL_DIR), threads=launch.threads
        )
        system = Reconsolidator(launch, Store(launch.url), vectors, model)
        replies = system.replies
        _say_start(launch, asks=asks)
        gc.freeze()
        gc.enable()
        for case in launch.cases:
            say("case", case=case.id, **(await system.reconsolidate(case))._asdict())
            done += 1
    except ProviderError as error:
        return _end("provider_error", done, replies, error.document())
    except Exception as error:
        kind = "store_failed" if isinstance(error, StoreError) else "client_error"
        return _end(kind, done, replies, {"status": None, "type": kind, "message": _sentence(error)})
    return _end("completed", done, replies, None)


def _say_start(launch: Launch, *, asks: bool) -> None:
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    say(
        "start",
        format=FORMAT,
        version=VERSION,
        client=CLIENT_VERSION,
        mode=launch.mode,
        model=launch.model if asks else "",
        versions={**versions, "python": platform.python_version()},
        cases=len(launch.cases),
        startup_us=(time.perf_counter_ns() - BEGAN_NS) // 1000,
    )


def _end(outcome: str, done: int, replies: Iterable[Reply], error: dict[str, Any] | None) -> str:
    spent = Spent()
    turns = 0
    for reply in replies:
        turns += 1
        spent.add(reply.model, counts_of(reply.usage))
    say("end", outcome=outcome, cases=done, turns=turns, error=error, usage=spent.document())
    return outcome


def _sentence(error: Exception) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, StoreError):
        return text
    # Somebody else's may hold an address, which would make two equal runs differ.
    return _ADDRESS.sub("0x…", f"{type(error).__name__}: {text}")[:_MESSAGE_CHARACTERS]


def main(arguments: list[str]) -> int:
    """The exit code, after everything was said."""
    if arguments == ["--version"]:
        print(f"{CLIENT_VERSION}+anthropic-{importlib.metadata.version('anthropic')}")
        return 0
    try:
        launch = read_launch(arguments)
    except LaunchError as error:
        sys.stderr.write(f"reconsolidator: {error}\n")
        return 2
    return 0 if importlib.import_module("anyio").run(trial, launch) == "completed" else 1


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    # Taking down an interpreter of this size costs more than a tenth of a second.
    os._exit(code)
