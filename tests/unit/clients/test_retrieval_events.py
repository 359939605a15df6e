"""What the output of a retrieval trial says, damaged and hostile ones included."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.clients.client import ClientReport, Ending
from runner.clients.retrieval import Retrieval
from runner.clients.retrieval_events import rankings_of, start_of
from runner.collect.attempt import collect_attempt
from runner.core.errors import EvidenceError
from runner.core.evidence import Expectation
from runner.core.launch import McpServer
from runner.core.outcomes import Outcome
from runner.core.quantities import Measured, Unavailable
from runner.core.retrieval.rankings import SourceResult, SpanResult, UnmappedResult
from tests.fakes.attempts import SIDECAR_ID, Attempt, container, exit_report, lines

START: dict[str, Any] = {
    "type": "start",
    "format": "pairbench/retrieval-events",
    "version": 1,
    "client": "1",
    "system": {"kind": "dense"},
    "tools": [],
    "servers": [],
    "sidecar": {"title": "qdrant", "version": "1.20.0"},
    "versions": {"qdrant-client": "1.20.0", "python": "3.11.2"},
    "depth": 3,
    "threads": 1,
    "queries": 2,
    "startup_us": 900,
}
FIRST: dict[str, Any] = {
    "type": "ranking",
    "query": "a",
    "results": [{"id": 4, "score_e6": 900}, {"id": 9, "score_e6": 900}, {"id": 1, "score_e6": -5}],
    "unmapped": 0,
    "error": "",
    "embed_us": 5,
    "search_us": 6,
    "decode_us": 0,
    "total_us": 12,
}
SECOND: dict[str, Any] = FIRST | {"query": "b", "results": []}
END = {"type": "end", "queries": 2}
MINE = McpServer("mine", ("x",), {}, ("find",))
FOREIGN = START | {
    "system": {"kind": "mcp", "tool": "find"},
    "tools": ["mcp__mine__find"],
    "servers": [{"name": "mine", "status": "connected"}],
    "sidecar": None,
}


def report(*values: Any, stderr: bytes = b"") -> ClientReport:
    """The report of a stream of these values."""
    return Retrieval().parse(lines(*values), stderr)


def outcome(*values: Any, exit_code: int = 0, foreign: bool = False) -> tuple[Outcome, str]:
    """What a trial with this output ends as."""
    attempt = Attempt(
        expectation=Expectation("retrieval", "", (), (MINE,) if foreign else (), sidecar=True),
        stdout=lines(*values),
        exit=exit_report(exit_code=exit_code),
        exchanges=b"",
        trial=container("trial", network_mode=f"container:{SIDECAR_ID}"),
    )
    found = collect_attempt(attempt.evidence())
    return found.outcome, found.reason


def test_a_whole_output_is_a_completed_trial() -> None:
    """Every query has a line and the end came; the exit code is the verdict, since no model was asked."""
    said = report(START, FIRST, SECOND, END)
    assert (said.ending, said.answer, said.corrupt_lines) == (Ending.BY_EXIT_CODE, "2 queries, 0 of them failed", 0)
    assert said.starts[0].version == "1+qdrant-client-1.20.0"
    assert outcome(START, FIRST, SECOND, END) == (Outcome.COMPLETED, "")
    assert outcome(START, FIRST, SECOND, END, exit_code=1)[0] is Outcome.CLIENT_ERROR


def test_rankings_are_typed() -> None:
    """Passages stand in columns, in the order of the set; times are microseconds."""
    first, second = rankings_of(lines(START, FIRST, SECOND, END), ["a", "b"])
    assert (first.query, first.passages, first.scores_e6, first.found) == ("a", (4, 9, 1), (900, 900, -5), ())
    assert (first.embed_us, first.search_us, first.decode_us) == (Measured(5), Measured(6), Measured(0))
    assert (second.passages, second.error, second.unmapped) == ((), "", 0)


def test_what_it_began_with_is_typed() -> None:
    """Versions and the sidecar; a system of somebody else's has no sidecar."""
    start = start_of(lines(START))
    assert start is not None
    assert (start.system, start.sidecar_title, start.sidecar_version) == ("dense", "qdrant", "1.20.0")
    assert (start.threads, start.depth, start.startup_us) == (1, 3, Measured(900))
    foreign = start_of(lines(FOREIGN))
    assert foreign is not None
    assert (foreign.tool, foreign.sidecar_title) == ("mcp__mine__find", "")
    assert start_of(b"") is None


def test_a_failed_query_keeps_its_line() -> None:
    """Its times are unavailable, and the trial is complete all the same."""
    failed = FIRST | {"results": [], "error": "the sidecar answered 500: x", "embed_us": None, "search_us": None}
    stream = (START, failed, SECOND, END)
    answer = rankings_of(lines(*stream), ["a", "b"])[0]
    assert (answer.error, answer.embed_us) == ("the sidecar answered 500: x", Unavailable("the query failed"))
    assert report(*stream).answer == "2 queries, 1 of them failed"
    assert outcome(*stream)[0] is Outcome.COMPLETED


def test_foreign_results_keep_their_order_and_what_they_name() -> None:
    """Spans, sources, and results that can't be mapped; each query is a call of the tool."""
    results = [
        {"source": "b.md", "start": 0, "end": 9, "score_e6": 1},
        {"id": 7},
        {},
        {"source": "a.md", "start": 5},
        {"source": "d.md", "score_e6": None},
        {"source": "c.md", "start": 9, "end": 9, "score_e6": 5},
    ]
    start = FOREIGN | {"depth": 6}
    values = (start, FIRST | {"results": results, "unmapped": 2, "embed_us": None}, SECOND | {"error": "no"}, END)
    first, _ = rankings_of(lines(*values), ["a", "b"])
    assert first.found == (
        SpanResult(source="b.md", start=0, end=9, score_e6=Measured(1)),
        UnmappedResult(said="7"),
        UnmappedResult(said=""),
        SourceResult(source="a.md"),
        SourceResult(
            source="d.md",
            score_e6=Unavailable("the server gives a score that is no number, or none that can be written"),
        ),
        SourceResult(source="c.md", score_e6=Measured(5)),
    )
    assert (first.unmapped, first.passages, first.embed_us) == (2, (), Unavailable("the server doesn't say"))
    (call,) = report(*values).tool_calls
    assert (call.name, call.calls, call.errors) == ("mcp__mine__find", 2, 1)


