"""The launch file of a retrieval trial is read strictly."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from retrieval.launch import Foreign, Launch, LaunchError, Own, Query, read_launch

if TYPE_CHECKING:
    from pathlib import Path

MCP = {"kind": "mcp", "tool": "find", "query": "q", "results": "(?P<source>x)"}
SERVERS = {"mine": {"command": "python3", "args": ["s.py"], "env": {"A": "b"}}}


def _launch(folder: Path, **changed: Any) -> Launch:
    given: dict[str, Any] = {
        "format": "pairbench/retrieval-launch",
        "version": 1,
        "system": {"kind": "bm25"},
        "depth": 10,
        "threads": 1,
        "warmup": 0,
        "url": "http://127.0.0.1:6333",
        "collection": "memory",
        "servers": {},
        "mcp_tools": [],
        "queries": [{"id": "a", "text": "x", "workspace": "w", "at_s": 5}],
    }
    path = folder / "retrieval.json"
    path.write_text(json.dumps({key: value for key, value in (given | changed).items() if value != "absent"}))
    return read_launch([str(path)])


def test_defaults_of_our_systems(tmp_path: Path) -> None:
    """All boundaries are kept, search is exact, and nothing is dropped."""
    launch = _launch(tmp_path)
    assert launch.system == Own("bm25", None, frozenset({"workspace", "status", "time"}), is_exact=True, rrf_k=60)
    assert launch.queries == [Query("a", "x", "w", 5)]


def test_options_of_our_systems(tmp_path: Path) -> None:
    """What a study declares reaches the system."""
    declared = {"kind": "hybrid", "rrf_k": 2, "minimum_score_e6": 0, "ignore": ["time"], "approximate": True}
    system = _launch(tmp_path, system=declared).system
    assert system == Own("hybrid", 0, frozenset({"workspace", "status"}), is_exact=False, rrf_k=2)


def test_a_foreign_system_asks_for_the_depth_unless_it_says_otherwise(tmp_path: Path) -> None:
    """Arguments that the tool lacks are ""."""
    system = _launch(tmp_path, system=MCP, servers=SERVERS).system
    assert isinstance(system, Foreign)
    assert (system.limit, system.limit_value, system.workspace, system.at, system.empty) == ("", 10, "", "", None)
    more = {"limit": "k", "limit_value": 3, "workspace": "ws", "at": "when", "empty": "^No"}
    system = _launch(tmp_path, system=MCP | more, servers=SERVERS).system
    assert isinstance(system, Foreign)
    assert (system.limit, system.limit_value, system.workspace, system.at) == ("k", 3, "ws", "when")
    assert (system.server.name, system.server.command, system.server.arguments) == ("mine", "python3", ("s.py",))


@pytest.mark.parametrize(
    "changed",
    [
        {"format": "other"},
        {"version": 2},
        {"system": {"kind": "magic"}},
        {"system": {"kind": "dense", "ignore": ["law"]}},
        {"system": {"kind": "dense", "minimum_score_e6": "1"}},
        {"system": MCP},
        {"system": MCP, "servers": SERVERS | {"other": SERVERS["mine"]}},
        {"system": MCP | {"results": "("}, "servers": SERVERS},
        {"system": MCP | {"results": "a{99999999999}"}, "servers": SERVERS},
        {"system": MCP | {"tool": 5}, "servers": SERVERS},
        {"depth": 0},
        {"depth": True},
        {"threads": "1"},
        {"queries": [{"id": "a"}]},
        {"queries": [{"id": "a", "text": None, "workspace": "", "at_s": None}]},
        {"queries": 7},
        {"url": "absent"},
        {"mcp_tools": [1]},
    ],
)
def test_a_wrong_launch_is_refused(tmp_path: Path, changed: dict[str, Any]) -> None:
    """Whatever is missing or of another kind has one name: no traceback reaches the evidence."""
    with pytest.raises(LaunchError):
        _launch(tmp_path, **changed)


def test_files_that_cannot_be_read_and_wrong_commands(tmp_path: Path) -> None:
    """No file, no JSON, no argument."""
    (tmp_path / "bad.json").write_bytes(b"\xff{")
    (tmp_path / "list.json").write_text("[" * 100_000)
    for arguments in (
        [],
        ["a", "b"],
        [str(tmp_path / "none")],
        [str(tmp_path / "bad.json")],
        [str(tmp_path / "list.json")],
    ):
        with pytest.raises(LaunchError):
            read_launch(arguments)
