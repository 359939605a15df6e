"""What is asked of this trial? `/in/retrieval.json`; it holds no label."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from messages.config import Server

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FORMAT = "pairbench/retrieval-launch"
VERSION = 1
OURS = ("bm25", "dense", "hybrid")
KINDS = (*OURS, "mcp")
BOUNDARIES = ("workspace", "status", "time")
DEFAULT_RRF_K = 60
"""Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion outperforms Condorcet" (2009)."""


class LaunchError(Exception):
    """The configuration is wrong or can't be read."""


@dataclass(frozen=True)
class Query:
    """One question."""

    id: str
    text: str
    workspace: str
    """Whoever asks stands in it; "": in none."""
    at_s: int | None
    """When it is asked, in seconds since the epoch; None: at no time in particular."""


@dataclass(frozen=True)
class Own:
    """A system over the sidecar: `dense`, `bm25` or `hybrid`."""

    kind: str
    minimum_score_e6: int | None
    keeps: frozenset[str]
    """The boundaries that it keeps to."""
    is_exact: bool
    rrf_k: int


@dataclass(frozen=True)
class Foreign:
    """An MCP server's search tool, and what its answers mean."""

    server: Server
    tool: str
    query: str
    """Names of arguments; "": the tool has no such one."""
    limit: str
    limit_value: int
    workspace: str
    at: str
    results: re.Pattern[str]
    """What one result looks like."""
    empty: re.Pattern[str] | None
    """What an answer without results looks like."""


@dataclass(frozen=True)
class Launch:
    """All of it."""

    system: Own | Foreign
    declared: Mapping[str, Any]
    """The system, as it was declared."""
    mcp_tools: tuple[str, ...]
    """Of the server, as clients of models name them."""
    depth: int
    threads: int
    warmup: int
    url: str
    collection: str
    queries: Sequence[Query]


def read_launch(arguments: Sequence[str]) -> Launch:
    """What the command line's one file asks.

    Raises:
        LaunchError: something is missing or isn't what it should be.
    """
    if len(arguments) != 1:
        raise LaunchError("usage: main.py LAUNCH | --version")
    (path,) = arguments
    try:
        with open(path, encoding="utf-8") as file:
            given = json.load(file)
        if (given["format"], given["version"]) != (FORMAT, VERSION):
            raise LaunchError(f"{path}: not {FORMAT} {VERSION}")
        return Launch(
            system=_system(given),
            declared=given["system"],
            mcp_tools=tuple(_text(tool) for tool in given["mcp_tools"]),
            depth=_count(given, "depth"),
            threads=_count(given, "threads"),
            warmup=_whole(given["warmup"]),
            url=_text(given["url"]),
            collection=_text(given["collection"]),
            queries=[
                Query(
                    _text(query["id"]),
                    _text(query["text"]),
                    _text(query["workspace"]),
                    None if query["at_s"] is None else _whole(query["at_s"]),
                )
                for query in given["queries"]
            ],
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, re.error) as error:
        raise LaunchError(f"{path}: {type(error).__name__}: {error}") from error


def _system(given: Mapping[str, Any]) -> Own | Foreign:
    declared = given["system"]
    kind = declared["kind"]
    if kind not in KINDS:
        raise LaunchError(f"no system is called {kind!r}; there are {', '.join(KINDS)}")
    if kind != "mcp":
        minimum = declared.get("minimum_score_e6")
        ignored = set(declared.get("ignore") or ())
        if not ignored <= set(BOUNDARIES):
            raise LaunchError(f"ignore: there are {', '.join(BOUNDARIES)}")
        return Own(
            kind=kind,
            minimum_score_e6=None if minimum is None else _whole(minimum),
            keeps=frozenset(BOUNDARIES) - ignored,
            is_exact=not declared.get("approximate", False),
            rrf_k=_whole(declared.get("rrf_k") or DEFAULT_RRF_K),
        )
    ((name, server),) = given["servers"].items()
    empty = declared.get("empty")
    return Foreign(
        server=Server(name, server["command"], tuple(server["args"]), dict(server["env"])),
        tool=_text(declared["tool"]),
        query=_text(declared["query"]),
        limit=_text(declared.get("limit") or ""),
        limit_value=_whole(declared.get("limit_value") or given["depth"]),
        workspace=_text(declared.get("workspace") or ""),
        at=_text(declared.get("at") or ""),
        results=re.compile(_text(declared["results"])),
        empty=None if empty is None else re.compile(_text(empty)),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r} is not a whole number")
    return value


def _count(given: Mapping[str, Any], key: str) -> int:
    number = _whole(given[key])
    if number < 1:
        raise ValueError(f"{key}: at least 1")
    return number
