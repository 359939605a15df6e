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
from typing import TYPE_CHECKING, NamedTuple

BEGAN_NS = time.perf_counter_ns()
# Thousands of classes are made below and none of them is garbage.
gc.disable()
sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from messages import lazy  # noqa: E402 - its own folder isn't a place for imports

lazy.make_lazy("mcp")

from retrieval.launch import Foreign, Launch, LaunchError, read_launch  # noqa: E402

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
            started = await _started(launch, stack)
        except Exception as error:
            # Not raised on: tasks of the stack would put it into a group with what else ends with them.
            return _sentence(error)
        _say_start(launch, started)
        if started.fault:
            return started.fault
        gc.freeze()
        gc.enable()
        for number in range(launch.warmup if launch.queries else 0):
            await asked(started.system, launch.queries[number % len(launch.queries)])
        for query in launch.queries:
            say("ranking", query=query.id, **await asked(started.system, query))
        say("end", queries=len(launch.queries))
    return ""


class Started(NamedTuple):
    """A system, and what there is to say of it."""

    system: System
    sidecar: dict[str, str] | None
    """What the sidecar says that it is; None for a system that doesn't use it."""
    tools: list[str]
    servers: dict[str, str]
    fault: str


async def _started(launch: Launch, stack: AsyncExitStack) -> Started:
    if isinstance(launch.system, Foreign):
        asking = importlib.import_module("retrieval.foreign").Asking(launch, launch.system)
        await asking.start(stack)
        return Started(asking, None, asking.tools, asking.states, asking.fault)
    sidecar = importlib.import_module("retrieval.sidecar").Sidecar(launch.url, launch.collection, launch.system.keeps)
    searching = importlib.import_module("retrieval.own").Searching(launch, launch.system, sidecar)
    return Started(searching, sidecar.about._asdict(), [], {}, "")


def _say_start(launch: Launch, started: Started) -> None:
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    say(
        "start",
        format=FORMAT,
        version=VERSION,
        client=CLIENT_VERSION,
        system=launch.declared,
        tools=started.tools,
        servers=[{"name": name, "status": state} for name, state in sorted(started.servers.items())],
        sidecar=started.sidecar,
        versions={**versions, "python": platform.python_version()},
        depth=launch.depth,
        threads=launch.threads,
        queries=len(launch.queries),
        startup_us=(time.perf_counter_ns() - BEGAN_NS) // 1000,
    )


async def asked(system: System, query: Query) -> dict[str, object]:
    """What the line of a query says, but its name; whatever goes wrong is said in it."""
    began = time.perf_counter_ns()
    try:
        answer = await system.ask(query)
        found: dict[str, object] = {**answer._asdict(), "error": ""}
    except Exception as error:
        nothing: dict[str, object] = {
            "results": [],
            "unmapped": 0,
            "embed_us": None,
            "search_us": None,
            "decode_us": None,
        }
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
