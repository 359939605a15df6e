"""Fold and measure many rankings, beside ir_measures and pytrec_eval called directly on rankings folded before.

    .venv/bin/python benchmarks/retrieval_scoring.py [--queries 10000] [--results 1000]

Each side runs in a process of its own and says its CPU seconds and its peak memory above that of its imports. The
direct sides hold the whole run as the nested dictionaries that both libraries take, which are made before their clock
starts; ours draws rankings of passages as it goes, and folding them is inside of its clock.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator

KS = (1, 3, 5, 10)
PASSAGES_A_SOURCE = 4
SOURCES = 20_000
LABELS = 20
LIMIT = 1.5


def names() -> list[str]:
    return [f"src/package/module_{number:05}.py" for number in range(SOURCES)]


def grades(queries: int) -> dict[str, dict[str, int]]:
    draw = random.Random("labels")
    listed = names()
    return {f"q{query}": {name: draw.randint(0, 3) for name in draw.sample(listed, LABELS)} for query in range(queries)}


def drawn(queries: int, results: int) -> Iterator[list[int]]:
    """Ids of passages, best first, of each query."""
    draw = random.Random("rankings")
    for _ in range(queries):
        yield draw.sample(range(1, SOURCES * PASSAGES_A_SOURCE + 1), results)


def folded(ids: list[int], listed: list[str]) -> dict[str, float]:
    sources = dict.fromkeys(listed[(number - 1) // PASSAGES_A_SOURCE] for number in ids)
    return dict(zip(sources, map(float, range(len(sources), 0, -1)), strict=True))


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def report(begun: float, before: float, checked: float) -> None:
    print(json.dumps({"seconds": time.process_time() - begun, "mib": peak_mib() - before, "checked": checked}))


def ours(queries: int, results: int) -> None:
    from runner.core.passages import Passage
    from runner.core.retrieval.rankings import PassageResult
    from runner.core.sources import SourceIds
    from runner.measure.retrieval.folding import Passages, fold
    from runner.measure.retrieval.measuring import measured

    listed = names()
    passages = Passages.of(
        (
            Passage(number + 1, listed[number // PASSAGES_A_SOURCE], 0, 1, "", "x")
            for number in range(SOURCES * PASSAGES_A_SOURCE)
        ),
        SourceIds.of(listed),
    )
    judged = grades(queries)
    drawing = 0.0

    def rankings() -> Iterator[tuple[str, tuple[str, ...]]]:
        nonlocal drawing
        source = drawn(queries, results)
        for query in range(queries):
            begun = time.process_time()
            made = [PassageResult.model_construct(id=number, score_e6=0) for number in next(source)]
            drawing += time.process_time() - begun
            yield f"q{query}", fold(made, passages)

    before, begun = peak_mib(), time.process_time()
    total = sum(values["RR"] for values in measured(rankings(), judged, KS))
    report(begun + drawing, before, total / 1e9 / queries)


def ir_measures(queries: int, results: int) -> None:
    import ir_measures as theirs

    before, listed, judged = peak_mib(), names(), grades(queries)
    run = {f"q{query}": folded(ids, listed) for query, ids in enumerate(drawn(queries, results))}
    cut = [measure @ k for measure in (theirs.R, theirs.P, theirs.nDCG, theirs.Judged) for k in KS]
    begun = time.process_time()
    total = sum(
        metric.value
        for metric in theirs.iter_calc([*cut, theirs.RR, theirs.AP], judged, run)
        if metric.measure == theirs.RR
    )
    report(begun, before, total / queries)


def pytrec_eval(queries: int, results: int) -> None:
    import pytrec_eval as theirs

    before, listed, judged = peak_mib(), names(), grades(queries)
    run = {f"q{query}": folded(ids, listed) for query, ids in enumerate(drawn(queries, results))}
    asked = {"map", "recip_rank", *(f"{name}_{k}" for name in ("recall", "P", "ndcg_cut") for k in KS)}
    begun = time.process_time()
    found = theirs.RelevanceEvaluator(judged, asked).evaluate(run)
    report(begun, before, sum(values["recip_rank"] for values in found.values()) / queries)


SIDES = {"ours": ours, "ir_measures": ir_measures, "pytrec_eval": pytrec_eval}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--results", type=int, default=1_000)
    parser.add_argument("--side", choices=SIDES)
    options = parser.parse_args()
    if options.side:
        SIDES[options.side](options.queries, options.results)
        return 0
    size = ["--queries", str(options.queries), "--results", str(options.results)]
    found = {
        side: json.loads(
            subprocess.run([sys.executable, __file__, *size, "--side", side], check=True, capture_output=True).stdout
        )
        for side in SIDES
    }
    print(f"{options.queries} queries x {options.results} results\n")
    print("| side | CPU seconds | x ir_measures | MiB above imports | MRR |\n|---|---|---|---|---|")
    base = found["ir_measures"]["seconds"]
    for side, said in found.items():
        print(
            f"| {side} | {said['seconds']:.2f} | {said['seconds'] / base:.2f} | {said['mib']:.0f} | {said['checked']:.9f} |"
        )
    agree = max(abs(said["checked"] - found["ours"]["checked"]) for said in found.values()) <= 1e-9
    return 0 if agree and found["ours"]["seconds"] <= LIMIT * base else 1


if __name__ == "__main__":
    sys.exit(main())
