"""Commands about this machine: what it has or lacks, and what dead runs left on it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from runner import wiring
from runner.cli import retaining
from runner.cli.progress import Watch
from runner.core.doctor import diagnose
from runner.core.errors import EngineError, ExitCode, Problem
from runner.core.owner import RUN
from runner.pipeline.sweeping import Swept, leftovers, sweep


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def doctor(*, as_json: bool) -> None:
    """Say everything that this machine has or lacks, with what to do. Exit 3 when something needed is missing."""
    diagnosis = diagnose(wiring.machine_facts())
    if as_json:
        sys.stdout.write(diagnosis.to_bytes().decode("utf-8"))
    else:
        table = Table("subject", "state", "found", "what to do", box=None, pad_edge=False)
        for finding in diagnosis.findings:
            table.add_row(finding.subject, finding.state, finding.found, finding.remedy)
        Console(highlight=False, markup=False).print(table)
    sys.exit(ExitCode.NOT_READY if any(finding.state == "missing" for finding in diagnosis.findings) else ExitCode.DONE)


@click.command()
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@click.option(
    "--archives", is_flag=True, help="Not what dead runs left in the engine: what nothing needs in the cache."
)
@click.option(
    "--runs",
    "more",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Another folder of runs and archives whose needs count; may be given again.",
)
@click.option(
    "--user-images",
    is_flag=True,
    help="With --archives: also images of studies' own that no run and no archive needs. Nothing makes them again.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def gc(*, dry_run: bool, archives: bool, more: tuple[Path, ...], user_images: bool, as_json: bool) -> None:
    """Remove the containers and volumes of runs whose runner is dead, and nothing else.

    With --archives: say what disk each run takes, and remove from the cache what no run in runs/ (here, and in this
    checkout), no archive there or here, and no lock of this checkout needs. Runs and archives are never touched;
    what a killed process left beside an archive goes.
    """
    if archives:
        retaining.clean_cache(more, user_images=user_images, dry_run=dry_run, as_json=as_json)
        return
    with Watch() as watch:
        world = wiring.make_world(watch)
        engine = world.engine()
        swept = Swept(leftovers(world, engine), ()) if dry_run else sweep(world, engine)
    if as_json:
        removed = [{"kind": item.kind, "id": item.identity, "run": item.labels[RUN]} for item in swept.removed]
        sys.stdout.write(json.dumps({"dry_run": dry_run, "removed": removed}, indent=2) + "\n")
    else:
        for item in swept.removed:
            click.echo(f"{item.kind} {item.identity[:64]} of {item.labels[RUN]}")
        click.echo(f"{len(swept.removed)} {'would be removed' if dry_run else 'removed'}")
    if swept.kept:
        raise EngineError.of(
            Problem(reason, f"{item.kind} {item.identity[:64]}", hint="restart the engine, then try again")
            for item, reason in swept.kept
        )
