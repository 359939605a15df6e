"""Fold and measure many rankings, beside ir_measures and pytrec_eval called directly on rankings folded before.

    .venv/bin/python benchmarks/retrieval_scoring.py [--queries 10000] [--results 1000]

Each side runs in a process of its own and says its CPU seconds and how far its memory grew. The direct sides hold the
whole run as the nested dictionaries that both libraries take, which are made before their clock starts. Ours takes
rankings of passages one by one, and folds them inside of its clock; `whole stage` also reads each from its line of
`rankings.jsonl`, holds it against the boundaries, and writes its line of `retrieval.jsonl`. Exit 1 when folding and
measuring takes more than 1.5 times what ir_measures takes for measuring, or when the sides' mean reciprocal ranks
differ.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import ir_measures
import pytrec_eval

from runner.core.passages import Passage
from runner.core.retrieval.queries import Judgement, Query, ResolvedQuerySet
from runner.core.retrieval.rankings import Ranking
from runner.core.sources import SourceIds
from runner.measure.retrieval.folding import Passages, fold
from runner.measure.retrieval.measuring import measured
from runner.measure.retrieval.scoring import scored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KS = (1, 3, 5, 10)
PASSAGES_A_SOURCE = 4
SOURCES = 20_000
LABELS = 20
LIMIT = 1.5


def names() -> list[str]:
    return [f"src/package/module_{number:05}.py" for number in range(SOURCES)]


def grades(queries: int) -> dict[str, dict[str, int]]:
    draw = random.Random("labels")  # noqa: S311 - the same each time
    listed = names()
    return {f"q{query}": {name: draw.randint(0, 3) for name in draw.sample(listed, LABELS)} for query in range(queries)}


def drawn(queries: int, results: int) -> Iterator[list[int]]:
    """Ids of passages, best first, of each query."""
    draw = random.Random("rankings")  # noqa: S311
    for _ in range(queries):
        yield draw.sample(range(1, SOURCES * PASSAGES_A_SOURCE + 1), results)


def folded(ids: list[int], listed: list[str]) -> dict[str, float]:
    sources = dict.fromkeys(listed[(number - 1) // PASSAGES_A_SOURCE] for number in ids)
    return dict(zip(sources, map(float, range(len(sources), 0, -1)), strict=True))


def corpus() -> Passages:
    listed = names()
    numbers = range(SOURCES * PASSAGES_A_SOURCE)
    passages = (Passage(number + 1, listed[number // PASSAGES_A_SOURCE], 0, 1, "", "x") for number in numbers)
    return Passages.of(passages, SourceIds.of(listed))


@dataclass
class Clock:
    """CPU seconds and memory since it was made, less what it was stopped for."""

    begun: float
    mib: float

    @classmethod
    def started(cls) -> Clock:
        return cls(time.process_time(), peak_mib())

    def report(self, reciprocal_rank: float) -> None:
        seconds = time.process_time() - self.begun
        print(json.dumps({"seconds": seconds, "mib": peak_mib() - self.mib, "mrr": reciprocal_rank}))


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def rankings(clock: Clock, queries: int, results: int) -> Iterator[Ranking]:
    source = drawn(queries, results)
    for query in range(queries):
        stopped = time.process_time()
        ids = tuple(next(source))
        scores = tuple(range(len(ids), 0, -1))
        made = Ranking(trial="t", task="h", query=f"q{query}", passages=ids, scores_e6=scores, unmapped=0, error="")
        clock.begun += time.process_time() - stopped
        yield made


def fold_and_measure(queries: int, results: int) -> None:
    passages, judged = corpus(), grades(queries)
    clock = Clock.started()
    ours = ((ranking.query, fold(ranking, passages).sources) for ranking in rankings(clock, queries, results))
    clock.report(sum(values["RR"] for values in measured(ours, judged, KS)) / 1e9 / queries)


def whole_stage(queries: int, results: int) -> None:
    passages, judged = corpus(), grades(queries)
    asked = ResolvedQuerySet(
        name="h",
        corpus="h",
        ks=KS,
        queries=tuple(Query(id=query, text="x") for query in judged),
        labels=tuple(
            Judgement(query=query, source=source, grade=grade)
            for query, own in judged.items()
            for source, grade in own.items()
        ),
    )
    clock = Clock.started()

    def lines() -> Iterator[bytes]:
        for ranking in rankings(clock, queries, results):
            stopped = time.process_time()
            line = ranking.to_line()
            clock.begun += time.process_time() - stopped
            yield line

    total = 0
    for score in scored((Ranking.from_bytes(line, "rankings.jsonl") for line in lines()), asked, passages):
        total += score.measures_e9["RR"] if score.to_line() else 0
    clock.report(total / 1e9 / queries)


def with_ir_measures(queries: int, results: int) -> None:
    listed, judged = names(), grades(queries)
    mib = peak_mib()
    run = {f"q{query}": folded(ids, listed) for query, ids in enumerate(drawn(queries, results))}
    cut = [measure @ k for measure in (ir_measures.R, ir_measures.P, ir_measures.nDCG, ir_measures.Judged) for k in KS]
    clock = Clock(time.process_time(), mib)
    total = 0.0
    for metric in ir_measures.iter_calc([*cut, ir_measures.RR, ir_measures.AP], judged, run):
        total += metric.value if metric.measure is ir_measures.RR else 0
    clock.report(total / queries)


def with_pytrec_eval(queries: int, results: int) -> None:
    listed, judged = names(), grades(queries)
    mib = peak_mib()
    run = {f"q{query}": folded(ids, listed) for query, ids in enumerate(drawn(queries, results))}
    asked = {"map", "recip_rank", *(f"{name}_{k}" for name in ("recall", "P", "ndcg_cut") for k in KS)}
    clock = Clock(time.process_time(), mib)
    found = pytrec_eval.RelevanceEvaluator(judged, asked).evaluate(run)
    clock.report(sum(values["recip_rank"] for values in found.values()) / queries)


SIDES: dict[str, Callable[[int, int], None]] = {
    "fold and measure": fold_and_measure,
    "whole stage": whole_stage,
    "ir_measures": with_ir_measures,
    "pytrec_eval (no Judged@k)": with_pytrec_eval,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--results", type=int, default=1_000)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--side", choices=SIDES)
    options = parser.parse_args()
    if options.side:
        SIDES[options.side](options.queries, options.results)
        return 0
    size = ["--queries", str(options.queries), "--results", str(options.results)]
    found = {}
    for side in SIDES:
        command = [sys.executable, __file__, *size, "--side", side]
        found[side] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    base, ours = found["ir_measures"]["seconds"], found["fold and measure"]
    agree = max(abs(said["mrr"] - ours["mrr"]) for said in found.values()) <= 1e-9
    passed = agree and ours["seconds"] <= LIMIT * base
    if options.json:
        print(json.dumps({"sides": found, "limit": LIMIT, "agree": agree, "passed": passed}))
        return 0 if passed else 1
    print(f"{options.queries} queries x {options.results} results\n")
    print("| side | CPU seconds | x ir_measures | MiB | MRR |\n|---|---|---|---|---|")
    for side, said in found.items():
        times = said["seconds"] / base
        print(f"| {side} | {said['seconds']:.2f} | {times:.2f} | {said['mib']:.0f} | {said['mrr']:.9f} |")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
