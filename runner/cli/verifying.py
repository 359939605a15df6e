"""The command that recomputes a run, by the code at hand or by the code that the run keeps."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from runner import wiring
from runner.archives.reading import is_archive
from runner.cli.archives import max_size, verify_archive
from runner.cli.progress import Watch
from runner.cli.verdicts import show_verdict, show_whole, verdict_listing
from runner.core.errors import EnvironmentNotReady, EvidenceError, ExitCode, Problem, StudyError
from runner.pipeline import concluding, old_code
from runner.pipeline.folder import find_run
from runner.pipeline.opening import opened_run
from runner.pipeline.rooms import room_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runner.archives.harness import HarnessFiles
    from runner.pipeline.concluding import Verification
    from runner.pipeline.opening import Opened
    from runner.pipeline.world import World


@click.command()
@click.argument("run", default="latest", metavar="[RUN|ARCHIVE]")
@max_size
@click.option(
    "--archived-code", is_flag=True, help="Have the code that RUN keeps recompute it, in a container without network."
)
@click.option(
    "--trust-archived-code",
    is_flag=True,
    help="Have the code that RUN keeps recompute it right here, where it may do whatever you may.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def verify(run: str, *, max_size: int, archived_code: bool, trust_archived_code: bool, as_json: bool) -> None:
    """Recompute RUN, or every run of an ARCHIVE, from raw evidence and compare every byte. Exit 4 on any difference.

    Where the code at hand isn't the code that RUN is of, every figure is compared instead, and that is said. The code
    that RUN keeps reproduces its bytes, and is run only when it is asked for: it is whoever's the run is. One run of an
    ARCHIVE is ARCHIVE#RUN.
    """
    if archived_code or trust_archived_code:
        _by_archived_code(run, max_size, here=trust_archived_code, as_json=as_json)
    file, _, name = run.partition("#")
    if is_archive(Path(file)):
        verify_archive(Path(file), name, max_size, as_json=as_json)
    _end(*_by_this_code(find_run(wiring.make_files(), wiring.runs_folder(), run, Path.cwd())), as_json=as_json)


def _by_this_code(folder: Path) -> tuple[str, Verification]:
    try:
        return folder.name, concluding.verify_run(wiring.make_files(), folder, wiring.this_code())
    except EvidenceError as error:
        return folder.name, concluding.Verification(0, error.problems, same_code=True)


def _end(name: str, found: Verification, *, as_json: bool) -> NoReturn:
    if as_json:
        json.dump(verdict_listing(name, found), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        show_verdict(name, found)
    sys.exit(ExitCode.DONE if found.holds else ExitCode.DOES_NOT_VERIFY)


def _by_archived_code(run: str, max_bytes: int, *, here: bool, as_json: bool) -> NoReturn:
    """The evidence is held against ledger and lock by the code at hand; what follows from it is left to the run's."""
    with Watch() as watch:
        world = wiring.make_world(watch)
        with opened_run(world, run, Path.cwd(), max_bytes) as found:
            folder, archive = found.folder, found.archive
            if archive is not None:
                name = Path(run.partition("#")[0]).name
                # A JSON document is of the run alone, and is all that standard output takes.
                show_whole(name, archive.index.content_sha256, archive.index.images, err=as_json)
            harness, problems = concluding.verify_evidence(world.files, folder)
            if problems:
                raise EvidenceError.of(problems)
            if harness is None:
                raise StudyError(
                    "it keeps no code: it is from before runs did",
                    document=folder.name,
                    hint="leave the option out, and the code at hand compares every figure",
                )
            if harness.pin.source_sha256 == world.harness.source_sha256:
                click.echo("the code at hand is the run's own", err=True)
                _end(*_by_this_code(folder), as_json=as_json)
            arguments = ("--json",) if as_json else ()
            if here:
                sys.exit(_right_here(harness, folder, arguments))
            sys.exit(_contained(world, harness, found, arguments))


def _right_here(harness: HarnessFiles, folder: Path, arguments: Iterable[str]) -> int:
    programs = wiring.make_programs()
    _introduce(harness, "right here", programs.versions())
    return old_code.with_code(harness, ("verify", *arguments, str(folder)), programs)


def _contained(world: World, harness: HarnessFiles, found: Opened, arguments: tuple[str, ...]) -> int:
    try:
        world.engine()
    except EnvironmentNotReady as error:
        hint = "start one, or let it run right here, where it may do whatever you may: --trust-archived-code"
        needed = Problem(
            "the code of a run is run in a container, and that takes an engine", "archived code", hint=hint
        )
        raise EnvironmentNotReady.of([*error.problems, needed]) from error
    room = room_of(world, found.archive)

    def introduce() -> None:
        _introduce(harness, "in a container without network", room.versions)

    said = old_code.contained(world, harness, found.folder, arguments, room, introduce)
    click.echo(said.complaints, nl=False, err=True)
    click.echo(said.output, nl=False)
    return said.exit_code


def _introduce(harness: HarnessFiles, where: str, versions: Mapping[str, str]) -> None:
    code = f"pairbench {harness.pin.version}, {harness.pin.source_sha256}"
    click.echo(f"every file is what ledger and lock say; recomputed {where} by the run's own code: {code}", err=True)
    for line in old_code.other_versions(harness, versions):
        click.echo(f"  {line}", err=True)
    click.echo("what it says from here on is the word of that code:", err=True)
