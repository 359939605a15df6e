"""What page and terminal say beside the contrasts, in words and figures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from runner.core.gates import Gate
from runner.core.outcomes import Outcome
from runner.core.quantities import Measured, Unavailable
from runner.core.records import Finding
from runner.publish.accounts import Accounts
from runner.publish.conditions import Conditions
from runner.publish.evidence import Evidence
from runner.publish.listing import Listing, figures, grouped, listing, words
from runner.publish.origins import made_from
from runner.publish.page import PageTexts
from runner.publish.report import render_report
from runner.summarize.summary import summarize
from tests.fakes.records import RunSpec, make_run

if TYPE_CHECKING:
    from runner.core.summary import Summary
    from runner.publish.listing import Cell

NARROW = "\N{NARROW NO-BREAK SPACE}"
DASH = "\N{EM DASH}"
GATES = (
    Gate(name="cheaper", measure="cost_microusd", arm="memory", end="high", at_most="0.9"),
    Gate(name="finds", measure="references", arm="memory", figure="mean_difference", end="estimate", at_least="0.9"),
    Gate(name="thrifty", measure="memory_cost_microusd", arm="memory", end="low", at_most="1"),
    Gate(name="quick", measure="wall_ms", arm="memory", figure="median_difference", end="low", at_most="-10.5"),
)


def summary_of(spec: RunSpec, gates: tuple[Gate, ...] = ()) -> Summary:
    run = make_run(spec)
    return summarize(replace(run.context, gates=gates), run.plan, run.records, run.scores)


def captions(listings: tuple[Listing, ...]) -> list[str]:
    return [item.caption for item in listings]


def every_listing(summary: Summary) -> tuple[Listing, ...]:
    evidence, accounts, conditions = Evidence(summary), Accounts(summary), Conditions(summary)
    return (
        *evidence.gates(),
        *(item for view in PageTexts(summary).figures() for item in view.listings),
        *evidence.reach(),
        *accounts.arms(),
        *accounts.census(),
        *accounts.usage(),
        *conditions.conditions(),
        *conditions.findings(),
        *conditions.checks(),
        *made_from(summary),
    )


TWO = summary_of(
    RunSpec(
        outcomes={"task-01.r1.memory": Outcome.INFRASTRUCTURE, "task-02.r2.off": Outcome.TIMEOUT},
        retried=frozenset({"task-01.r1.memory"}),
        findings={"task-02.r2.off": (Finding(kind="cut", detail="it ended early"),)},
    ),
    GATES,
)
THREE = summary_of(RunSpec(arms=("off", "memory", "other")))


def spend_table(summary: Summary) -> Listing:
    (table,) = [item for item in Accounts(summary).usage() if item.caption.startswith("What all attempts used")]
    return table


def test_what_all_attempts_used_is_summed_up_over_the_arms() -> None:
    """Where nothing is capped nothing is said of caps."""
    table = spend_table(THREE)
    assert [line[0] for line in table.lines] == ["off", "memory", "other", "all arms"]
    assert [line[1] for line in table.lines] == ["24", "24", "24", "72"]
    assert "Counted by caps" not in [column.heading for column in table.columns]
    assert table.note == ""


def test_what_caps_counted_stands_beside_the_cost_and_says_why_it_is_more() -> None:
    """Arm by arm and together; an attempt of which nobody knows counts with its whole grant."""
    spend = THREE.spend
    capped = THREE.model_copy(
        update={
            "spend": (
                spend[0].model_copy(update={"cost_microusd": 900_000, "charged_microusd": Measured(1_234_567)}),
                spend[1].model_copy(update={"charged_microusd": Measured(0), "attempts_without_charge": 2}),
                spend[2].model_copy(update={"charged_microusd": Unavailable("no attempt was made")}),
            )
        }
    )
    table = spend_table(capped)
    assert [column.heading for column in table.columns][-1] == "Counted by caps"
    assert [line[-1] for line in table.lines] == [
        "$1.235",
        "$0 and the whole grant of 2 attempts",
        "",
        "$1.235 and the whole grant of 2 attempts",
    ]
    assert "an answer that was cut, or whose usage or price isn't known, at its worst case" in table.note


def test_what_is_missing_is_a_dash_and_its_reason_stands_below() -> None:
    """Once, however often it is missing; a group without lines, and a table without any, isn't shown."""
    columns = (*words("Arm"), *figures("Ratio", "Blocks"))
    lines: list[tuple[Cell, ...]] = [
        ("a", Unavailable("no block"), "0"),
        ("b", Unavailable("no block"), "0"),
        ("c", "1.00", "2"),
    ]
    (table,) = grouped("Ratios", columns, [("Cost", lines), ("Time", [])], "Exact.")
    assert table.lines == (("a", DASH, "0"), ("b", DASH, "0"), ("c", "1.00", "2"))
    assert [group.heading for group in table.groups] == ["Cost"]
    assert table.note == f"Exact. {DASH} no block."
    assert listing("Ratios", columns, []) == ()


