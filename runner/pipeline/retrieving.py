"""What the raw output of retrieval trials comes to: rankings, latencies, scores, files of the field, and a section.

Rankings are made of raw evidence alone, and figures of rankings and labels alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from runner.clients.retrieval_events import output_of
from runner.core import layout
from runner.core.canonical import sha256_digest
from runner.core.evidence import STDOUT
from runner.core.ledger import LedgerLine
from runner.core.outcomes import CONSEQUENCES, Outcome
from runner.core.passages import read_passages
from runner.core.quantities import Measured, Unavailable
from runner.core.retrieval.rankings import Latency, Ranking
from runner.core.retrieval.section import Exactness
from runner.core.retrieval.trec import trec_qrels, trec_run
from runner.core.sources import SourceIds
from runner.core.systems import DenseSystem, HybridSystem
from runner.measure.retrieval.folding import Passages, fold, overlap, unmapped
from runner.measure.retrieval.scoring import scored
from runner.measure.retrieval.summing import AskedSet, Found, section_of
from runner.measure.retrieval.timing import latency_of
from runner.pipeline.folder import required
from runner.summarize.retrieval import RetrievalFacts, Seen, asked_by_gates

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runner.clients.retrieval_events import Answered, Output
    from runner.core.plan import PlannedTrial
    from runner.core.resolved import ResolvedArm
    from runner.core.retrieval.scores import RetrievalScore
    from runner.pipeline.folder import Run
    from runner.pipeline.outlets import Outlet
    from runner.pipeline.sinks import Sink
    from runner.ports.files import Files

_UNANSWERED: Final = Unavailable("the trial has no answer to the query")


@dataclass(frozen=True)
class _Documents:
    """Where lines go."""

    rankings: Sink
    latencies: Sink
    scores: Sink


@dataclass(frozen=True)
class _Source:
    """Where the rankings of a trial come from, and what they may name."""

    run: Run
    files: Files
    passages: Passages


@dataclass
class _Gathered:
    """What is held of trials that are done with: scores and times, and no result."""

    scores: dict[str, list[RetrievalScore]] = field(default_factory=dict)
    """By trial."""
    latencies: dict[str, list[tuple[Latency, bool]]] = field(default_factory=dict)
    """By trial; each with whether a relevant source came."""
    passages: dict[str, list[tuple[int, ...]]] = field(default_factory=dict)
    """By trial, of arms whose search is held against an exact one, or is the exact one."""
    seen: list[Seen] = field(default_factory=list)
    documents: dict[str, str] = field(default_factory=dict)


def retrieval_of(run: Run, files: Files, outlet: Outlet, ends: Mapping[str, tuple[Outcome, str]]) -> RetrievalFacts:
    """What the rankings of a retrieval run come to; `ends` says how each of its trials ended, and why.

    Raises:
        EvidenceError: a file is missing.
    """
    sinks = _Documents(*(outlet.sink(name) for name in (layout.RANKINGS, layout.LATENCIES, layout.RETRIEVAL)))
    known = {corpus: _passages(run, files, corpus) for corpus in {item.corpus for item in run.query_sets.values()}}
    gathered = _Gathered()
    for task, queries in run.query_sets.items():
        name = layout.trec_qrels(task)
        gathered.documents[name] = outlet.put(name, trec_qrels(queries.grades()))
    held = {arm for pair in _exact_pairs(run) for arm in pair}
    for planned in run.plan.trials:
        queries = run.query_sets[planned.task]
        passages = known[queries.corpus]
        rankings, latencies = _answers(_Source(run, files, passages), planned, ends[planned.trial], gathered)
        if not rankings:
            continue
        scores = list(scored(rankings, queries, passages))
        gathered.scores[planned.trial] = scores
        gathered.latencies[planned.trial] = [
            (latency, isinstance(score.first_relevant_rank, Measured))
            for latency, score in zip(latencies, scores, strict=True)
        ]
        if planned.arm in held:
            gathered.passages[planned.trial] = [ranking.passages for ranking in rankings]
        for sink, lines in ((sinks.rankings, rankings), (sinks.latencies, latencies), (sinks.scores, scores)):
            for line in lines:
                sink.put(line.to_line())
        name = layout.trec_run(planned.trial)
        found = ((ranking.query, fold(ranking, passages).sources) for ranking in rankings)
        gathered.documents[name] = outlet.put(name, b"".join(trec_run(found, planned.arm)))
    for name, sink in zip((layout.RANKINGS, layout.LATENCIES, layout.RETRIEVAL), vars(sinks).values(), strict=True):
        gathered.documents[name] = sink.digest()
    blocks = {task: _counted_block(run, task, ends) for task in run.query_sets}
    section = section_of(_found(run, gathered, blocks, ends))
    return RetrievalFacts(
        section=section,
        seen=tuple(gathered.seen),
        depth=run.study.client.depth if run.study.client.kind == "retrieval" else 0,
        threads=run.study.client.threads if run.study.client.kind == "retrieval" else 0,
    )


def _passages(run: Run, files: Files, corpus: str) -> Passages:
    name = layout.passages(corpus)
    collections = next(item.collections for item in run.query_sets.values() if item.corpus == corpus)
    return Passages.of(
        read_passages(required(files, run.folder, name), name), SourceIds.of(run.corpora[corpus], collections)
    )


def _answers(
    source: _Source, planned: PlannedTrial, end: tuple[Outcome, str], gathered: _Gathered
) -> tuple[list[Ranking], list[Latency]]:
    """The trial's rankings and times; none of a trial whose end says nothing of its system.

    Of a trial that failed every query failed: what its output may hold was never said to be whole.
    """
    run, files = source.run, source.files
    asked = [query.id for query in run.study.task(planned.task).queries]
    outcome, reason = end
    answers: Sequence[Answered] | None = None
    fault = f"the trial ended {outcome}: {reason}" if reason else f"the trial ended {outcome}"
    for line in run.ledger.ends_of(planned.trial):
        attempt = LedgerLine.from_bytes(line, layout.LEDGER)
        output = output_of(_stdout(run, files, attempt), asked)
        answers = output.answers
        fault = output.fault if outcome is Outcome.COMPLETED else fault
        gathered.seen.append(_seen(planned, attempt.attempt, output, source.passages))
    if outcome is not Outcome.COMPLETED:
        answers = None
        if not CONSEQUENCES[outcome].failure:
            return [], []
    if answers is None:
        return [_failed(planned, query, fault) for query in asked], [_untimed(planned, query) for query in asked]
    return [_ranking(planned, item) for item in answers], [_latency(planned, item) for item in answers]


def _stdout(run: Run, files: Files, line: LedgerLine) -> bytes:
    name = f"{layout.attempt_folder(line.trial, line.attempt)}/{STDOUT}"
    return required(files, run.folder, name) if name in line.files else b""


def _seen(planned: PlannedTrial, attempt: int, output: Output, passages: Passages) -> Seen:
    start, answers = output.start, output.answers
    return Seen(
        trial=planned.trial,
        task=planned.task,
        arm=planned.arm,
        attempt=attempt,
        rankings={}
        if answers is None
        else {item.query: sha256_digest(_ranking(planned, item, trial="").to_line()) for item in answers},
        failed=() if answers is None else tuple(item.query for item in answers if item.error),
        unmapped=0 if answers is None else sum(unmapped(_ranking(planned, item), passages) for item in answers),
        depth=None if start is None else start.depth,
        threads=None if start is None else start.threads,
    )


def _ranking(planned: PlannedTrial, item: Answered, *, trial: str | None = None) -> Ranking:
    return Ranking(
        trial=planned.trial if trial is None else trial,
        task=planned.task,
        query=item.query,
        passages=item.passages,
        scores_e6=item.scores_e6,
        found=item.found,
        unmapped=item.unmapped,
        error=item.error,
    )


def _failed(planned: PlannedTrial, query: str, fault: str) -> Ranking:
    return Ranking(trial=planned.trial, task=planned.task, query=query, unmapped=0, error=fault)


def _latency(planned: PlannedTrial, item: Answered) -> Latency:
    return Latency(
        trial=planned.trial,
        task=planned.task,
        query=item.query,
        embed_us=item.embed_us,
        search_us=item.search_us,
        decode_us=item.decode_us,
        total_us=item.total_us,
    )


def _untimed(planned: PlannedTrial, query: str) -> Latency:
    return Latency(
        trial=planned.trial,
        task=planned.task,
        query=query,
        embed_us=_UNANSWERED,
        search_us=_UNANSWERED,
        decode_us=_UNANSWERED,
        total_us=_UNANSWERED,
    )


def _counted_block(run: Run, task: str, ends: Mapping[str, tuple[Outcome, str]]) -> str:
    """The first block of `task` in which every system completed; else the first in which each completed or failed."""
    blocks: dict[str, list[Outcome]] = {}
    for planned in sorted(run.plan.trials, key=lambda planned: planned.repetition):
        if planned.task == task:
            blocks.setdefault(planned.block, []).append(ends[planned.trial][0])
    whole = [block for block, outcomes in blocks.items() if all(item is Outcome.COMPLETED for item in outcomes)]
    judged = [
        block
        for block, outcomes in blocks.items()
        if all(item is Outcome.COMPLETED or CONSEQUENCES[item].failure for item in outcomes)
    ]
    return next(iter([*whole, *judged]), "")


def _found(run: Run, gathered: _Gathered, blocks: Mapping[str, str], ends: Mapping[str, tuple[Outcome, str]]) -> Found:
    counted = {(planned.block, planned.arm): planned.trial for planned in run.plan.trials}
    control = run.study.control
    arms = (control, *(arm.name for arm in run.study.arms if arm.name != control))
    trials = {
        (task, arm): [
            planned.trial
            for planned in run.plan.trials
            if (planned.task, planned.arm) == (task, arm) and ends[planned.trial][0] is Outcome.COMPLETED
        ]
        for task in run.query_sets
        for arm in arms
    }
    return Found(
        systems={arm: _said(run.study.arm(arm)) for arm in arms},
        sets=[
            AskedSet(task, queries, run.input_digest(layout.query_set(task)), blocks[task])
            for task, queries in run.query_sets.items()
        ],
        scores={
            (task, arm): gathered.scores[counted[block, arm]] for task, block in blocks.items() if block for arm in arms
        },
        latencies=[
            latency_of(task, arm, len(own), [item for trial in own for item in gathered.latencies[trial]])
            for task in ("", *run.query_sets)
            for arm in arms
            for own in ([trial for name in run.query_sets if task in ("", name) for trial in trials[name, arm]],)
        ],
        exactness=list(_exactness(run, gathered, blocks, counted)),
        documents=gathered.documents,
        seed=f"{run.plan.seed}\nretrieval",
        asked=asked_by_gates(run.lock.gates),
    )


def _said(arm: ResolvedArm) -> str:
    """What the arm asks, with what isn't as by default."""
    if arm.system is None:
        return ""
    values = arm.system.model_dump(mode="json", exclude_defaults=True)
    kind = values.pop("kind")
    if kind == "mcp":
        return f"mcp, tool {values['tool']} of {', '.join(server.name for server in arm.mcp_servers)}"
    return ", ".join([kind, *(f"{key} = {value}" for key, value in values.items())])


def _exact_pairs(run: Run) -> Iterator[tuple[str, str]]:
    """Arms that search approximately, each with one that asks the same exactly."""
    for arm in run.study.arms:
        if isinstance(arm.system, DenseSystem | HybridSystem) and arm.system.approximate:
            exact = arm.system.model_copy(update={"approximate": False})
            found = next((other.name for other in run.study.arms if other.system == exact), None)
            if found is not None:
                yield arm.name, found


def _exactness(
    run: Run, gathered: _Gathered, blocks: Mapping[str, str], counted: Mapping[tuple[str, str], str]
) -> Iterator[Exactness]:
    for (arm, exact), (task, block) in ((pair, item) for pair in _exact_pairs(run) for item in blocks.items()):
        if not block:
            continue
        mine, theirs = (gathered.passages.get(counted[block, name], []) for name in (arm, exact))
        for k in run.query_sets[task].ks:
            hits = [overlap(found, wanted, k) for found, wanted in zip(mine, theirs, strict=True)]
            yield Exactness(
                task=task,
                arm=arm,
                exact_arm=exact,
                k=k,
                found=sum(hit for hit, _ in hits),
                out_of=sum(whole for _, whole in hits),
            )
