"""What a study may spend and take at most, and what one of its size can see, printed beside its plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from runner.core.gates import AMOUNTS
from runner.core.quantities import Measured, Quantity, Unavailable
from runner.core.rounding import PPM
from runner.pipeline.powering import Basis, Power, Spreads, pilot_basis, power_of, stated_basis
from runner.publish import formatting

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rich.console import Console

    from runner.core.resolved import ResolvedStudy
    from runner.pipeline.forecasting import Forecast, Level
    from runner.ports.files import Files


class Decimals(click.ParamType[int]):
    """A decimal number as an integer in units of 1/scale, without a float on the way."""

    name = "number"

    def __init__(self, scale_digits: int) -> None:
        """Numbers have at most `scale_digits` decimals."""
        self._digits = scale_digits

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number, scaled; a usage error when it isn't one."""
        if isinstance(value, int):
            return value
        whole, _, rest = str(value).partition(".")
        if not whole.isascii() or not f"{whole}{rest}".isdigit() or len(rest) > self._digits or len(whole) > 6:
            self.fail(f"{value!r} is not a number of 0 or more with at most {self._digits} decimals", param, ctx)
        return int(whole + rest.ljust(self._digits, "0"))


def power_options(command: Callable[..., None]) -> Callable[..., None]:
    """`command` with the options that say what a study's power is computed from."""
    for option in (
        click.option("--detect", type=Decimals(6), metavar="RATIO", help="Say which repetitions see this ratio: 0.9."),
        click.option("--measure", type=click.Choice(AMOUNTS), default=AMOUNTS[0], help="What power is computed for."),
        click.option("--repetition-sd", type=Decimals(3), help="Stated log sd of repetitions, instead of a pilot."),
        click.option("--effect-sd", type=Decimals(3), help="Stated log sd of the effect from task to task."),
        click.option("--task-sd", type=Decimals(3), help="Stated log sd of tasks' sizes."),
        click.option("--pilot", metavar="RUN", help="Say what the study can see, by the variances of this run."),
    ):
        command = option(command)
    return command


def power_asked(files: Files, find: Callable[[str], Path], study: ResolvedStudy, asked: dict[str, Any]) -> Power | None:
    """The power that the options in `asked` want computed; None when they want none."""
    stated = [asked[name] for name in ("task_sd", "effect_sd", "repetition_sd")]
    given = [value for value in stated if value is not None]
    if asked["pilot"] is not None and given:
        raise click.UsageError("--pilot and stated standard deviations exclude one another")
    if given and len(given) < len(stated):
        raise click.UsageError("--task-sd, --effect-sd and --repetition-sd belong together")
    if asked["detect"] is not None and (asked["detect"] in {0, PPM} or not (given or asked["pilot"])):
        raise click.UsageError("--detect needs a ratio other than 0 and 1, and --pilot or stated standard deviations")
    basis: Basis
    if asked["pilot"] is not None:
        basis = pilot_basis(files, find(asked["pilot"]), study, asked["measure"])
    elif given:
        basis = stated_basis(study, Spreads(*given))
    else:
        return None
    return power_of(study, basis, asked["measure"], asked["detect"])


def render_forecast(forecast: Forecast, console: Console) -> None:
    """Print what the study may spend and take at most."""
    time = forecast.time
    trials = next(level.number for level in forecast.levels if level.level == "trial")
    at_once = (
        f"{formatting.counted(time.at_once.value, 'trial')} at a time"
        if isinstance(time.at_once, Measured)
        else time.at_once.reason
    )
    one, everyone = "", ""
    if forecast.requests:
        one = f"{formatting.counted(forecast.requests, 'model request')} and "
        everyone = f"{trials * forecast.requests:,} requests and "
    whole = f"{everyone}{formatting.duration(1000 * time.study_s)}"
    console.print(f"a trial: at most {one}{time.trial_s} s; in all {whole}, {at_once}")
    if forecast.attempts > 1:
        console.print(f"a trial whose pod fails is tried again, up to {forecast.attempts} attempts, which adds to that")
    if not forecast.requests:
        # Nothing writes, and there is nothing to cap.
        return
    console.print(
        f"output: {_shown(forecast.output.tokens, '{:,} tokens a request; '.format, '')}{forecast.output.said}"
    )
    capped = [level for level in forecast.levels if isinstance(level.worst_microusd, Measured)]
    if capped:
        _render_levels(forecast, console)
    else:
        console.print(f"caps: none{', so that nothing bounds what is billed' if forecast.billed else ''}")
    if forecast.smallest is not None:
        least = forecast.smallest
        console.print(
            f"smallest request (task {least.task}, arm {least.arm}): {least.input_tokens:,} tokens of input and "
            f"{least.output_tokens:,} of output at most, {formatting.dollars(least.worst_microusd)} "
            f"at list price of {forecast.priced_as}"
        )


