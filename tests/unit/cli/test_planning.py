"""What a study can see, on a terminal; numbers are read without a float on the way."""

from __future__ import annotations

import io
from typing import Any

import click
import pytest
from rich.console import Console

from runner.cli.planning import Decimals, power_asked, render_power
from runner.core.quantities import Measured, Unavailable
from runner.pipeline.powering import Power, PowerRow, Wanted

ASKED = {"pilot": None, "task_sd": None, "effect_sd": None, "repetition_sd": None, "measure": "wall_ms", "detect": None}


@pytest.mark.parametrize(
    ("text", "digits", "scaled"), [("0.6", 3, 600), ("1", 3, 1_000), (".25", 3, 250), ("0.95", 6, 950_000)]
)
def test_numbers_are_exact(text: str, digits: int, scaled: int) -> None:
    """Thousandths and millionths are integers."""
    assert Decimals(digits).convert(text, None, None) == scaled


@pytest.mark.parametrize("text", ["", "x", "-1", "1e3", "0.0001", "1.2.3", "²", "1234567"])
def test_what_is_no_number_is_refused(text: str) -> None:
    """Also one that is finer or larger than makes sense."""
    with pytest.raises(click.BadParameter, match="is not a number of 0 or more with at most 3 decimals"):
        Decimals(3).convert(text, None, None)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"pilot": "latest", "task_sd": 600}, "exclude one another"),
        ({"task_sd": 600}, "belong together"),
        ({"detect": 900_000}, "--detect needs"),
        ({"detect": 1_000_000, "pilot": "latest"}, "--detect needs"),
    ],
)
def test_options_that_contradict_one_another_are_refused(asked: dict[str, Any], said: str) -> None:
    """Before anything is read."""
    with pytest.raises(click.UsageError, match=said):
        power_asked(None, lambda _: pytest.fail("nothing is looked for"), None, {**ASKED, **asked})  # type: ignore[arg-type]


def test_nothing_is_computed_unasked() -> None:
    """A plan without these options is a plan alone."""
    assert power_asked(None, lambda _: pytest.fail("nothing is looked for"), None, ASKED) is None  # type: ignore[arg-type]


def test_sizes_and_what_is_wanted_are_printed() -> None:
    """Ratios, money, time, and why something isn't known."""
    unknown = Unavailable("no pilot says it")
    row = PowerRow(
        arm="memory",
        repetitions=3,
        trials=72,
        low_ppm=Measured(840_000),
        high_ppm=Measured(1_190_000),
        cost_microusd=Measured(12_340_000),
        time_ms=Measured(5_400_000),
    )
    power = Power(
        measure="cost_microusd",
        basis="pilot demo, evidence: fixture",
        tasks=12,
        level_ppm=950_000,
        power_ppm=800_000,
        sizes=(row, row.model_copy(update={"low_ppm": unknown, "high_ppm": unknown})),
        wanted=(
            Wanted(
                arm="memory",
                ratio_ppm=900_000,
                repetitions=Measured(8),
                trials=Measured(192),
                cost_microusd=unknown,
                time_ms=Measured(60_000),
                tasks=Measured(31),
            ),
        ),
    )
    stream = io.StringIO()
    render_power(power, Console(file=stream, width=200, highlight=False))
    text = " ".join(stream.getvalue().replace("\N{NARROW NO-BREAK SPACE}", " ").split())
    assert "memory 3 72 0.84 1.19 $12.34 90.0 min" in text
    assert "none: no pilot says it" in text
    assert (
        "To see a ratio of 0.90 in arm memory: 8 repetitions, 192 trials, \N{EM DASH}, 60.00 s; or 31 tasks of the same "
        "kind, with the study's own repetitions"
    ) in text
