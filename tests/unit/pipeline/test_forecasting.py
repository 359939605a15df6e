"""What a study may spend and take at most follows from its caps and limits alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from runner.core.prices import LIST_PRICES
from runner.core.quantities import Measured, Unavailable
from runner.core.study import Caps, CodexClient, CommandClient, LiveModel, MessagesClient, Schedule
from runner.pipeline.forecasting import Forecast, forecast_of
from runner.pipeline.locking import plan_study
from tests.fakes.surroundings import CLAUDE_STUDY

if TYPE_CHECKING:
    from tests.fakes.surroundings import Surroundings

NOT_CAPPED, NOTHING = Unavailable("not capped"), Unavailable("nothing is capped")


def forecast(outside: Surroundings, **changes: Any) -> Forecast:
    """Of two tasks, two repetitions and two arms: four blocks, eight trials of two attempts with 64 requests each."""
    planned = plan_study(outside.world, outside.study(CLAUDE_STUDY))
    return forecast_of(planned.study.model_copy(update=changes), planned.plan, LIST_PRICES)


def levels(found: Forecast) -> dict[str, tuple[object, ...]]:
    return {
        item.level: tuple(
            quantity.value if isinstance(quantity, Measured) else quantity.reason
            for quantity in (item.cap_microusd, item.worst_microusd)
        )
        for item in found.levels
    }


def test_what_nothing_caps_has_no_worst_case(outside: Surroundings) -> None:
    """No figure is made up for it."""
    found = forecast(outside)
    assert set(levels(found).values()) == {("not capped", "nothing is capped")}
    assert found.trials_covered == Unavailable("trials aren't capped")
    assert (found.smallest, found.smallest_unknown) == (None, "nothing says what one request may write at most")
    assert [(item.level, item.number) for item in found.levels] == [
        ("request", 1024),
        ("trial", 8),
        ("block", 4),
        ("study", 1),
    ]


@pytest.mark.parametrize(
    ("caps", "worst"),
    [
        # 64 requests, two attempts; two arms; four blocks.
        ({"request_microusd": 10}, (10, 1_280, 2_560, 10_240)),
        ({"trial_microusd": 500}, (500, 500, 1_000, 4_000)),
        ({"request_microusd": 1, "trial_microusd": 500}, (1, 128, 256, 1_024)),
        ({"trial_microusd": 500, "block_microusd": 700}, (500, 500, 700, 2_800)),
        ({"trial_microusd": 500, "study_microusd": 1_100}, (500, 500, 1_000, 1_100)),
        ({"trial_microusd": 500, "block_microusd": 300, "study_microusd": 200}, (200, 200, 200, 200)),
    ],
)
def test_the_worst_case_of_each_level_is_what_every_cap_allows(
    outside: Surroundings, caps: dict[str, int], worst: tuple[int, ...]
) -> None:
    """Its own, wider ones, and what it is made of."""
    found = forecast(outside, caps=Caps(**caps))
    assert (
        tuple(item.worst_microusd.value for item in found.levels if isinstance(item.worst_microusd, Measured)) == worst
    )
    assert {f"{item.level}_microusd": item.cap_microusd for item in found.levels} == {
        f"{level}_microusd": Measured(caps[f"{level}_microusd"]) if f"{level}_microusd" in caps else NOT_CAPPED
        for level in ("request", "trial", "block", "study")
    }


@pytest.mark.parametrize(
    ("caps", "covered"),
    [
        ({"trial_microusd": 500}, 8),
        ({"trial_microusd": 500, "block_microusd": 999}, 4),
        ({"trial_microusd": 500, "study_microusd": 1_750}, 3),
        ({"trial_microusd": 500, "block_microusd": 499}, 0),
        ({"trial_microusd": 0, "study_microusd": 0}, 8),
    ],
)
def test_trials_that_can_spend_all_of_their_cap_are_counted(
    outside: Surroundings, caps: dict[str, int], covered: int
) -> None:
    """A study's cap of three and a half trials covers three."""
    assert forecast(outside, caps=Caps(**caps)).trials_covered == Measured(covered)


def test_the_smallest_request_is_the_one_of_the_shortest_trial(outside: Surroundings) -> None:
    """`And then?` in the first arm: 28,000 bytes of the client, 9 of the prompt, 1 for rounding, 4,000 hidden."""
    found = forecast(outside, caps=Caps(trial_microusd=10**6, output_tokens=1000)).smallest
    assert found is not None
    assert (found.task, found.arm, found.input_tokens, found.output_tokens) == ("second", "off", 32_010, 1_000)
    # 32,010 at 3.75 dollars per million and 1,000 at 15, and a tenth more.
    assert found.worst_microusd == 148_542


@pytest.mark.parametrize(
    ("client", "told", "words"),
    [
        (CodexClient(kind="codex", model="gpt-6.1-sol"), False, "codex can't be told"),
        (CommandClient(kind="command", command=("a",)), True, "whether it obeys is its own affair"),
        (MessagesClient(kind="messages", model="claude-sonnet-4-5"), True, "told to messages by its configuration"),
    ],
)
def test_the_plan_says_how_the_client_learns_of_its_limit(
    outside: Surroundings, client: Any, told: object, words: str
) -> None:
    """Or that it can't."""
    found = forecast(outside, client=client, caps=Caps(trial_microusd=10**6, output_tokens=1000)).output
    assert (found.tokens, found.told) == (Measured(1000), told)
    assert words in found.said


def test_a_client_that_nobody_limits_keeps_its_own_default(outside: Surroundings) -> None:
    """Nothing is told, and nothing is declared."""
    found = forecast(outside).output
    assert (found.tokens, found.told) == (Unavailable("nothing declares it"), False)


def test_only_requests_that_go_out_are_billed(outside: Surroundings) -> None:
    """A policy and a cassette cost nothing."""
    assert not forecast(outside).billed
    assert forecast(outside, model=LiveModel(mode="live", base_url="https://api.example")).billed


@pytest.mark.parametrize(
    ("schedule", "at_once", "study_s"),
    [
        # A trial: 15 s until ready, 120 s, 5 s of grace; four blocks of two arms, one of which embeds.
        ({}, Measured(1), 1_120),
        ({"slots": 2}, Measured(2), 560),
        ({"slots": 3}, Measured(3), 560),
        ({"slots": 4, "embedders": 4}, Measured(4), 280),
        ({"slots": 4, "embedders": 1}, Measured(4), 560),
        ({"slots": "auto"}, Unavailable("slots is auto: the engine decides, and one at a time is counted"), 1_120),
    ],
)
def test_the_time_is_that_of_all_trials_at_their_limits(
    outside: Surroundings, schedule: dict[str, Any], at_once: object, study_s: int
) -> None:
    """A slot takes whole blocks, whose arms follow one another; so many trials embed at once and no more."""
    found = forecast(outside, schedule=Schedule(**schedule)).time
    assert (found.trial_s, found.at_once, found.study_s) == (140, at_once, study_s)


def test_the_source_of_the_price_is_that_of_the_model(outside: Surroundings) -> None:
    """Where a model has none of its own, the table's."""
    assert forecast(outside).prices_source == "single-counter runs of Claude Code 2.1.332 on 2026-11-29"
    codex = CodexClient(kind="codex", model="gpt-5.1-codex")
    assert forecast(outside, client=codex).prices_source == LIST_PRICES.source
