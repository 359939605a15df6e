"""What we export gives our figures, whoever computes them; and what must hold of measures holds."""

from __future__ import annotations

import io

import ir_measures
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.core.passages import Passage
from runner.core.retrieval.rankings import Ranking
from runner.core.retrieval.trec import trec_qrels, trec_run
from runner.core.rounding import rounded_quotient
from runner.core.sources import SourceIds
from runner.measure.retrieval.folding import Passages, fold
from runner.measure.retrieval.measuring import measure_names, measured

KS = (1, 3)
PATHS = [f"src/m{number}.py" for number in range(8)] + ["ä b.md", "A", "Z", "z%"]
PASSAGES = [Passage(number + 1, PATHS[number % len(PATHS)], number, number + 1, "", "x") for number in range(40)]
CORPUS = Passages.of(PASSAGES, SourceIds.of(PATHS))
NAMES = sorted(CORPUS.sources.paths)

grades = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 3), min_size=1).filter(
    lambda judged: max(judged.values()) > 0
)
# Passages 41 to 44 aren't of the corpus; equal scores are what ties are made of.
rankings = st.lists(st.tuples(st.integers(1, 44), st.integers(0, 2)), max_size=30, unique_by=lambda pair: pair[0])
sets = st.lists(st.tuples(grades, rankings), min_size=1, max_size=6)


def _folded(drawn: list[tuple[int, int]]) -> tuple[str, ...]:
    ordered = sorted(drawn, key=lambda pair: (-pair[1], pair[0]))
    ids, scores = tuple(number for number, _ in ordered), tuple(score for _, score in ordered)
    ranking = Ranking(trial="t", task="h", query="q", passages=ids, scores_e6=scores, unmapped=0, error="")
    assert ranking.is_in_order
    return fold(ranking, CORPUS).sources


@given(sets)
@settings(max_examples=150, deadline=None)
def test_exported_files_give_our_figures(drawn: list[tuple[dict[str, int], list[tuple[int, int]]]]) -> None:
    """`ir_measures` and `pytrec_eval` read run and qrels and come to ours, to 1e-9, for each query and on average."""
    judged = {f"q{number}": grade for number, (grade, _) in enumerate(drawn)}
    folded = [(f"q{number}", _folded(ranking)) for number, (_, ranking) in enumerate(drawn)]
    ours = dict(zip(judged, measured(folded, judged, KS), strict=True))
    run, qrels = b"".join(trec_run(folded, "x")).decode(), trec_qrels(judged).decode()

    measures = [ir_measures.R @ k for k in KS] + [ir_measures.P @ k for k in KS] + [ir_measures.nDCG @ k for k in KS]
    measures += [ir_measures.RR, ir_measures.AP, *(ir_measures.Judged @ k for k in KS)]
    # What ir_measures exports says nothing of its types.
    judgements: list[ir_measures.Qrel] = list(ir_measures.read_trec_qrels(io.StringIO(qrels)))  # type: ignore[no-untyped-call]
    lines: list[ir_measures.ScoredDoc] = list(ir_measures.read_trec_run(io.StringIO(run)))  # type: ignore[no-untyped-call]
    found = ir_measures.calc(measures, judgements, lines)
    means = found.aggregated
    assert isinstance(means, dict)
    assert len(found.per_query) == len(measure_names(KS)) * len(judged)
    for metric in found.per_query:
        assert abs(ours[metric.query_id][str(metric.measure)] / 1e9 - metric.value) <= 1e-9
    for measure, value in means.items():
        mean = rounded_quotient(sum(values[str(measure)] for values in ours.values()), len(ours))
        assert abs(mean / 1e9 - value) <= 1.000001e-9

    theirs = {"R@3": "recall_3", "P@3": "P_3", "nDCG@3": "ndcg_cut_3", "RR": "recip_rank", "AP": "map"}
    evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(io.StringIO(qrels)), set(theirs.values()))
    evaluated = evaluator.evaluate(pytrec_eval.parse_run(io.StringIO(run)))
    # It leaves out queries without results.
    assert set(evaluated) == {query for query, sources in folded if sources}
    for query, values in evaluated.items():
        for mine, other in theirs.items():
            assert abs(ours[query][mine] / 1e9 - values[other]) <= 1e-9


@given(grades)
@settings(deadline=None)
def test_the_ideal_order_is_worth_one(judged: dict[str, int]) -> None:
    """Sources by falling grade have nDCG and RR 1 at every cut."""
    ideal = sorted(judged, key=lambda source: -judged[source])
    (found,) = measured([("q", ideal)], {"q": judged}, KS)
    assert {found[name] for name in ("nDCG@1", "nDCG@3", "RR")} == {1_000_000_000}


@given(grades, rankings)
@settings(deadline=None)
def test_measures_lie_between_nothing_and_one(judged: dict[str, int], drawn: list[tuple[int, int]]) -> None:
    """And recall never falls with the cut."""
    (found,) = measured([("q", _folded(drawn))], {"q": judged}, KS)
    assert all(0 <= value <= 1_000_000_000 for value in found.values())
    assert found["R@1"] <= found["R@3"]


@given(rankings)
def test_folding_keeps_first_places(drawn: list[tuple[int, int]]) -> None:
    """Every source stands once, in the order of its first passage, and unknown passages stand for themselves."""
    found = _folded(drawn)
    ordered = [number for number, _ in sorted(drawn, key=lambda pair: (-pair[1], pair[0]))]
    expected: list[str] = []
    for rank, number in enumerate(ordered, 1):
        name = CORPUS.sources.ids[PASSAGES[number - 1].source] if number <= 40 else f"%unmapped-{rank}"
        if name not in expected:
            expected.append(name)
    assert list(found) == expected
