"""Retrieval studies from their files to a sealed summary: what counts, what is checked, and what verification finds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from runner.core import layout
from runner.core.outcomes import Outcome
from runner.core.quantities import Measured, Unavailable
from runner.core.retrieval.section import Scope
from runner.pipeline.concluding import conclude, verify_run, write_report
from runner.pipeline.executing import run_study
from tests.fakes.pods import client, leave
from tests.fakes.retrieval import OTHER, PLAN, STUDY, answering, retrieval_study

if TYPE_CHECKING:
    from pathlib import Path

    from runner.core.retrieval.scores import RetrievalTotals
    from runner.core.summary import Check, Summary
    from tests.fakes.engine import Behaviour, Box, Exit, Script
    from tests.fakes.surroundings import Surroundings

GOOD = {"move": [PLAN, OTHER], "place": [OTHER, PLAN], "tall": []}
BAD = {"move": [OTHER], "place": [OTHER], "tall": [OTHER]}
GATE = """
[[gates]]
name = "floor"
measure = "{measure}"
arm = "{arm}"
figure = "{figure}"
end = "{end}"
{more}
"""


def ran(outside: Surroundings, arms: dict[str, Behaviour], study: str = STUDY) -> tuple[Path, Summary]:
    """The study ran, its arms answering as they do, and was concluded."""
    path = retrieval_study(outside, study)
    for arm, behaviour in arms.items():
        for repetition in (1, 2):
            for attempt in (1, 2):
                outside.pods.attempts[f"notes.r{repetition}.{arm}", attempt] = {"trial": behaviour}
    folder = run_study(outside.world, path).folder
    return folder, conclude(outside.files, folder)


def usual(outside: Surroundings, study: str = STUDY) -> tuple[Path, Summary]:
    return ran(outside, {"words": answering(BAD), "nearest": answering(GOOD)}, study)


def totals(summary: Summary, arm: str, **scope: str) -> RetrievalTotals:
    assert summary.retrieval is not None
    found = summary.retrieval.totals_of(Scope(**scope), arm)
    assert found is not None
    return found


def mean(found: RetrievalTotals, measure: str) -> object:
    return next(item.mean_e9 for item in found.measures if item.measure == measure)


def check(summary: Summary, name: str) -> Check:
    return next(item for item in summary.checks if item.name == name)


def test_figures_of_both_systems_are_in_the_summary(outside: Surroundings) -> None:
    """Means over the queries with an answer; the one without is counted apart."""
    _, summary = usual(outside)
    good, bad = totals(summary, "nearest"), totals(summary, "words")
    assert (good.queries, good.no_answer_queries, good.no_answer_abstained) == (2, 1, 1)
    assert (mean(good, "RR"), mean(good, "R@1"), mean(good, "R@2")) == (
        Measured(750_000_000),
        Measured(500_000_000),
        Measured(1_000_000_000),
    )
    assert (mean(bad, "RR"), bad.no_answer_abstained, bad.results) == (Measured(0), 0, 3)
    assert mean(totals(summary, "nearest", kind="paraphrase"), "RR") == Measured(500_000_000)
    assert mean(totals(summary, "nearest", task="notes", split="development"), "RR") == Measured(1_000_000_000)
    assert summary.retrieval is not None
    assert summary.retrieval.headline == ("nDCG@2", "R@2", "RR")


def test_a_study_without_a_model_has_no_measures_of_one(outside: Surroundings) -> None:
    """Nothing says that tokens or costs were 0; why there are none is said once."""
    _, summary = usual(outside)
    assert [measure.name for measure in summary.measures] == ["wall_ms"]
    assert {row.measure for row in summary.views[0].totals} == {"wall_ms"}
    assert (summary.spend, summary.models, summary.cache_warmth, summary.inert) == ((), (), (), ())
    reasons = [item for item in summary.not_checked if item.name == "tokens, cost, turns and answers"]
    assert len(reasons) == 1
    assert (summary.evidence, summary.model.mode, summary.model.shown) == ("measurement", "none", "none")


def test_everything_computed_is_verified_byte_for_byte(outside: Surroundings) -> None:
    """A changed byte of any document, input or file of the field is named."""
    folder, summary = usual(outside)
    write_report(outside.files, folder)
    assert verify_run(outside.files, folder, outside.world.harness).differences == ()
    assert summary.retrieval is not None
    named = {item.name for item in summary.retrieval.documents}
    assert named == {
        layout.RANKINGS,
        layout.LATENCIES,
        layout.RETRIEVAL,
        "retrieval/notes.qrels",
        *(f"retrieval/notes.r{number}.{arm}.run" for number in (1, 2) for arm in ("words", "nearest")),
    }
    kept = dict(outside.files.held)
    for name in (*named, layout.passages("notes"), layout.query_set("notes")):
        data = bytearray(kept[folder / name])
        data[len(data) // 2] ^= 1
        outside.files.held = {**kept, folder / name: bytes(data)}
        found = verify_run(outside.files, folder, outside.world.harness)
        assert name in {problem.document.partition(" line ")[0] for problem in found.differences}, name
        outside.files.held = {path: data for path, data in kept.items() if path != folder / name}
        assert not verify_run(outside.files, folder, outside.world.harness).holds, name


def test_a_file_that_nothing_gives_is_named(outside: Surroundings) -> None:
    """Another run among the files of the field would be scored by whoever reads them all."""
    folder, _ = usual(outside)
    outside.files.write(folder / "retrieval" / "better.run", b"move Q0 notes/plan.md 1 1 better\n")
    (problem,) = verify_run(outside.files, folder, outside.world.harness).differences
    assert problem.document == "retrieval/better.run"


def test_the_files_of_the_field_say_the_rankings(outside: Surroundings) -> None:
    """Sources once, best first, under the names that the qrels have; no query without an answer is judged."""
    folder, _ = usual(outside)
    assert outside.files.read(folder / "retrieval/notes.r1.nearest.run") == (
        b"move Q0 notes/plan.md 1 2 nearest\nmove Q0 notes/deep/other.md 2 1 nearest\n"
        b"place Q0 notes/deep/other.md 1 2 nearest\nplace Q0 notes/plan.md 2 1 nearest\n"
    )
    assert outside.files.read(folder / "retrieval/notes.qrels") == (
        b"move 0 notes/plan.md 3\nplace 0 notes/plan.md 2\n"
    )


def test_labels_kinds_and_splits_enter_no_container(outside: Surroundings) -> None:
    """Whatever any container of the run was given, its `/in` holds no label, kind, split or tag."""
    given: dict[str, bytes] = {}

    def watched(role: str, inner: Behaviour) -> Behaviour:
        def behave(box: Box) -> int | Exit | Script:
            given.update({f"{role} {len(given)} {name}": box.read(f"/in/{name}") for name in box.names("/in")})
            return inner(box)

        return behave

    outside.pods.roles = {role: watched(role, inner) for role, inner in outside.pods.roles.items()}
    ran(outside, {arm: watched("trial", answering(GOOD)) for arm in ("words", "nearest")})
    assert any(name.endswith("retrieval.json") for name in given)
    for name, data in given.items():
        for secret in (b"no_answer", b"paraphrase", b"literal", b"holdout", b"grade", b"a-secret-tag", b"questions"):
            assert secret not in data, (name, secret)


def test_rankings_that_differ_between_repetitions_are_a_finding(outside: Surroundings) -> None:
    """The check fails, the trial is named, and the figures are those of the first repetition."""
    path = retrieval_study(outside)
    other = answering({**GOOD, "place": [PLAN, OTHER]})
    for trial, behaviour in (
        ("notes.r1.words", answering(BAD)),
        ("notes.r2.words", answering(BAD)),
        ("notes.r1.nearest", answering(GOOD)),
        ("notes.r2.nearest", other),
    ):
        outside.pods.attempts[trial, 1] = {"trial": behaviour}
    folder = run_study(outside.world, path).folder
    summary = conclude(outside.files, folder)
    assert not check(summary, "rankings repeat").passed
    assert check(summary, "rankings repeat").failed == ("notes.r2.nearest: place",)
    (group,) = (item for item in summary.findings if item.kind == "rankings_differ")
    assert (group.count, group.trials) == (1, ("notes.r2.nearest",))
    assert mean(totals(summary, "nearest"), "RR") == Measured(750_000_000)


def test_one_repetition_says_that_nothing_was_repeated(outside: Surroundings) -> None:
    """What wasn't compared isn't shown as passing."""
    _, summary = usual(outside, STUDY.replace("repetitions = 2", "repetitions = 1"))
    assert "rankings repeat" not in {item.name for item in summary.checks}
    assert "rankings repeat" in {item.name for item in summary.not_checked}


def test_the_queries_of_a_failed_trial_stay_in_every_denominator(outside: Surroundings) -> None:
    """A system that breaks down on a whole set has found nothing of it; its control stays as it is."""
    one = STUDY.replace("repetitions = 2", "repetitions = 1")
    broken = client(b"", exit_code=1)
    _, summary = ran(outside, {"words": answering(GOOD), "nearest": broken}, one)
    assert {row.arm: row.outcome for row in summary.census.rows}["nearest"] is Outcome.CLIENT_ERROR
    found = totals(summary, "nearest")
    assert (found.queries, found.failed, found.empty, mean(found, "RR")) == (2, 3, 2, Measured(0))
    assert found.no_answer_abstained == 0
    assert mean(totals(summary, "words"), "RR") == Measured(750_000_000)
    assert not check(summary, "every query answered").passed


def test_a_block_in_which_every_system_completed_counts_first(outside: Surroundings) -> None:
    """A failure of the first repetition leaves the figures to the second, and stays in the census."""
    path = retrieval_study(outside)
    outside.pods.attempts["notes.r1.nearest", 1] = {"trial": client(b"", exit_code=1)}
    outside.pods.attempts["notes.r2.nearest", 1] = {"trial": answering(GOOD)}
    for number in (1, 2):
        outside.pods.attempts[f"notes.r{number}.words", 1] = {"trial": answering(BAD)}
    summary = conclude(outside.files, run_study(outside.world, path).folder)
    assert summary.retrieval is not None
    assert [item.block for item in summary.retrieval.sets] == ["notes.r2"]
    assert totals(summary, "nearest").failed == 0


def test_a_set_that_no_block_counts_has_no_figure(outside: Surroundings) -> None:
    """An arm that never ran for reasons of the machine says nothing; the set is named as not looked at.

    A gate whose figure is missing isn't passed by that.
    """
    gate = GATE.format(measure="RR", arm="nearest", figure="value", end="estimate", more='at_least = "0"')
    one = STUDY.replace("repetitions = 2", "repetitions = 1") + gate

    def lost(_: Box) -> int:
        return 1

    path = retrieval_study(outside, one)
    outside.pods.attempts["notes.r1.words", 1] = {"trial": answering(GOOD)}
    for attempt in (1, 2):
        outside.pods.attempts["notes.r1.nearest", attempt] = {"gateway": lost}
    summary = conclude(outside.files, run_study(outside.world, path).folder)
    assert summary.retrieval is not None
    assert [item.block for item in summary.retrieval.sets] == [""]
    assert (summary.retrieval.totals, summary.retrieval.contrasts, summary.retrieval.rows) == ((), (), ())
    assert "rankings of notes" in {item.name for item in summary.not_checked}
    (judged,) = summary.gates
    assert judged.verdict == "not_judged"
    assert isinstance(judged.found_scaled, Unavailable)


def test_answers_to_other_queries_are_no_answers(outside: Surroundings) -> None:
    """Output that is whole, and of somebody else's queries, leaves every query failed."""

    def renamed(events: list[dict[str, Any]]) -> None:
        events[1]["query"] = "another"

    _, summary = ran(outside, {"words": answering(BAD), "nearest": answering(GOOD, renamed)})
    assert totals(summary, "nearest").failed == 3
    assert not check(summary, "every query answered").passed