def _render_levels(forecast: Forecast, console: Console) -> None:
    console.print(
        f"caps, at list price of {forecast.priced_as or 'no model'} ({forecast.prices_source})"
        + ("" if forecast.billed else "; nothing of it is billed")
    )
    table = Table("of one", "cap", "worst case", "in the study", box=None, pad_edge=False)
    for level in forecast.levels:
        table.add_row(
            level.level,
            _shown(level.cap_microusd, formatting.dollars),
            _shown(level.worst_microusd, formatting.dollars),
            _number(level, forecast.attempts),
        )
    console.print(table)
    trials = next(level.number for level in forecast.levels if level.level == "trial")
    covered = forecast.trials_covered
    if isinstance(covered, Measured) and covered.value < trials:
        console.print(
            f"{covered.value:,} of {formatting.counted(trials, 'trial')} can spend all of their cap; "
            "the others have what these leave of the wider caps"
        )


def _number(level: Level, attempts: int) -> str:
    match level.level:
        case "study":
            return ""
        case "request":
            return f"at most {level.number:,}{_and_attempts(attempts)}"
        case _:
            return f"{level.number:,}"


def _and_attempts(attempts: int) -> str:
    """What a count holds that the one of first attempts doesn't."""
    match attempts:
        case 1:
            return ""
        case 2:
            return ", second attempts included"
        case _:
            return f", all {attempts} attempts included"


def render_power(power: Power, console: Console) -> None:
    """Print what the study sees at its own size and at others."""
    console.print(
        f"\nWhat {power.tasks} tasks see of {power.measure}, {formatting.level(power.power_ppm)} of the time, by "
        f"{formatting.level(power.level_ppm)} intervals (from {power.basis})"
    )
    table = Table(
        "arm", "repetitions", "trials", "ratio at most", "or at least", "money", "time", box=None, pad_edge=False
    )
    for row in power.sizes:
        table.add_row(
            row.arm,
            str(row.repetitions),
            f"{row.trials:,}",
            _shown(row.low_ppm, formatting.ratio),
            _shown(row.high_ppm, formatting.ratio),
            _shown(row.cost_microusd, formatting.dollars),
            _shown(row.time_ms, formatting.duration),
        )
    console.print(table)
    for reason in sorted({row.low_ppm.reason for row in power.sizes if isinstance(row.low_ppm, Unavailable)}):
        console.print(f"none: {reason}")
    for item in power.wanted:
        said = f"To see a ratio of {formatting.ratio(item.ratio_ppm)} in arm {item.arm}: "
        if isinstance(item.repetitions, Unavailable):
            said += item.repetitions.reason
        else:
            said += (
                f"{formatting.counted(item.repetitions.value, 'repetition')}, {item.trials.value:,} trials, "
                f"{_shown(item.cost_microusd, formatting.dollars)}, {_shown(item.time_ms, formatting.duration)}"
            )
        if isinstance(item.tasks, Measured):
            said += f"; or {item.tasks.value:,} tasks of the same kind, with the study's own repetitions"
        console.print(said)


def _shown(quantity: Quantity, show: Callable[[int], str], absent: str = formatting.ABSENT) -> str:
    return show(quantity.value) if isinstance(quantity, Measured) else absent
