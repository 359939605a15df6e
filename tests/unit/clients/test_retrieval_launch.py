"""How the retrieval program is started, and that it reads what it is started with."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from retrieval.launch import Foreign, Own, Query, read_launch

from runner.clients.retrieval import Retrieval
from runner.core.errors import StudyError
from runner.core.launch import LaunchLimits, LaunchRequest, McpServer, RetrievalAsk
from runner.core.launch_difference import launch_difference
from runner.core.resolved import ResolvedQuery
from runner.core.systems import Bm25System, DenseSystem, HybridSystem, McpSystem

if TYPE_CHECKING:
    from pathlib import Path

    from retrieval.launch import Launch

QUERIES = (
    ResolvedQuery(id="a", text="Who moves? \N{SNOWMAN}", workspace="harbour", at_s=5),
    ResolvedQuery(id="b", text="Why?", workspace="", at_s=None),
)
ASK = RetrievalAsk(Bm25System(kind="bm25"), depth=10, threads=2, warmup=1, queries=QUERIES)
CONTROL = LaunchRequest(
    prompt="",
    limits=LaunchLimits(60_000, 3_000, 15_000, 1 << 24, 1 << 20),
    gateway_token="client-token",
    memory_token="memory-token",
    session_id="0b1c2d3e-4f50-4a6b-9c7d-8e9f00112233",
    retrieval=ASK,
    sidecar_ready_url="http://127.0.0.1:6333/readyz",
)
MINE = McpServer("mine", ("python3", "/workspace/s.py"), {"LEVEL": "1"}, ("find",))
MCP = McpSystem(kind="mcp", tool="find", query="q", limit="k", results=r"(?P<source>\S+)", empty="^None")


def read(request: LaunchRequest, folder: Path) -> Launch:
    """What the program makes of the request's files."""
    for file in Retrieval().launch(request).in_files():
        (folder / file.name).write_bytes(file.data)
    return read_launch([str(folder / "retrieval.json")])


def asking(system: DenseSystem | HybridSystem | McpSystem) -> RetrievalAsk:
    """The same questions, asked of another system."""
    return replace(ASK, system=system)


def test_the_program_is_started_with_its_questions() -> None:
    """Everything stands in one file; no token of a model is in the environment."""
    launch = Retrieval().launch(CONTROL)
    assert launch.spec.argv == ("python3", "/opt/pairbench/retrieval/main.py", "/in/retrieval.json")
    assert launch.spec.env == {
        "HOME": "/home/agent",
        "LANG": "C.UTF-8",
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "TZ": "UTC",
    }
    assert [(file.name, len(file.data)) for file in launch.files if file.name == "prompt.txt"] == [("prompt.txt", 0)]


def test_the_program_reads_what_it_is_started_with(tmp_path: Path) -> None:
    """Both sides hold one format."""
    launch = read(CONTROL, tmp_path)
    assert launch.system == Own("bm25", None, frozenset({"workspace", "status", "time"}), is_exact=True, rrf_k=60)
    assert launch.queries == [Query("a", "Who moves? \N{SNOWMAN}", "harbour", 5), Query("b", "Why?", "", None)]
    assert (launch.depth, launch.threads, launch.warmup) == (10, 2, 1)
    assert (launch.url, launch.collection) == ("http://127.0.0.1:6333", "memory")


def test_every_option_reaches_the_program(tmp_path: Path) -> None:
    """Of our systems and of foreign ones."""
    hybrid = HybridSystem(kind="hybrid", rrf_k=2, approximate=True, minimum_score_e6=7, ignore=("time",))
    own = read(replace(CONTROL, retrieval=asking(hybrid)), tmp_path).system
    assert own == Own("hybrid", 7, frozenset({"workspace", "status"}), is_exact=False, rrf_k=2)
    system = read(replace(CONTROL, mcp_servers=(MINE,), retrieval=asking(MCP)), tmp_path).system
    assert isinstance(system, Foreign)
    assert (system.server.name, system.server.command, system.server.arguments) == (
        "mine",
        "python3",
        ("/workspace/s.py",),
    )
    assert system.server.env["ANTHROPIC_API_KEY"] == "memory-token"
    assert (system.tool, system.query, system.limit, system.limit_value) == ("find", "q", "k", 10)


def test_nothing_but_id_text_workspace_and_time_of_a_query_is_there() -> None:
    """Labels, kinds and splits never enter a container."""
    (config,) = (file for file in Retrieval().launch(CONTROL).files if file.name == "retrieval.json")
    assert [sorted(query) for query in json.loads(config.data)["queries"]] == [["at_s", "id", "text", "workspace"]] * 2


def test_arms_differ_in_their_systems_only() -> None:
    """The lock prints what differs, line by line."""
    control = Retrieval().launch(CONTROL)
    treatment = Retrieval().launch(replace(CONTROL, retrieval=asking(DenseSystem(kind="dense"))))
    assert launch_difference(control, control) == ()
    assert any("dense" in line for line in launch_difference(control, treatment))


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (replace(CONTROL, retrieval=None), "needs its system"),
        (replace(CONTROL, model="m"), "no model"),
        (replace(CONTROL, instructions="Cite."), "no instructions"),
        (replace(CONTROL, tools=("grep",), max_turns=3), "no tools, no max_turns"),
        (replace(CONTROL, retrieval=asking(MCP)), "exactly one server"),
        (replace(CONTROL, retrieval=asking(MCP), mcp_servers=(MINE, replace(MINE, name="two"))), "exactly one server"),
        (replace(CONTROL, env={"PAIRBENCH_MODEL_DIR": "/x"}), "the runner sets"),
    ],
)
def test_what_it_cannot_be_given_is_refused(request_: LaunchRequest, message: str) -> None:
    """A model, tools; a foreign system without its server."""
    with pytest.raises(StudyError, match=message):
        Retrieval().launch(request_)
