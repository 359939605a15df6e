"""The query sets of a retrieval study: held against their corpora, pinned, and laid among a run's inputs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from runner.core import layout
from runner.core.errors import Problem
from runner.core.gates import ABSTENTION
from runner.core.lock import QuerySetPin
from runner.core.passages import passages_jsonl
from runner.core.retrieval.queryset import lock_of, resolved
from runner.core.sources import SourceIds
from runner.measure.retrieval.comparing import refusal
from runner.measure.retrieval.measuring import measure_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runner.core.gates import Gate
    from runner.core.retrieval.queries import ResolvedQuerySet
    from runner.plan.corpora import Corpus
    from runner.plan.load import LoadedStudy


def resolved_query_sets(
    loaded: LoadedStudy, corpora: Mapping[str, Corpus]
) -> tuple[dict[str, ResolvedQuerySet], list[Problem]]:
    """Each task's query set with its sources as TREC files name them, and every label that no corpus has."""
    found: dict[str, ResolvedQuerySet] = {}
    problems: list[Problem] = []
    for task, queries in loaded.query_sets.items():
        corpus = corpora[loaded.study.task(task).corpus]
        made, unfit = resolved(queries, corpus.name, SourceIds.of(corpus.files, corpus.collections))
        found[task] = made.model_copy(update={"collections": corpus.collections})
        problems += unfit
    return found, problems


def retrieval_gate_problems(
    gates: Sequence[Gate], query_sets: Mapping[str, ResolvedQuerySet], document: str
) -> Iterator[Problem]:
    """Gates on measures, sets, splits or kinds of queries that the study doesn't have."""
    for gate in gates:
        if not gate.is_retrieval:
            continue
        key = f"gates.{gate.name}"
        asked = {task: queries for task, queries in query_sets.items() if gate.set in ("", task)}
        if not asked:
            yield Problem(f"{gate.set!r} is not the id of a task", document, f"{key}.set")
            continue
        for task, item in asked.items() if gate.is_scored else ():
            if gate.measure not in measure_names(item.ks):
                cuts = ", ".join(map(str, item.ks))
                message = f"the query set of {task!r} has no {gate.measure}: its measures.k is {cuts}"
                yield Problem(message, document, f"{key}.measure", "add the cut there, or name one that is there")
        meant = [
            (item.corpus, query.kind)
            for item in asked.values()
            for query in item.queries
            if gate.split in ("", query.split) and gate.kind in ("", query.kind)
        ]
        if fault := _scope_fault(gate, meant):
            yield Problem(fault, document, key)


def _scope_fault(gate: Gate, meant: Sequence[tuple[str, str]]) -> str:
    """Why nobody could judge `gate` on the queries that it means, each with its corpus and kind; "" when one may."""
    answerable = Counter(corpus for corpus, kind in meant if kind != "no_answer")
    if not meant:
        return "no query is of this split and kind"
    if gate.is_scored and not answerable:
        return f"no query that is meant has an answer, so there is no {gate.measure}"
    if gate.measure == ABSTENTION and answerable.total() == len(meant):
        return "every query that is meant has an answer: there is none to abstain from"
    refused = refusal(answerable) if gate.end != "estimate" else None
    return "" if refused is None else f"there is no interval of the queries that are meant: {refused.reason}"


def query_set_pins(loaded: LoadedStudy, query_sets: Mapping[str, ResolvedQuerySet]) -> dict[str, QuerySetPin]:
    """What each task's query set is pinned by."""
    pins: dict[str, QuerySetPin] = {}
    for task, made in sorted(query_sets.items()):
        corpus = loaded.study.corpora[loaded.study.task(task).corpus]
        frozen = lock_of(loaded.query_sets[task], corpus.name, corpus.tree_sha256)
        pins[task] = QuerySetPin(
            lock_sha256=frozen.digest(),
            resolved_sha256=made.digest(),
            queries=len(made.queries),
            labels=len(made.labels),
        )
    return pins


def query_inputs(query_sets: Mapping[str, ResolvedQuerySet], corpora: Mapping[str, Corpus]) -> dict[str, bytes]:
    """What a stranger needs to measure the rankings again: queries with their labels, and the corpora's passages."""
    found = {layout.query_set(task): made.to_bytes() for task, made in query_sets.items()}
    names = {made.corpus for made in query_sets.values()}
    return found | {layout.passages(name): passages_jsonl(corpora[name].passages) for name in names}