def test_a_program_that_searches_otherwise_is_named(outside: Surroundings) -> None:
    """With other threads than the study declares."""

    def hurried(events: list[dict[str, Any]]) -> None:
        events[0]["threads"] = 2

    _, summary = ran(outside, {"words": answering(BAD), "nearest": answering(GOOD, hurried)})
    failed = check(summary, "searched as declared").failed
    assert failed == (
        "notes.r1.nearest attempt 1: depth 20, threads 2",
        "notes.r2.nearest attempt 1: depth 20, threads 2",
    )


@pytest.mark.parametrize(
    ("gate", "found", "verdict"),
    [
        (("R@2", "nearest", "value", "estimate", 'at_least = "1"'), Measured(10**9), "passed"),
        (("R@2", "words", "value", "estimate", 'at_least = "0.5"'), Measured(0), "failed"),
        (
            ("RR", "nearest", "value", "estimate", 'at_least = "0.6"\nkind = "paraphrase"'),
            Measured(5 * 10**8),
            "failed",
        ),
        (
            ("RR", "nearest", "value", "estimate", 'at_least = "1"\nset = "notes"\nsplit = "development"'),
            Measured(10**9),
            "passed",
        ),
        (("P@1", "nearest", "mean_difference", "estimate", 'at_least = "0.5"'), Measured(5 * 10**8), "passed"),
        (("violations", "nearest", "value", "estimate", 'at_most = "0"'), Measured(0), "passed"),
        (("failed_queries", "words", "value", "estimate", 'at_most = "0"'), Measured(0), "passed"),
        (("abstention", "words", "value", "estimate", 'at_least = "0.5"'), Measured(0), "failed"),
        (("latency_p50_us", "nearest", "value", "estimate", 'at_most = "211"'), Measured(211), "passed"),
        (("latency_p95_us", "nearest", "value", "estimate", 'at_most = "300"'), Measured(311), "failed"),
    ],
)
def test_gates_name_measures_of_rankings(
    outside: Surroundings, gate: tuple[str, ...], found: Measured[int], verdict: str
) -> None:
    """Of one system or against the control; of all queries, a set, a split or a kind."""
    text = GATE.format(**dict(zip(("measure", "arm", "figure", "end", "more"), gate, strict=True)))
    _, summary = usual(outside, STUDY + text)
    (judged,) = summary.gates
    assert judged.verdict == verdict
    assert judged.found_scaled == found


