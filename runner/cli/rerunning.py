"""The command that makes a run once more: from its folder, or out of an archive."""

from __future__ import annotations

import json
import shlex
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from runner import wiring
from runner.archives.reading import is_archive
from runner.cli.archives import max_size
from runner.cli.comparing import render_comparison
from runner.cli.progress import Watch
from runner.cli.runs import ended_well
from runner.core.errors import ExitCode
from runner.pipeline import concluding, rerunning
from runner.pipeline.comparing import compare
from runner.pipeline.fitness import Asked, Shelf
from runner.pipeline.folder import find_run
from runner.pipeline.originals import called, read_original
from runner.pipeline.sides import Side
from runner.pipeline.unpacking import out_of_archive

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.core.comparison import Comparison
    from runner.core.summary import Summary
    from runner.pipeline.rerunning import Reran
    from runner.pipeline.world import World


@click.command()
@click.argument("source", metavar="RUN|ARCHIVE")
@click.option(
    "--run", "name", metavar="NAME", default="", help="Which run of an archive with several; also ARCHIVE#NAME."
)
@click.option("--live", is_flag=True, help="Measure afresh: ask the provider, with its key.")
@click.option("--this-code", is_flag=True, help="Go on though the code at hand isn't the run's.")
@click.option("--slots", type=click.IntRange(1, 64), help="Run so many pods at once, not as many as the run did.")
@max_size
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def rerun(  # noqa: PLR0913 - a command has as many parameters as it has options
    source: str, name: str, slots: int | None, max_size: int, *, live: bool, this_code: bool, as_json: bool
) -> None:
    """Make a run once more, from its own inputs and in its own images; nothing is built.

    Nothing is planned, embedded or indexed again either. A recorded run is replayed and a scripted one runs again,
    without a key and without a network. What can't be honoured on this machine is said before anything starts. At the
    end both are compared: exit 1 when the rerun isn't equal to the run, or when one that was measured afresh has a
    failed trial or gate.
    """
    with Watch() as watch:
        world = wiring.make_world(watch)
        with _source(world, source, name, max_size) as (folder, shelf):
            archived = is_archive(Path(source.partition("#")[0]))
            # What an archive gave stays only where it can be rerun: until then it is called as the archive's.
            given = f"{source.partition('#')[0]}#{folder.name}" if archived else called(world.places.runs, folder)
            original = read_original(world.files, folder, given, archived=archived)
            made = rerunning.rerun(world, original, Asked(live=live, this_code=this_code, slots=slots), shelf)
        world.progress.step("computing records, scores and summary")
        found = concluding.conclude(world.files, made.ran.folder)
        comparison = _comparison(world, made) if made.ran.complete else None
    if as_json:
        document = {
            "run": str(made.ran.folder),
            "original": str(made.original),
            "rerun_of": made.pin.json_value(),
            "complete": made.ran.complete,
            "comparison": None if comparison is None else comparison.json_value(),
        }
        json.dump(document, sys.stdout, indent=2)
        sys.stdout.write("\n")
    elif comparison is not None:
        render_comparison(comparison, Console(highlight=False))
    click.echo(f"run: {made.ran.folder}", err=True)
    if comparison is None:
        click.echo(f"interrupted; go on with: pairbench resume {made.ran.folder.name}", err=True)
    named = shlex.join(called(world.places.runs, folder) for folder in (made.original, made.ran.folder))
    click.echo(f"compare with: pairbench compare {named}", err=True)
    sys.exit(ExitCode.DONE if comparison is not None and _is_well(world, made, found, comparison) else ExitCode.FINDING)


def _comparison(world: World, made: Reran) -> Comparison:
    world.progress.step(f"comparing with {made.original.name}")
    before, after = (
        Side.of(world.files, folder, called(world.places.runs, folder)) for folder in (made.original, made.ran.folder)
    )
    return compare(before, after)


def _is_well(world: World, made: Reran, found: Summary, comparison: Comparison) -> bool:
    """A repetition is well when it is equal, whatever became of its trials; what was measured afresh, as any run is."""
    return comparison.equal if made.pin.how != "live" else ended_well(world, made.ran, found)


@contextmanager
def _source(world: World, source: str, name: str, max_bytes: int) -> Iterator[tuple[Path, Shelf]]:
    """The folder of the run that is meant, and what else its rerun may take from where it lay."""
    file, _, named = source.partition("#")
    if is_archive(Path(file)):
        with out_of_archive(world, Path(file), name or named, max_bytes) as found:
            yield found
        return
    if name:
        raise click.UsageError("--run names a run of an archive, and the source is none")
    yield find_run(world.files, world.places.runs, source, Path.cwd()), Shelf()
