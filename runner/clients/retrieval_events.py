"""The output of the retrieval program, typed: `pairbench/retrieval-events` 1 (`docs/reference/clients.md`).

A trial's output is only as good as its client: whatever is said twice, out of order or too much makes it none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from runner.clients.client import ClientReport, Ending
from runner.clients.report import finding, last_words, short
from runner.clients.shapes import ShapeError, object_at, objects_at, optional_text, text_at, texts_at
from runner.core.errors import EvidenceError
from runner.core.events import ClientReady, Corrupt, ServerState, count, json_objects
from runner.core.findings import FindingKind
from runner.core.quantities import Measured, Quantity, Unavailable
from runner.core.records import ToolCalls
from runner.core.retrieval.rankings import NO_NUMBER, NO_SCORE, SourceResult, SpanResult, UnmappedResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runner.core.canonical import Json
    from runner.core.records import Finding
    from runner.core.retrieval.rankings import Result

FORMAT: Final = "pairbench/retrieval-events"
VERSION: Final = 1

_DOCUMENT: Final = "stdout.jsonl"
_NO_MODEL: Final = Unavailable("a retrieval trial has no model")
_FAILED: Final = Unavailable("the query failed")
_UNSAID: Final = Unavailable("the server doesn't say")
_MOST_SCORE_E6: Final = 2**53 - 1


@dataclass(frozen=True)
class Start:
    """What the program began with."""

    ready: ClientReady
    system: str
    """The kind of the system that was asked."""
    tool: str
    """The tool of a foreign system, as clients of models name it; "" for any other, and where it isn't there."""
    depth: int
    versions: Mapping[str, str]
    sidecar_title: str
    """"" for a system that doesn't use the sidecar."""
    sidecar_version: str
    threads: int
    queries: int
    startup_us: Quantity


@dataclass(frozen=True)
class Answered:
    """What one query brought, and how long that took."""

    query: str
    passages: tuple[int, ...]
    """What a system of ours found: the highest score first, then the lowest id, each once."""
    scores_e6: tuple[int, ...]
    """Of each of `passages`."""
    found: tuple[Result, ...]
    """What a foreign system found, in its own order."""
    unmapped: int
    """Results that the mapping could make nothing of; they keep their ranks."""
    error: str
    """Why the query failed; "" when it didn't."""
    embed_us: Quantity
    search_us: Quantity
    decode_us: Quantity
    total_us: Quantity


@dataclass
class _Stream:
    """What a stream holds, gathered in one pass."""

    start: Start | None = None
    answers: dict[str, Answered] = field(default_factory=dict)
    ended: bool = False
    corrupt: list[Corrupt] = field(default_factory=list)
    fault: str = ""
    """The first thing that shouldn't be; "" when everything is as it should."""

    def wrong(self, fault: str) -> None:
        self.fault = self.fault or fault

    def take(self, line: int, item: Mapping[str, Json]) -> None:
        kind = text_at(item, "type")
        if self.ended:
            self.wrong(f"line {line} comes after the end")
        match kind:
            case "start" if self.start is None:
                self.start = _start(item)
            case "ranking" if self.start is not None:
                answer = _answered(item, self.start)
                if answer.query in self.answers:
                    self.wrong(f"line {line} answers the query {answer.query!r} again")
                self.answers[answer.query] = answer
            case "end" if self.start is not None:
                self.ended = True
                if not self.start.queries == len(self.answers) == item.get("queries"):
                    self.wrong(f"{len(self.answers)} of {self.start.queries} queries are answered at the end")
            case _:
                self.wrong(f"line {line} is a {short(kind)!r} where none belongs")


def rankings_of(stdout: bytes, asked: Sequence[str]) -> tuple[Answered, ...]:
    """What each query of `asked` brought, in that order.

    Raises:
        EvidenceError: the output isn't whole, or isn't the answer to these queries.
    """
    found = output_of(stdout, asked)
    if found.answers is None:
        raise EvidenceError(found.fault, document=_DOCUMENT)
    return found.answers


