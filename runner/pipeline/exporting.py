"""What a retrieval run found, as tables for data frames: scores of each query, rankings, and times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from runner.core import layout
from runner.core.canonical import sha256_digest
from runner.core.errors import EvidenceError, StudyError
from runner.core.passages import read_passages
from runner.core.quantities import Measured
from runner.core.retrieval.rankings import Latency, Ranking, SpanResult, UnmappedResult
from runner.core.retrieval.scores import SCALE, RetrievalScore, Violation
from runner.measure.retrieval.measuring import measure_names
from runner.pipeline.concluding import read_summary
from runner.pipeline.folder import read_run, required

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from runner.core.passages import Passage
    from runner.core.plan import PlannedTrial
    from runner.core.quantities import Quantity
    from runner.core.retrieval.rankings import Result
    from runner.core.retrieval.section import RetrievalSection
    from runner.pipeline.folder import Run
    from runner.ports.files import Files
    from runner.ports.frames import ColumnKind, Frames

D = TypeVar("D", Ranking, Latency, RetrievalScore)

SCORES_NAME: Final = "scores.parquet"
RANKINGS_NAME: Final = "rankings.parquet"
LATENCIES_NAME: Final = "latencies.parquet"

_PLACE: Final[dict[str, ColumnKind]] = {
    "trial": "text",
    "arm": "text",
    "repetition": "whole",
    "task": "text",
    "query": "text",
}
_BATCH: Final = 20_000


@dataclass(frozen=True)
class Exported:
    """A table that was written."""

    path: Path
    rows: int


def export_frames(files: Files, frames: Frames, folder: Path, into: Path) -> tuple[Exported, ...]:
    """The three tables of the retrieval run in `folder` stand in the folder `into`.

    Raises:
        StudyError: the run is of another kind of study.
        EvidenceError: a document isn't what the sealed summary says.
        EnvironmentNotReady: what writes tables isn't installed, or there is no room.
    """
    section = read_summary(files, folder).retrieval
    if section is None:
        raise StudyError("only a retrieval study has rankings to export", document=str(folder))
    run = read_run(files, folder)
    trials = {planned.trial: planned for planned in run.plan.trials}
    blocks = {item.block for item in section.sets}
    ks = sorted({k for queries in run.query_sets.values() for k in queries.ks})
    tables = (
        (SCORES_NAME, *_scores(_lines(files, folder, section, layout.RETRIEVAL, RetrievalScore), blocks, trials, ks)),
        (RANKINGS_NAME, *_rankings(_lines(files, folder, section, layout.RANKINGS, Ranking), run, files, trials)),
        (LATENCIES_NAME, *_latencies(_lines(files, folder, section, layout.LATENCIES, Latency), trials)),
    )
    return tuple(
        Exported(into / name, frames.write(into / name, kinds, _batches(kinds, rows))) for name, kinds, rows in tables
    )


def _lines(files: Files, folder: Path, section: RetrievalSection, name: str, model: type[D]) -> Iterator[D]:
    """The lines of a document of the run, which is the one that was sealed."""
    data = required(files, folder, name)
    sealed = next((item.digest for item in section.documents if item.name == name), "")
    if sha256_digest(data) != sealed:
        raise EvidenceError(
            "it isn't the document that the summary names", document=name, hint="look at `pairbench verify`"
        )
    return model.from_lines(data, name)


def _place(planned: PlannedTrial, query: str) -> tuple[str | int, ...]:
    return planned.trial, planned.arm, planned.repetition, planned.task, query


def _scores(
    lines: Iterable[RetrievalScore], blocks: set[str], trials: Mapping[str, PlannedTrial], ks: list[int]
) -> tuple[dict[str, ColumnKind], Iterator[tuple[object, ...]]]:
    measures = measure_names(ks)
    kinds: dict[str, ColumnKind] = {
        **_PLACE,
        "counted": "flag",
        "split": "text",
        "kind": "text",
        **dict.fromkeys(measures, "number"),
        "first_relevant_rank": "whole",
        "results": "whole",
        "sources": "whole",
        "unmapped": "whole",
        **{str(kind): "whole" for kind in Violation},
        "abstained": "flag",
        "failed": "flag",
    }

    def rows() -> Iterator[tuple[object, ...]]:
        for line in lines:
            planned = trials[line.trial]
            values = (line.measures_e9.get(measure) for measure in measures)
            yield (
                *_place(planned, line.query),
                planned.block in blocks,
                line.split,
                line.kind,
                *(None if value is None else value / SCALE for value in values),
                _known(line.first_relevant_rank),
                line.results,
                line.sources,
                line.unmapped,
                *(line.violations.get(kind, 0) for kind in Violation),
                line.abstained,
                line.failed,
            )

    return kinds, rows()


def _rankings(
    lines: Iterable[Ranking], run: Run, files: Files, trials: Mapping[str, PlannedTrial]
) -> tuple[dict[str, ColumnKind], Iterator[tuple[object, ...]]]:
    kinds: dict[str, ColumnKind] = {
        **_PLACE,
        "rank": "whole",
        "source": "text",
        "passage": "whole",
        "start": "whole",
        "end": "whole",
        "score": "number",
    }
    passages: dict[str, dict[int, Passage]] = {}
    for corpus in {queries.corpus for queries in run.query_sets.values()}:
        name = layout.passages(corpus)
        passages[corpus] = {item.id: item for item in read_passages(required(files, run.folder, name), name)}

    def rows() -> Iterator[tuple[object, ...]]:
        for line in lines:
            place = _place(trials[line.trial], line.query)
            known = passages[run.query_sets[line.task].corpus]
            for rank, (number, score) in enumerate(zip(line.passages, line.scores_e6, strict=True), 1):
                passage = known.get(number)
                span = (None, None, None) if passage is None else (passage.source, passage.start, passage.end)
                yield *place, rank, span[0], number, span[1], span[2], score / 1e6
            for rank, result in enumerate(line.found, 1):
                yield *place, rank, *_foreign(result)

    return kinds, rows()


def _foreign(result: Result) -> tuple[object, ...]:
    score = _known(result.score_e6)
    scored = None if score is None else score / 1e6
    if isinstance(result, UnmappedResult):
        return None, None, None, None, scored
    span = (result.start, result.end) if isinstance(result, SpanResult) else (None, None)
    return result.source, None, *span, scored


def _latencies(
    lines: Iterable[Latency], trials: Mapping[str, PlannedTrial]
) -> tuple[dict[str, ColumnKind], Iterator[tuple[object, ...]]]:
    parts = ("embed_us", "search_us", "decode_us", "total_us")
    kinds: dict[str, ColumnKind] = {**_PLACE, **dict.fromkeys(parts, "whole")}
    rows = (
        (*_place(trials[line.trial], line.query), *(_known(getattr(line, part)) for part in parts)) for line in lines
    )
    return kinds, rows


def _known(quantity: Quantity) -> int | None:
    return quantity.value if isinstance(quantity, Measured) else None


def _batches(kinds: Mapping[str, ColumnKind], rows: Iterator[tuple[object, ...]]) -> Iterator[dict[str, list[object]]]:
    batch: list[tuple[object, ...]] = []
    for row in rows:
        batch.append(row)
        if len(batch) == _BATCH:
            yield _columns(kinds, batch)
            batch = []
    if batch:
        yield _columns(kinds, batch)


def _columns(kinds: Mapping[str, ColumnKind], batch: list[tuple[object, ...]]) -> dict[str, list[object]]:
    return {name: list(column) for name, column in zip(kinds, zip(*batch, strict=True), strict=True)}
