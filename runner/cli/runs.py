"""Commands about studies and runs: plan, run, watch, recompute, look."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
from rich.console import Console
from rich.table import Table

from runner import wiring
from runner.cli.planning import power_asked, power_options, render_forecast, render_power
from runner.cli.progress import Watch
from runner.cli.tables import render_summary
from runner.clients.launching import arm_difference
from runner.core.canonical import canonical_line
from runner.core.errors import ExitCode
from runner.core.outcomes import Outcome
from runner.core.visible import visible
from runner.pipeline import concluding, executing, exporting, locking, resuming
from runner.pipeline.folder import find_run
from runner.pipeline.forecasting import forecast_of
from runner.pipeline.status import RunStatus, run_status
from runner.publish import formatting
from runner.publish.headlines import failed_checks

if TYPE_CHECKING:
    from runner.core.summary import Summary
    from runner.pipeline.world import World

_STUDY = click.argument("study", type=click.Path(path_type=Path))
_RUN = click.argument("run", default="latest")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.command()
@_STUDY
@power_options
@_JSON
def plan(study: Path, *, as_json: bool, **asked: Any) -> None:
    """Show what STUDY would run, in which order, how its arms differ, and what it may spend. Nothing is started.

    Spend and time are worst cases by the study's own caps and limits. With --pilot, or with stated standard deviations
    of logarithms, say what effect a study of this size can see, and with --detect how many repetitions an effect needs.
    """
    with Watch() as watch:
        planned = locking.plan_study(wiring.make_world(watch), study)
    declared = planned.study
    power = power_asked(wiring.make_files(), _folder, declared, asked)
    forecast = forecast_of(declared, planned.plan, planned.loaded.prices)
    if as_json:
        document = {"forecast": forecast.json_value(), "plan": planned.plan.json_value()}
        if power is not None:
            document["power"] = power.json_value()
        sys.stdout.write(canonical_line(document).decode("utf-8"))
        return
    console = Console(highlight=False, markup=False)
    trials = len(planned.plan.trials)
    console.print(
        f"{declared.name}: {formatting.counted(len(declared.tasks), 'task')} x "
        f"{formatting.counted(declared.repetitions, 'repetition')} x {len(declared.arms)} arms = {trials} trials"
    )
    console.print(_who_answers(declared.model.mode))
    render_forecast(forecast, console)
    for arm in declared.arms:
        console.print(
            f"\n{arm.name}: {'the control' if arm.name == declared.control else 'differs from the control in'}"
        )
        for line in arm_difference(declared, arm):
            console.print(f"  {visible(line)}")
    table = Table("#", "block", "arms, in order", box=None, pad_edge=False)
    blocks: dict[str, list[str]] = {}
    for trial in planned.plan.trials:
        blocks.setdefault(trial.block, []).append(trial.arm)
    for number, (block, arms) in enumerate(blocks.items(), 1):
        table.add_row(str(number), block, ", ".join(arms))
    console.print()
    console.print(table)
    if power is not None:
        render_power(power, console)


def _who_answers(mode: str) -> str:
    match mode:
        case "scripted":
            return "evidence: fixture; a deterministic policy plays the model, and nothing is billed"
        case "none":
            return "there is no model, and nothing is billed"
        case "replay":
            return "a cassette answers, and nothing is billed; the evidence is of the kind that was recorded"
        case _:
            return "a provider answers, and bills what it generates"


@click.command()
@_STUDY
@_JSON
def run(study: Path, *, as_json: bool) -> None:
    """Run STUDY: lock it, run every trial in a fresh pod, seal the summary. Exit 1 when a trial or a gate failed."""
    with Watch() as watch:
        world = wiring.make_world(watch)
        ran = executing.run_study(world, study)
        _conclude(world, ran, as_json=as_json)


@click.command()
@_RUN
@_JSON
def resume(run: str, *, as_json: bool) -> None:
    """Go on with RUN after any interruption; what completed isn't run again. Exit 1 when a trial or a gate failed."""
    with Watch() as watch:
        world = wiring.make_world(watch)
        ran = resuming.resume_run(world, _folder(run))
        _conclude(world, ran, as_json=as_json)


def _conclude(world: World, ran: executing.Ran, *, as_json: bool) -> NoReturn:
    world.progress.step("computing records, scores and summary")
    found = concluding.conclude(world.files, ran.folder)
    if as_json:
        sys.stdout.write(found.to_bytes().decode("utf-8"))
    else:
        render_summary(found, Console(highlight=False))
    for line in failed_checks(found):
        click.echo(line, err=True)
    click.echo(f"run: {ran.folder}", err=True)
    if not ran.complete:
        click.echo(f"interrupted; go on with: pairbench resume {ran.folder.name}", err=True)
    sys.exit(ExitCode.DONE if ended_well(world, ran, found) else ExitCode.FINDING)


def ended_well(world: World, ran: executing.Ran, found: Summary) -> bool:
    """Whether every trial of a run, whose summary is `found`, ran and completed, and every gate of it held."""
    outcomes = run_status(world.files, ran.folder).outcomes
    failed = sum(count for outcome, count in outcomes.items() if outcome != Outcome.COMPLETED)
    return ran.complete and not failed and all(gate.verdict == "passed" for gate in found.gates)


@click.command()
@_RUN
@_JSON
def status(run: str, *, as_json: bool) -> None:
    """Show how far RUN is, and how its pods were walled in. Exit 1 when a wall had a hole."""
    files = wiring.make_files()
    found = run_status(files, _folder(run))
    if as_json:
        json.dump(found.json_value(), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        _show_status(found)
    sys.exit(ExitCode.FINDING if found.breaches else ExitCode.DONE)


@click.command()
@_RUN
@_JSON
def summary(run: str, *, as_json: bool) -> None:
    """Print the sealed summary of RUN as tables."""
    found = concluding.read_summary(wiring.make_files(), _folder(run))
    if as_json:
        sys.stdout.write(found.to_bytes().decode("utf-8"))
    else:
        render_summary(found, Console(highlight=False))


@click.command()
@_RUN
def report(run: str) -> None:
    """Write RUN's report, one self-contained HTML page, and print its path."""
    click.echo(concluding.write_report(wiring.make_files(), _folder(run)))


@click.command()
@_RUN
@click.option(
    "--parquet", "into", required=True, type=click.Path(path_type=Path), help="Folder that the tables are written to."
)
def export(run: str, into: Path) -> None:
    """Write what a retrieval RUN found as tables for data frames: scores, rankings and latencies, as Parquet files.

    Needs the extra `parquet`. The same as TREC runs and qrels lies in RUN's folder `retrieval` already.
    """
    for made in exporting.export_frames(wiring.make_files(), wiring.make_frames(), _folder(run), into):
        click.echo(f"{made.path}: {made.rows} rows")


def _folder(name: str) -> Path:
    return find_run(wiring.make_files(), wiring.runs_folder(), name, Path.cwd())


def _show_status(found: RunStatus) -> None:
    console = Console(highlight=False, markup=False)
    ended = "ended" if found.ended else "running, or broken off"
    console.print(f"{found.run}: {found.finished} of {found.planned} trials, {ended}")
    for outcome, count in found.outcomes.items():
        console.print(f"  {outcome}: {count}")
    console.print(f"  holes in the isolation: {found.breaches}")
    for trial in found.trials:
        for attempt in trial.attempts:
            for breach in attempt.breaches:
                console.print(f"  {trial.trial} attempt {attempt.attempt}: {visible(breach)}")