@dataclass(frozen=True)
class Output:
    """What a program's output holds, in one reading."""

    start: Start | None
    """None when it didn't say with what it began."""
    answers: tuple[Answered, ...] | None
    """What each query brought; None where the output isn't whole, or isn't the answer to these queries."""
    fault: str
    """Why there are no answers; "" where there are."""


def output_of(stdout: bytes, asked: Sequence[str]) -> Output:
    """What `stdout` holds as the answer to the queries `asked`, in their order."""
    stream = _read(stdout)
    fault = _fault(stream)
    if not fault and list(stream.answers) != list(asked):
        fault = "the queries answered aren't those that were asked, in their order"
    return Output(stream.start, None if fault else tuple(stream.answers.values()), fault)


def start_of(stdout: bytes) -> Start | None:
    """What the program began with; None when it didn't say so."""
    return _read(stdout).start


def retrieval_report(stdout: bytes, stderr: bytes) -> ClientReport:
    """What the program's output says of its attempt.

    Whole output, every query's line and the end, leaves the verdict to the exit code: no model was asked, so there is
    nobody else who saw what the program did.
    """
    stream = _read(stdout)
    fault = _fault(stream)
    failed = sum(1 for answer in stream.answers.values() if answer.error)
    answered = f"{len(stream.answers)} queries, {failed} of them failed"
    ending, reason = _ending(stream, fault, stderr)
    return ClientReport(
        starts=() if stream.start is None else (stream.start.ready,),
        answer="" if fault else answered,
        ending=ending,
        reason=short(reason),
        reported=(),
        cost_microusd=_NO_MODEL,
        turns=_NO_MODEL,
        tool_calls=_calls(stream, failed),
        models=(),
        retries=0,
        denied=(),
        corrupt_lines=len({corrupt.line for corrupt in stream.corrupt}),
        findings=tuple(_findings(stream)),
    )


def _ending(stream: _Stream, fault: str, stderr: bytes) -> tuple[Ending, str]:
    words = last_words(stderr)
    if not fault:
        return Ending.BY_EXIT_CODE, words
    if stream.ended:
        return Ending.CONTRADICTORY, fault
    return (Ending.CLIENT_ERROR, words) if words else (Ending.UNSAID, fault)


def _read(stdout: bytes) -> _Stream:
    stream = _Stream()
    for line, item in json_objects(stdout):
        if isinstance(item, Corrupt):
            stream.corrupt.append(item)
            continue
        try:
            stream.take(line, item)
        except ShapeError as error:
            stream.corrupt.append(Corrupt(line, str(error)))
    return stream


def _fault(stream: _Stream) -> str:
    """Why the output isn't whole; "" when it is."""
    if stream.corrupt:
        return f"line {stream.corrupt[0].line}: {stream.corrupt[0].reason}"
    if stream.fault:
        return stream.fault
    return "" if stream.ended else f"the output ends after {len(stream.answers)} answers, without its end"


def _calls(stream: _Stream, failed: int) -> tuple[ToolCalls, ...]:
    """Each query of a foreign system is a call of its tool."""
    if stream.start is None or not stream.start.tool:
        return ()
    return (ToolCalls(name=stream.start.tool, calls=len(stream.answers), errors=failed),)


def _findings(stream: _Stream) -> Iterator[Finding]:
    if stream.corrupt:
        line, reason = stream.corrupt[0].line, stream.corrupt[0].reason
        yield finding(FindingKind.CORRUPT_EVENTS, f"{len(stream.corrupt)}, the first in line {line}: {reason}")


