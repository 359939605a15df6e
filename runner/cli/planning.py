"""What a study of a size can see, printed beside its plan."""

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
            self.fail(f"{value!r} is not a number with at most {self._digits} decimals", param, ctx)
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


def _shown(quantity: Quantity, show: Callable[[int], str]) -> str:
    return show(quantity.value) if isinstance(quantity, Measured) else formatting.ABSENT
