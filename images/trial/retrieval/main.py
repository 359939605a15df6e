"""Every query of a set, asked of one system: `python3 main.py /in/retrieval.json`, or `--version`.

Standard output is `pairbench/retrieval-events` 1. Exit codes: 0 every query has a line, 1 the system can't be used, 2
the launch is wrong; the last two with one line on standard error.
"""

from __future__ import annotations

import gc
import importlib
import importlib.metadata
import json
import os
import platform
import re
import sys
import time
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

BEGAN_NS = time.perf_counter_ns()
# Thousands of classes are made below and none of them is garbage.
gc.disable()
sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from messages import lazy  # noqa: E402 - its own folder isn't a place for imports

lazy.make_lazy("mcp")

from retrieval.launch import Foreign, Launch, LaunchError, Own, read_launch  # noqa: E402

if TYPE_CHECKING:
    from retrieval.launch import Query
    from retrieval.own import System

FORMAT = "pairbench/retrieval-events"
VERSION = 1
CLIENT_VERSION = "1"
PACKAGES = ("mcp", "numpy", "onnxruntime", "qdrant-client", "snowballstemmer", "tokenizers")
_MESSAGE_CHARACTERS = 200
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")


def say(kind: str, **fields: object) -> None:
    """One event is on standard output."""
    line = json.dumps({"type": kind, **fields}, ensure_ascii=False, separators=(",", ":"))
    # Half of a surrogate pair can't be encoded; JSON can write it down as an escape.
    sys.stdout.buffer.write(line.encode("utf-8", "backslashreplace") + b"\n")
    sys.stdout.buffer.flush()


async def trial(launch: Launch) -> str:
    """Every query has its line, and "" is returned; or why no query can be asked."""
    async with AsyncExitStack() as stack:
        try:
            system, about = await _started(launch, stack)
        except Exception as error:
            # Not raised on: tasks of the stack would put it into a group with what else ends with them.
            return _sentence(error)
        versions = {name: importlib.metadata.version(name) for name in PACKAGES} | {"python": platform.python_version()}
        say(
            "start",
            format=FORMAT,
            version=VERSION,
            client=CLIENT_VERSION,
            system=launch.declared,
            versions=versions,
            sidecar=about,
            depth=launch.depth,
            threads=launch.threads,
            queries=len(launch.queries),
            startup_us=(time.perf_counter_ns() - BEGAN_NS) // 1000,
        )
        gc.freeze()
        gc.enable()
        for number in range(launch.warmup if launch.queries else 0):
            await asked(system, launch.queries[number % len(launch.queries)])
        for query in launch.queries:
            say("ranking", query=query.id, **await asked(system, query))
        say("end", queries=len(launch.queries))
    return ""


async def _started(launch: Launch, stack: AsyncExitStack) -> tuple[System, dict[str, str] | None]:
    """The system, and what the sidecar says that it is, where it has to do with it."""
    if isinstance(launch.system, Foreign):
        asking = importlib.import_module("retrieval.foreign").Asking(launch, launch.system)
        await asking.start(stack)
        return asking, None
    return _own(launch, launch.system)


def _own(launch: Launch, system: Own) -> tuple[System, dict[str, str]]:
    sidecar = importlib.import_module("retrieval.sidecar").Sidecar(launch.url, launch.collection, system.keeps)
    searching = importlib.import_module("retrieval.own").Searching(launch, system, sidecar)
    return searching, sidecar.about._asdict()


async def asked(system: System, query: Query) -> dict[str, object]:
    """What the line of a query says, but its name; whatever goes wrong is said in it."""
    began = time.perf_counter_ns()
    try:
        answer = await system.ask(query)
        found: dict[str, object] = {**answer._asdict(), "error": ""}
    except Exception as error:
        nothing: dict[str, object] = {"results": [], "unmapped": 0, "embed_us": 0, "search_us": 0, "decode_us": 0}
        found = {**nothing, "error": _sentence(error)}
    return {**found, "total_us": (time.perf_counter_ns() - began) // 1000}


def _sentence(error: Exception) -> str:
    text = " ".join(str(error).split())
    if type(error).__module__.startswith("retrieval."):
        return text
    # Somebody else's may hold an address, which would make two equal runs differ.
    return _ADDRESS.sub("0x…", f"{type(error).__name__}: {text}")[:_MESSAGE_CHARACTERS]


def main(arguments: list[str]) -> int:
    """The exit code, after everything was said."""
    if arguments == ["--version"]:
        print(f"{CLIENT_VERSION}+qdrant-client-{importlib.metadata.version('qdrant-client')}")
        return 0
    try:
        launch = read_launch(arguments)
    except LaunchError as error:
        sys.stderr.write(f"retrieval: {error}\n")
        return 2
    reason = importlib.import_module("anyio").run(trial, launch)
    if reason:
        sys.stderr.write(f"retrieval: {reason}\n")
    return 1 if reason else 0


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    # Taking down an interpreter of this size costs more than a tenth of a second.
    os._exit(code)