def test_a_column_that_says_nothing_is_not_shown() -> None:
    """Nothing else was left out, no check failed: an empty column would only take space."""
    (table,) = listing("Checks", words("Check", "Where it doesn't", "Claim"), [("a", "", "x"), ("b", "", "y")])
    assert [column.heading for column in table.columns] == ["Check", "Claim"]
    assert table.lines == (("a", "x"), ("b", "y"))


def test_gates_say_what_must_hold_what_was_found_and_the_verdict() -> None:
    """Passed, failed, and not judged where a figure doesn't exist; thresholds and figures with every digit."""
    (gates,) = Evidence(TWO).gates()
    bound = f"at most \N{MINUS SIGN}10.5{NARROW}ms"
    end = f"end of the 95{NARROW}% interval of the"
    assert [(line[0], line[1], line[3]) for line in gates.lines] == [
        ("cheaper", "passed", f"Cost at list price, memory against off: the upper {end} ratio is at most 0.90"),
        (
            "finds",
            "failed",
            f"Reference passages cited, memory against off: the difference of means is at least +90.0{NARROW}pp",
        ),
        (
            "thrifty",
            "not judged",
            f"Cost of the memory's model requests, memory against off: the lower {end} ratio is at most 1.00",
        ),
        (
            "quick",
            "passed",
            f"Wall time, start-up included, memory against off: the lower {end} difference of medians is {bound}",
        ),
    ]
    assert gates.lines[2][2] == "none: the total of off is 0"
    assert {line[4] for line in gates.lines} == {"22 (12)"}
    assert Evidence(THREE).gates() == ()


def test_several_treatments_have_intervals_that_hold_together() -> None:
    """Two arms need none; the rule that widens them stands below."""
    assert captions(Evidence(TWO).of_view(TWO.views[0], "Complete blocks")) == [
        "Complete blocks: how the trials of each arm are distributed"
    ]
    quartiles, together = Evidence(THREE).of_view(THREE.views[0], "Complete blocks")
    assert quartiles.lines[0][-1] == "24"
    assert together.caption == f"Complete blocks: 95{NARROW}% intervals that hold for both treatments at once"
    assert together.note.startswith("Max-T over the treatments of one measure")
    assert together.lines[0][4] == "24 (12)"


def test_what_could_be_seen_and_what_was_missed() -> None:
    """Of each headline measure; a whole run has no worst case."""
    detectable, worst = Evidence(TWO).reach()
    assert detectable.lines[0][0] == "Cost at list price"
    assert detectable.lines[0][5:] == ("10.8 of 12", "tasks, repetitions")
    assert [line[2:4] for line in worst.lines] == [("1 of 24 blocks", "1 of 24 blocks")] * 4
    assert worst.lines[0][4:] == ("0 to any", "any")
    assert len(Evidence(THREE).reach()) == 1


def test_a_run_too_small_for_intervals_says_why_nothing_is_detectable() -> None:
    """Dashes, and the reason once."""
    (detectable,) = Evidence(summary_of(RunSpec(tasks=("a", "b"), repetitions=1))).reach()
    assert detectable.lines[0][2:] == (DASH, DASH, DASH, DASH, DASH)
    assert detectable.note.endswith(f"{DASH} 2 tasks with complete blocks; an interval needs at least 5.")