def test_latencies_are_of_every_repetition(outside: Surroundings) -> None:
    """And those of answers with a relevant source stand apart."""
    _, summary = usual(outside)
    assert summary.retrieval is not None
    (found,) = (item for item in summary.retrieval.latencies if (item.task, item.arm) == ("notes", "nearest"))
    assert (found.trials, found.total.queries) == (2, 6)
    assert (found.total.p50_us, found.total.highest_us) == (Measured(211), Measured(311))
    assert (found.first_relevant.queries, found.first_relevant.highest_us) == (4, Measured(211))


def test_rankings_hold_no_time(outside: Surroundings) -> None:
    """So that two runs of one system give the same bytes."""
    folder, _ = usual(outside)
    line = json.loads((outside.files.read(folder / layout.RANKINGS) or b"").splitlines()[0])
    assert not [key for key in line if key.endswith(("_us", "_ms", "_ns"))]


def test_a_run_that_another_left_unfinished_is_not_taken_for_whole(outside: Surroundings) -> None:
    """A trial whose output stops in the middle has answered no query."""

    def cut(box: Box) -> int:
        leave(box, b'{"type":"start"}\n', exit_code=1)
        return 0

    one = STUDY.replace("repetitions = 2", "repetitions = 1")
    _, summary = ran(outside, {"words": answering(GOOD), "nearest": cut}, one)
    assert totals(summary, "nearest").failed == 3


def test_results_of_no_source_are_a_finding_of_their_trials(outside: Surroundings) -> None:
    """Also those that name what the corpus doesn't have, which only the host can tell."""
    _, summary = ran(outside, {"words": answering({**GOOD, "move": [99, PLAN, 98]}), "nearest": answering(GOOD)})
    (found,) = (item for item in summary.findings if item.kind == "results_unmapped")
    assert (found.count, found.trials) == (4, ("notes.r1.words", "notes.r2.words"))
    assert found.example == "2 results of a trial lead to no source"
    assert (totals(summary, "words").unmapped, totals(summary, "nearest").unmapped) == (2, 0)


def test_a_query_without_a_split_is_of_development(outside: Surroundings) -> None:
    """In the summary's rows as in its scopes."""
    _, summary = usual(outside)
    assert summary.retrieval is not None
    assert [(row.query, row.split) for row in summary.retrieval.rows] == [
        ("move", "development"),
        ("place", "holdout"),
        ("tall", "holdout"),
    ]
    assert totals(summary, "words", split="development").queries == 1