def test_a_server_that_did_not_connect_is_infrastructure() -> None:
    """As with any other client, so that the trial is tried again."""
    failed = FOREIGN | {"servers": [{"name": "mine", "status": "failed"}], "tools": []}
    assert outcome(failed, exit_code=1, foreign=True) == (
        Outcome.INFRASTRUCTURE,
        "the MCP server mine wasn't connected: failed",
    )


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ((START, FIRST, SECOND), "the output ends after 2 answers"),
        ((START, FIRST), "the output ends after 1 answers"),
        ((), "the output ends after 0 answers"),
        ((START, FIRST, END), "1 of 2 queries are answered at the end"),
        ((START, FIRST, SECOND, {"type": "end", "queries": 3}), "2 of 2 queries"),
        ((START, FIRST, FIRST, END), "line 3 answers the query 'a' again"),
        ((START, FIRST, SECOND, END, END), "line 5 comes after the end"),
        ((START, FIRST, SECOND, END, SECOND), "line 5 comes after the end"),
        ((START, START, FIRST, SECOND, END), "line 2 is a 'start' where none belongs"),
        ((FIRST, START, SECOND, END), "line 1 is a 'ranking' where none belongs"),
        ((START, FIRST, SECOND, {"type": "note"}, END), "line 4 is a 'note' where none belongs"),
        ((START, FIRST | {"results": [{"id": 1}]}, SECOND, END), "score_e6 is not a whole number"),
        ((START, FIRST | {"results": [{"id": -1, "score_e6": 1}]}, SECOND, END), "id is out of range"),
        ((START, FIRST | {"results": FIRST["results"][::-1]}, SECOND, END), "results out of order"),
        ((START, FIRST | {"results": [*FIRST["results"][:2], *FIRST["results"][1:]]}, SECOND, END), "4 results of at"),
        ((START, FIRST | {"results": [{"id": 4, "score_e6": 9}, {"id": 4, "score_e6": 8}]}, SECOND, END), "twice"),
        ((START, FIRST | {"error": "x"}, SECOND, END), "a failed query with results"),
        ((START, FIRST | {"search_us": "5"}, SECOND, END), "search_us is not an integer"),
        ((START | {"version": 2}, FIRST, SECOND, END), "not pairbench/retrieval-events 1"),
        ((START | {"depth": None}, FIRST, SECOND, END), "depth is missing"),
    ],
)
def test_what_is_not_whole_has_no_rankings(values: tuple[Any, ...], reason: str) -> None:
    """An output that says anything twice, out of order, too much or too little is none, and so is its trial."""
    with pytest.raises(EvidenceError, match=reason):
        rankings_of(lines(*values), ["a", "b"])
    assert report(*values).answer == ""
    assert outcome(*values)[0] is not Outcome.COMPLETED


@pytest.mark.parametrize("asked", [["a"], ["b", "a"], ["a", "c"], ["a", "b", "c"], []])
def test_answers_to_other_queries_are_refused(asked: list[str]) -> None:
    """The names are the set's, in its order."""
    with pytest.raises(EvidenceError, match="aren't those that were asked"):
        rankings_of(lines(START, FIRST, SECOND, END), asked)


def test_a_torn_line_is_counted() -> None:
    """The last line was cut; its words go with it."""
    torn = lines(START, FIRST, SECOND, END)[:-5]
    said = Retrieval().parse(torn, b"")
    assert (said.corrupt_lines, said.ending) == (1, Ending.UNSAID)
    assert "corrupt" in said.findings[0].kind


def test_the_last_words_tell_why_it_ended_early() -> None:
    """What the program says on standard error before it ends with 1."""
    said = report(stderr=b"retrieval: the sidecar answered 404: no collection\n")
    assert (said.ending, said.reason) == (Ending.CLIENT_ERROR, "retrieval: the sidecar answered 404: no collection")


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
_RESULT = st.dictionaries(st.sampled_from(["id", "source", "start", "end", "score_e6"]), _values, max_size=5)


@st.composite
def odd_streams(draw: st.DrawFn) -> bytes:
    """A good stream of which some members are anything at all."""
    stream: list[dict[str, Any]] = []
    for good in (draw(st.sampled_from([START, FOREIGN])), FIRST, SECOND, END):
        changed = draw(st.dictionaries(st.sampled_from(sorted(good)), _values | st.lists(_RESULT, max_size=3)))
        stream.append({**good, **changed} if draw(st.booleans()) else good)
    return b"".join(json.dumps(event).encode() + b"\n" for event in stream)


@given(odd_streams() | st.binary(max_size=300))
def test_any_output_is_read_or_refused(stream: bytes) -> None:
    """No error but ours, whatever stands there; what is read is what was asked."""
    Retrieval().parse(stream, stream)
    start_of(stream)
    try:
        found = rankings_of(stream, ["a", "b"])
    except EvidenceError:
        return
    assert [answer.query for answer in found] == ["a", "b"]


def test_nesting_without_end_is_damage() -> None:
    """It can't exhaust the reader's stack."""
    assert Retrieval().parse(b'{"type":' * 100_000 + b"\n", b"").corrupt_lines == 1