def test_a_difference_of_shares_beyond_all_is_called_impossible() -> None:
    """No run of this size sees any."""
    contrast = next(item for item in TWO.views[0].contrasts if item.measure == "references")
    wide = contrast.model_copy(update={"detectable_mean_difference_scaled": Measured(1_100_000)})
    assert Evidence(TWO).detectable_difference(wide) == "none there can be"


def test_conditions_are_listed() -> None:
    """Order, drift, caches, starts, versions."""
    order, drift, caches, starts, versions = Conditions(TWO).conditions()
    assert len(order.lines) == len(drift.lines) == 4
    assert order.lines[0][3:6:2] == ("12", "10")
    assert [line[:2] for line in caches.lines] == [("off", "1"), ("off", "2"), ("memory", "1"), ("memory", "2")]
    assert [line[0] for line in starts.lines] == ["off", "memory"]
    assert versions.lines[0] == ("off", "scripted-policy (fixture)", "2.1.332")


def test_an_incomplete_block_is_one_line() -> None:
    """How each arm of it ended, with its attempts, and why."""
    outcomes, tasks, blocks = Accounts(TWO).census()
    assert [line[0] for line in outcomes.lines] == ["completed", "timeout", "infrastructure"]
    assert outcomes.lines[1][-1] == "takes its block out; counts where failures are counted"
    assert tasks.lines[:2] == (("task-01", "2 of 2", "1 of 2 (1 other)"), ("task-02", "1 of 2 (1 failed)", "2 of 2"))
    assert blocks.caption == "Incomplete blocks: 2 of 24"
    assert sorted(blocks.lines) == [
        (
            "task-01.r1",
            "completed",
            "infrastructure (2 attempts)",
            "memory: The engine, the pod or a required server failed before the client could do its work.",
        ),
        ("task-02.r2", "timeout", "completed", "off: The deadline passed and the client was ended."),
    ]


def test_whether_the_memory_was_used() -> None:
    """All, some, and none that could have: nobody called it is no praise where nobody completed."""
    outcomes = {f"{task}.r1.memory": Outcome.TIMEOUT for task in ("a", "b")}
    nobody = summary_of(RunSpec(tasks=("a", "b"), repetitions=1, outcomes=outcomes))
    one = summary_of(RunSpec(tasks=("a",), repetitions=1))
    some = summary_of(RunSpec(inert=frozenset({"task-07.r1.memory"})))
    assert Conditions(nobody).inert() == ("Arm memory: no trial completed, so none could be looked at.",)
    assert Conditions(one).inert() == ("Arm memory: its one completed trial called the memory.",)
    assert Conditions(THREE).inert()[1] == "Arm other: all 24 completed trials called the memory."
    assert Conditions(some).inert() == (
        "Arm memory: 1 of 24 completed trials never called the memory: task-07.r1.memory.",
    )


def test_every_line_has_a_cell_for_every_column() -> None:
    """A table that is torn would put figures below the wrong heading."""
    for summary in (TWO, THREE):
        for item in every_listing(summary):
            assert {len(line) for line in item.lines} == {len(item.columns)}


def test_the_page_holds_every_listing() -> None:
    """Each under a caption that no other table has."""
    page = render_report(TWO).decode("utf-8").replace("&#39;", "'")
    found = captions(every_listing(TWO))
    assert len(set(found)) == len(found)
    for caption in found:
        assert page.count(f"<caption><span>{caption}</span></caption>") == 1


def test_arms_that_may_not_be_compared_are_said_first() -> None:
    """Before any figure; then nothing compares them, and the totals of each stand."""
    run = make_run(RunSpec())
    other = {r.trial: r.model_copy(update={"client_versions": ("9",)}) for r in run.records if r.arm == "memory"}
    changed = run.with_records(other)
    summary = summarize(changed.context, changed.plan, changed.records, changed.scores)
    page = render_report(summary).decode("utf-8")
    said = "The arms are not compared: the arms had different client versions (off: 2.1.332; memory: 9)."
    assert page.count(said) == 1
    assert page.index(said) < page.index("pooled totals")
    for comparison in ("At a glance", "against off", "minus off", "Order effect", "Drift", "True effects"):
        assert comparison not in page
