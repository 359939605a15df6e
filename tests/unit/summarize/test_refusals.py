from dataclasses import replace

import pytest

from runner.core.errors import EvidenceError
from runner.core.quantities import Measured, Unavailable
from runner.core.records import Record
from runner.core.summary import Exclusion
from runner.core.usage import TOKEN_CLASSES, ModelUsage
from runner.summarize.summary import summarize
from tests.fakes.records import RunSpec, make_run

RUN = make_run(RunSpec(tasks=("a",), repetitions=1))
FIRST, SECOND = RUN.records


def with_usage(record: Record, *usages: ModelUsage) -> Record:
    attempt = record.attempts[-1].model_copy(update={"observed": usages})
    return record.model_copy(update={"observed": usages, "attempts": (*record.attempts[:-1], attempt)})


def test_a_record_of_another_plan_is_refused() -> None:
    """A stranger's trial can't enter a total."""
    stranger = FIRST.model_copy(update={"trial": "z.r1.off"})
    with pytest.raises(EvidenceError, match=r"records\.jsonl: z\.r1\.off: the plan has no such trial"):
        summarize(RUN.context, RUN.plan, (*RUN.records, stranger), RUN.scores)


def test_a_trial_that_stands_twice_is_refused() -> None:
    """Neither of two records wins."""
    with pytest.raises(EvidenceError, match="stands twice"):
        summarize(RUN.context, RUN.plan, (*RUN.records, FIRST), RUN.scores)
    with pytest.raises(EvidenceError, match=r"scores\.jsonl: .*stands twice"):
        summarize(RUN.context, RUN.plan, RUN.records, (*RUN.scores, RUN.scores[0]))


def test_a_record_that_contradicts_the_plan_is_refused() -> None:
    """Swapping two arms' labels would turn the result round."""
    swapped = FIRST.model_copy(update={"arm": SECOND.arm})
    with pytest.raises(EvidenceError, match=f"arm is '{SECOND.arm}'; the plan says '{FIRST.arm}'"):
        summarize(RUN.context, RUN.plan, (swapped, SECOND), RUN.scores)


def test_a_fixture_cannot_be_published_as_a_measurement() -> None:
    """Records of the scripted policy under another mode are refused."""
    live = replace(RUN.context, model=replace(RUN.context.model, mode="live", policy=""))
    with pytest.raises(EvidenceError, match=r"model 'scripted-policy \(fixture\)' answered in mode 'live'"):
        summarize(live, RUN.plan, RUN.records, RUN.scores)


def test_a_scripted_run_cannot_name_a_real_model() -> None:
    """Nor can a fixture's records carry a provider's name."""
    usage = FIRST.observed[0].model_copy(update={"model": "claude-sonnet-4-5"})
    named = with_usage(FIRST, usage)
    with pytest.raises(EvidenceError, match="model 'claude-sonnet-4-5' answered in mode 'scripted'"):
        summarize(RUN.context, RUN.plan, (named, SECOND), RUN.scores)


def test_a_script_may_play_another_policy() -> None:
    """It says that it is a fixture, too; what isn't the price of the model that was asked is nobody's."""
    usage = FIRST.observed[0].model_copy(update={"model": "another-policy (fixture)"})
    named = with_usage(FIRST, usage)
    scores = [score for score in RUN.scores if score.trial != FIRST.trial]
    summary = summarize(RUN.context, RUN.plan, (named, SECOND), scores)
    assert [item.model for item in summary.models if item.model.startswith("another")] == ["another-policy (fixture)"]


