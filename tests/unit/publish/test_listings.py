"""What page and terminal say beside the contrasts, in words and figures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from runner.core.gates import Gate
from runner.core.outcomes import Outcome
from runner.publish.listings import Listing, Listings
from runner.publish.report import render_report
from runner.summarize.summary import summarize
from tests.fakes.records import RunSpec, make_run

if TYPE_CHECKING:
    from runner.core.summary import Summary

NARROW = "\N{NARROW NO-BREAK SPACE}"
GATES = (
    Gate(name="cheaper", measure="cost_microusd", arm="memory", end="high", at_most="0.9"),
    Gate(name="finds", measure="references", arm="memory", figure="mean_difference", end="estimate", at_least="0.9"),
    Gate(name="thrifty", measure="memory_cost_microusd", arm="memory", end="low", at_most="1"),
)


def summary_of(spec: RunSpec, gates: tuple[Gate, ...] = ()) -> Summary:
    run = make_run(spec)
    return summarize(replace(run.context, gates=gates), run.plan, run.records, run.scores)


def captions(listings: tuple[Listing, ...]) -> list[str]:
    return [item.caption for item in listings]


TWO = summary_of(RunSpec(outcomes={"task-01.r1.memory": Outcome.INFRASTRUCTURE}), GATES)
THREE = summary_of(RunSpec(arms=("off", "memory", "other")))


def test_gates_say_what_must_hold_what_was_found_and_the_verdict() -> None:
    """Passed, failed, and not judged where a figure doesn't exist."""
    (gates,) = Listings(TWO).gates()
    assert [(line[0], line[1], line[3]) for line in gates.lines] == [
        (
            "cheaper",
            f"Cost at list price, memory: upper end of the ratio's 95{NARROW}% interval is at most 0.90",
            "passed",
        ),
        (
            "finds",
            f"Reference passages cited, memory: the difference of means is at least +90.0{NARROW}pp",
            "failed",
        ),
        (
            "thrifty",
            f"Cost of the memory's model requests, memory: lower end of the ratio's 95{NARROW}% interval is at most 1.00",
            "not judged",
        ),
    ]
    assert gates.lines[2][2] == "\N{EM DASH}"
    assert Listings(THREE).gates() == ()


def test_several_treatments_have_intervals_that_hold_together() -> None:
    """Two arms need none."""
    assert captions(Listings(TWO).of_view(TWO.views[0])) == ["How trials are distributed"]
    assert captions(Listings(THREE).of_view(THREE.views[0])) == [
        "How trials are distributed",
        f"95{NARROW}% intervals that hold for all treatments at once",
    ]


def test_what_could_be_seen_and_what_was_missed() -> None:
    """Of each headline measure; a whole run has no worst case."""
    detectable, worst = Listings(TWO).reach()
    assert detectable.lines[0][0] == "Cost at list price"
    assert detectable.lines[0][5:] == ("11.1 of 12", "tasks, repetitions")
    assert [line[2:4] for line in worst.lines] == [("0 of 24", "1 of 24")] * 4
    assert len(Listings(THREE).reach()) == 1


def test_conditions_are_listed() -> None:
    """Drift, caches, starts, versions."""
    drift, caches, starts, versions = Listings(TWO).conditions()
    assert len(drift.lines) == 4
    assert [line[:2] for line in caches.lines] == [("off", "1"), ("off", "2"), ("memory", "1"), ("memory", "2")]
    assert [line[0] for line in starts.lines] == ["off", "memory"]
    assert versions.lines[0] == ("off", "scripted-policy (fixture)", "2.1.332")


def test_every_line_has_a_cell_for_every_column() -> None:
    """A table that is torn would put figures below the wrong heading."""
    for summary in (TWO, THREE):
        texts = Listings(summary)
        for item in (*texts.gates(), *texts.of_view(summary.views[0]), *texts.reach(), *texts.conditions()):
            assert {len(line) for line in item.lines} == {len(item.columns)}


def test_the_page_holds_every_listing() -> None:
    """Captions of all of them, gates first."""
    page = render_report(TWO).decode("utf-8")
    texts = Listings(TWO)
    for caption in captions((*texts.gates(), *texts.of_view(TWO.views[0]), *texts.reach(), *texts.conditions())):
        assert f"<caption><span>{caption}</span></caption>" in page.replace("&#39;", "'")


def test_arms_that_may_not_be_compared_are_said_first() -> None:
    """Before any figure."""
    run = make_run(RunSpec())
    other = {r.trial: r.model_copy(update={"client_versions": ("9",)}) for r in run.records if r.arm == "memory"}
    changed = run.with_records(other)
    summary = summarize(changed.context, changed.plan, changed.records, changed.scores)
    page = render_report(summary).decode("utf-8")
    said = "The arms are not compared: the arms had different client versions (off: 2.1.332; memory: 9)."
    assert said in page
    assert page.index(said) < page.index("At a glance")