def _start(item: Mapping[str, Json]) -> Start:
    if (item.get("format"), item.get("version")) != (FORMAT, VERSION):
        raise ShapeError(f"not {FORMAT} {VERSION}")
    servers = tuple(
        ServerState(text_at(server, "name"), text_at(server, "status")) for server in objects_at(item, "servers")
    )
    versions = {name: text_at(object_at(item, "versions"), name) for name in object_at(item, "versions")}
    sidecar = object_at(item, "sidecar") if item.get("sidecar") is not None else {}
    system = object_at(item, "system")
    kind, tools = text_at(system, "kind"), texts_at(item, "tools")
    called = f"__{text_at(system, 'tool')}" if kind == "mcp" else "\0"
    version = f"{text_at(item, 'client')}+qdrant-client-{versions.get('qdrant-client', '')}"
    return Start(
        ready=ClientReady(tools, servers, "", version),
        system=kind,
        tool=next((tool for tool in tools if tool.endswith(called)), ""),
        depth=_whole(item, "depth"),
        versions=versions,
        sidecar_title=optional_text(sidecar, "title"),
        sidecar_version=optional_text(sidecar, "version"),
        threads=_whole(item, "threads"),
        queries=_whole(item, "queries"),
        startup_us=count(item.get("startup_us"), "startup_us"),
    )


def _answered(item: Mapping[str, Json], start: Start) -> Answered:
    error, is_own = text_at(item, "error"), start.system != "mcp"
    results = tuple(objects_at(item, "results"))
    if error and results:
        raise ShapeError("a failed query with results")
    if len(results) > start.depth:
        raise ShapeError(f"{len(results)} results of at most {start.depth}")
    passages = tuple(_whole(result, "id") for result in results) if is_own else ()
    scores = tuple(_signed(result, "score_e6") for result in results) if is_own else ()
    _check_order(passages, scores)
    found = () if is_own else tuple(map(_foreign, results))
    nothing = _FAILED if error else _UNSAID
    parts = {name: _time(item, name, nothing) for name in ("embed_us", "search_us", "decode_us")}
    return Answered(
        query=text_at(item, "query"),
        passages=passages,
        scores_e6=scores,
        found=found,
        unmapped=sum(1 for result in found if isinstance(result, UnmappedResult)),
        error=short(error),
        total_us=_time(item, "total_us", nothing),
        **parts,
    )


def _check_order(passages: Sequence[int], scores: Sequence[int]) -> None:
    """Returns when the passages stand as the tie rule says: the highest score first, then the lowest id."""
    keys = [(-score, identity) for score, identity in zip(scores, passages, strict=True)]
    if any(first >= second for first, second in pairwise(keys)):
        raise ShapeError("results out of order")
    if len(set(passages)) < len(passages):
        raise ShapeError("a passage that was found twice")


def _foreign(item: Mapping[str, Json]) -> Result:
    score: Quantity = NO_NUMBER if "score_e6" in item else NO_SCORE
    if item.get("score_e6") is not None:
        score = Measured(_signed(item, "score_e6"))
    source = optional_text(item, "source")
    if not source:
        said = "" if item.get("id") is None else str(_whole(item, "id"))
        return UnmappedResult(said=said, score_e6=score)
    if item.get("start") is None or item.get("end") is None:
        return SourceResult(source=source, score_e6=score)
    start, end = _whole(item, "start"), _whole(item, "end")
    # A span without a byte says no more than its source.
    if start >= end:
        return SourceResult(source=source, score_e6=score)
    return SpanResult(source=source, start=start, end=end, score_e6=score)


def _whole(item: Mapping[str, Json], key: str) -> int:
    found = count(item.get(key), key)
    if not isinstance(found, Measured):
        raise ShapeError(found.reason)
    return found.value


def _signed(item: Mapping[str, Json], key: str) -> int:
    value = item.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > _MOST_SCORE_E6:
        raise ShapeError(f"{key} is not a whole number")
    return value


def _time(item: Mapping[str, Json], key: str, nothing: Unavailable) -> Quantity:
    return nothing if item.get(key) is None else Measured(_whole(item, key))