def test_lost_exchanges_leave_no_complete_total_and_no_claim() -> None:
    """Usage of an unknown model that is wholly unavailable names nobody: the block leaves the totals, with the reason."""
    lost = Unavailable("lost from exchanges.jsonl: 1 exchange")
    unknown = FIRST.observed[0].model_copy(update={"model": "(unknown)", **dict.fromkeys(TOKEN_CLASSES, lost)})
    record = with_usage(FIRST, FIRST.observed[0], unknown)
    summary = summarize(RUN.context, RUN.plan, (record, SECOND), RUN.scores)
    tokens = next(row for row in summary.views[0].totals if row.measure == "total_tokens")
    assert tokens.excluded == (Exclusion(reason=f"{FIRST.arm}: {lost.reason}", blocks=1),)
    assert tokens.arms[0].total == Unavailable("no block has this measure in every arm")


def test_a_trial_that_contradicts_its_own_last_attempt_is_refused() -> None:
    """Two places of one record that disagree: neither is taken."""
    usage = FIRST.observed[0].model_copy(update={"input_tokens": Measured(1)})
    torn = FIRST.model_copy(update={"observed": (usage,)})
    with pytest.raises(EvidenceError, match="observed of the last attempt is not that of the trial"):
        summarize(RUN.context, RUN.plan, (torn, SECOND), ())


def test_scores_of_another_price_table_are_refused() -> None:
    """A cost that doesn't follow from usage and prices is never summed."""
    score = RUN.scores[0].model_copy(update={"cost_microusd": Measured(1)})
    with pytest.raises(EvidenceError, match="cost is 1 micro-dollars; the price table gives "):
        summarize(RUN.context, RUN.plan, RUN.records, (score, RUN.scores[1]))


def test_labels_that_differ_between_arms_are_refused() -> None:
    """Arms of one task are scored against the same labels."""
    score = RUN.scores[1].model_copy(update={"references_total": 4})
    with pytest.raises(EvidenceError, match="references is out of 4; another trial of the task says 3"):
        summarize(RUN.context, RUN.plan, RUN.records, (RUN.scores[0], score))


def test_arms_of_another_study_are_refused() -> None:
    """The lock and the plan must speak of the same arms."""
    other = replace(RUN.context, arms=RUN.context.arms[:1])
    with pytest.raises(EvidenceError, match=r"plan\.json: arms: the lock has the arms \['off'\]"):
        summarize(other, RUN.plan, RUN.records, RUN.scores)


def test_everything_that_is_wrong_is_said_at_once() -> None:
    """One message for two faults in two documents."""
    swapped = FIRST.model_copy(update={"position": 1 - FIRST.position})
    with pytest.raises(EvidenceError) as caught:
        summarize(RUN.context, RUN.plan, (swapped, SECOND), (*RUN.scores, RUN.scores[0]))
    assert [problem.document for problem in caught.value.problems] == ["scores.jsonl", "records.jsonl"]


@pytest.mark.parametrize(
    ("tokens", "said"),
    [(-1, "input_tokens is -1, which nothing can be"), (2**53, "input_tokens is 9007199254740992, which nothing")],
)
def test_absurd_usage_is_refused(tokens: int, said: str) -> None:
    """Less than nothing, or beyond what readers of JSON hold: a total would be wrong in silence."""
    usage = FIRST.observed[0].model_copy(update={"input_tokens": Measured(tokens)})
    with pytest.raises(EvidenceError, match=said):
        summarize(RUN.context, RUN.plan, (with_usage(FIRST, usage), SECOND), ())


def test_more_found_than_there_is_is_refused() -> None:
    """Four of three references."""
    score = RUN.scores[0].model_copy(update={"references_found": Measured(4)})
    with pytest.raises(EvidenceError, match=r"scores\.jsonl: .*: references is 4, out of 3"):
        summarize(RUN.context, RUN.plan, RUN.records, (score, RUN.scores[1]))


def test_a_clock_that_ran_backwards_is_refused() -> None:
    """A negative wall time never shortens a total."""
    timing = FIRST.timing.model_copy(update={"wall_ms": Measured(-5)})
    with pytest.raises(EvidenceError, match="wall_ms is -5"):
        summarize(RUN.context, RUN.plan, (FIRST.model_copy(update={"timing": timing}), SECOND), RUN.scores)
