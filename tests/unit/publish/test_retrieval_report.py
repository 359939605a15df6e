"""The retrieval part of a report: what it says of systems, boundaries, times and each query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from runner.cli.tables import render_summary
from runner.core.quantities import Measured
from runner.pipeline.concluding import conclude
from runner.pipeline.executing import run_study
from runner.publish.headlines import failed_checks
from runner.publish.report import render_report
from runner.publish.retrieval import Retrieval, label_of
from tests.fakes.retrieval import OTHER, PLAN, QUERIES, STUDY, answering, retrieval_study

if TYPE_CHECKING:
    from runner.core.summary import Summary
    from tests.fakes.surroundings import Surroundings

SCOPE = """
[[scopes]]
include = ["notes/deep/*"]
status = "deleted"
"""
GATE = """
[[gates]]
name = "nothing-deleted"
measure = "deleted"
arm = "words"
figure = "value"
end = "estimate"
set = "notes"
at_most = "0"
"""


@pytest.fixture
def summary(outside: Surroundings) -> Summary:
    """Two systems, one of which returns a deleted note for every query, and fails on one."""
    path = retrieval_study(outside, STUDY + GATE)
    corpus = path.parent.parent / "notes" / "corpus.toml"
    outside.files.put(corpus, (outside.files.read(corpus) or b"").decode() + SCOPE)
    _freeze(outside)

    def failing(events: list[dict[str, Any]]) -> None:
        events[2] |= {"results": [], "error": "no vector <script>", "embed_us": None}

    for number in (1, 2):
        outside.pods.attempts[f"notes.r{number}.words", 1] = {
            "trial": answering({"move": [OTHER, PLAN], "place": [], "tall": [OTHER]}, failing)
        }
        outside.pods.attempts[f"notes.r{number}.nearest", 1] = {"trial": answering({"move": [PLAN], "place": [PLAN]})}
    return conclude(outside.files, run_study(outside.world, path).folder)


def _freeze(outside: Surroundings) -> None:
    from pathlib import Path  # noqa: PLC0415

    from runner.pipeline.freezing import freeze_corpus, freeze_queries  # noqa: PLC0415

    freeze_corpus(outside.world, Path("/studies/notes/corpus.toml"))
    freeze_queries(outside.world, Path("/studies/demo/set/queryset.toml"))


def texts(summary: Summary) -> Retrieval:
    assert summary.retrieval is not None
    return Retrieval(summary, summary.retrieval)


def test_the_first_sentences_are_of_rankings(summary: Summary) -> None:
    """Each system against the control, and what was returned that may not be."""
    compared = "nearest had a mean nDCG@2 of 1.000, words of 0.315: +0.685 over 2 queries of 1 query set"
    assert list(texts(summary).headlines()) == [
        f"{compared}; no interval: 2 queries; an interval needs at least 6.",
        "words returned 2 results that it may not, for 2 of 3 queries.",
        "words failed on 1 of 3 queries.",
    ]


def test_the_reason_for_no_interval_stands_once_below(summary: Summary) -> None:
    """Not in every line of the table, which says which reason it is."""
    (drawn,) = texts(summary).contrasts()
    assert {line.texts[1] for _, lines in drawn.groups for line in lines} == {"none (1)", "none (2)"}
    assert drawn.note.endswith(
        ". No interval (1): 2 queries; an interval needs at least 6. "
        "No interval (2): 1 query; an interval needs at least 6."
    )


def test_a_joint_interval_says_for_how_many_it_holds(summary: Summary) -> None:
    """Where another treatment has none; reasons that differ are numbered."""
    assert summary.retrieval is not None
    section = summary.retrieval
    first = section.contrasts[0]
    low, high = Measured(100_000_000), Measured(200_000_000)
    known = first.model_copy(
        update={
            "arm": "other",
            "contrast": first.contrast.model_copy(update={"low_e9": low, "high_e9": high}),
            "together_low_e9": low,
            "together_high_e9": high,
        }
    )
    other = section.systems[1].model_copy(update={"arm": "other"})
    changed = section.model_copy(update={"systems": (*section.systems, other), "contrasts": (first, known)})
    found = Retrieval(summary, changed)
    (drawn,) = found.contrasts()
    assert [line.texts[1:3] for _, lines in drawn.groups for line in lines] == [
        ("none", "none"),
        ("+0.100 to +0.200", "+0.100 to +0.200 (1 of 2)"),
    ]
    assert "or +0.100 to +0.200 for the 1 of 2 that have one" in list(found.headlines())[1]


def test_columns_that_say_nothing_are_not_there(summary: Summary) -> None:
    """Failures and violations have their columns, for there are some."""
    (table,) = texts(summary).totals()
    assert [column.heading for column in table.columns] == [
        *("System", "nDCG@2", "R@2", "RR", "AP", "P@2", "Judged@2", "n, with an answer"),
        *("Failed, of all asked", "Nothing found", "Abstained", "Violations"),
    ]
    assert table.groups[0].lines[0] == (
        *("words", "0.315", "0.500", "0.250", "0.250", "0.250", "0.250", "2", "1 of 3", "1", "0 of 1", "2"),
    )
    assert table.note.startswith(
        "Means of each query's value, over the n queries that have an answer; "
        "failed: queries that the system didn't answer, of all that it was asked; "
    )
    assert table.note.endswith("; every result leads to a source.")


def test_every_query_has_its_line(summary: Summary) -> None:
    """Rank and value of each system, marks for what it may not return, and failures by their name."""
    (table,) = texts(summary).queries()
    assert table.heading == "notes: 3 of 3 queries"
    assert table.listing.lines == (
        ("Where do we move?", "development", "2 · 0.631 !1", "1 · 1.000"),
        ("Which town is next?", "holdout", "failed", "1 · 1.000"),
        ("How tall is it?", "holdout", "answered !1", "abstained"),
    )


def test_violations_are_told_by_kind(summary: Summary) -> None:
    """Of all sets; of each by itself only where there are several."""
    (table,) = texts(summary).boundaries()
    assert table.lines == (("all", "words", "0", "2", "0", "0", "2 of 3"),)


def test_one_set_is_told_once(summary: Summary) -> None:
    """Its figures are those of all sets."""
    (table,) = texts(summary).overview()
    assert [line[0] for line in table.lines if line[0]] == [
        *("All", "Queries in the words of their answer", "Paraphrased queries"),
        *("Split development", "Split holdout"),
    ]


def test_results_of_no_source_have_a_column(summary: Summary) -> None:
    """And a sentence, of all results."""
    assert summary.retrieval is not None
    lost = tuple(
        item.model_copy(update={"totals": item.totals.model_copy(update={"unmapped": 1})})
        if item.arm == "words"
        else item
        for item in summary.retrieval.totals
    )
    found = Retrieval(summary, summary.retrieval.model_copy(update={"totals": lost}))
    (table,) = found.totals()
    assert table.columns[-1].heading == "No source"
    assert [line[-1] for line in table.groups[0].lines] == ["1 of 3", "0 of 2"]
    assert "words returned results that lead to no source: 1 of 3 results." in list(found.headlines())


def test_the_curve_has_a_line_for_each_system(summary: Summary) -> None:
    """From the first cut to the last; heights count down from the top."""
    curve = texts(summary).curve()
    assert curve is not None
    assert [(arm, [point.y for point in points]) for arm, points in curve.lines] == [
        ("words", [210, 110]),
        ("nearest", [10, 10]),
    ]
    assert [tick.label for tick in curve.ticks] == ["1", "2"]


def test_the_page_shows_gates_and_no_zero_of_a_model(summary: Summary) -> None:
    """What a query's text or an error holds is inert; nothing is said to have cost $0."""
    page = render_report(summary).decode("utf-8")
    assert "deleted of words, notes is at most 0" in page
    assert "no vector <script>" not in page
    assert "$0" not in page
    assert "Tokens" not in page
    assert page.count("A retrieval study has no model") == 1
    assert page.count("<details>") == 1
    assert all(query["text"] in page for query in QUERIES)
    assert 'class="arm1"' in page


def test_the_terminal_prints_the_systems(summary: Summary) -> None:
    """With the figures of the page."""
    console = Console(record=True, width=140, highlight=False)
    render_summary(summary, console)
    said = console.export_text()
    assert "evidence: measurement — of rankings; there is no model." in said
    assert "nearest" in said
    assert "0.315" in said
    assert "What an answer took, of all trials that completed" in said


def test_failed_checks_have_a_line_each(summary: Summary) -> None:
    """What a command ends with, for a check that fails ends no run."""
    assert failed_checks(summary) == (
        "check failed: boundaries kept: words, notes: 2 deleted, in 2 of 3 queries",
        "check failed: every query answered: words, notes: 1 of 3",
    )


@pytest.mark.parametrize(
    ("measure", "label"),
    [
        ("R@10", "Recall@10"),
        ("RR", "Reciprocal rank"),
        ("nDCG@5", "nDCG@5"),
        ("foreign_workspace", "foreign workspace"),
    ],
)
def test_measures_have_names_in_words(measure: str, label: str) -> None:
    """Where a sentence names them."""
    assert label_of(measure) == label
