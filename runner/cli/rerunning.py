"""The command that makes a run once more: from its folder, or out of an archive."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runner import wiring
from runner.archives.reading import is_archive
from runner.cli.progress import Watch
from runner.core.errors import ExitCode
from runner.pipeline import concluding, rerunning
from runner.pipeline.fitness import Asked, Shelf
from runner.pipeline.folder import find_run
from runner.pipeline.originals import read_original
from runner.pipeline.unpacking import out_of_archive

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.pipeline.world import World


@click.command()
@click.argument("source", metavar="RUN|ARCHIVE")
@click.option("--run", "name", metavar="NAME", help="Which run of an archive that holds several.")
@click.option("--live", is_flag=True, help="Measure afresh: ask the provider, with its key.")
@click.option("--this-code", is_flag=True, help="Go on though the code at hand isn't the run's.")
@click.option("--slots", type=click.IntRange(1, 64), help="Run so many pods at once, not as many as the run did.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def rerun(
    source: str, name: str | None, slots: int | None, *, live: bool, this_code: bool, as_json: bool
) -> None:
    """Make a run once more, in its own images and from its own inputs: nothing is planned, embedded, indexed or built.

    A recorded run is replayed and a scripted one runs again, without a key and without a network. What can't be
    honoured on this machine is said before anything starts. Exit 1 when the rerun isn't equal to the run.
    """
    with Watch() as watch:
        world = wiring.make_world(watch)
        with _source(world, source, name) as (folder, shelf):
            original = read_original(world.files, folder)
            made = rerunning.rerun(world, original, Asked(live=live, this_code=this_code, slots=slots), shelf)
        world.progress.step("computing records, scores and summary")
        concluding.conclude(world.files, made.ran.folder)
    if as_json:
        document = {
            "run": str(made.ran.folder),
            "complete": made.ran.complete,
            "original": str(made.original),
            "rerun_of": made.pin.json_value(),
        }
        json.dump(document, sys.stdout, indent=2)
        sys.stdout.write("\n")
    click.echo(f"run: {made.ran.folder}", err=True)
    if not made.ran.complete:
        click.echo(f"interrupted; go on with: pairbench resume {made.ran.folder.name}", err=True)
    click.echo(f"compare with: pairbench compare {made.original.name} {made.ran.folder.name}", err=True)
    sys.exit(ExitCode.DONE if made.ran.complete else ExitCode.FINDING)


@contextmanager
def _source(world: World, source: str, name: str | None) -> Iterator[tuple[Path, Shelf]]:
    """The folder of the run that is meant, and what else its rerun may take from where it lay."""
    if is_archive(Path(source)):
        with out_of_archive(world, Path(source), name) as found:
            yield found
        return
    if name is not None:
        raise click.UsageError("--run names a run of an archive, and the source is none")
    yield find_run(world.files, world.places.runs, source, Path.cwd()), Shelf()
