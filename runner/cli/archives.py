"""Commands that make archives of runs and images, and load and verify them."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from runner import wiring
from runner.archives.reading import MAX_BYTES
from runner.cli.progress import Watch
from runner.cli.verdicts import show_verdict, show_whole, verdict_listing
from runner.core.errors import ExitCode
from runner.core.visible import visible
from runner.pipeline import archiving
from runner.pipeline.archiving import Order
from runner.pipeline.folder import find_run

if TYPE_CHECKING:
    from runner.archives.writing import Written
    from runner.pipeline.archiving import VerifiedArchive

SUFFIX: Final = ".pairbench"
_UNITS: Final = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS_OF_TWO: Final = {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_SMALLEST_PART_BYTES: Final = 10**6


class Size(click.ParamType[int]):
    """A number of bytes, as `2GB`, `700MiB` or plain digits."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """`value` in bytes; a usage error where it is none."""
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"([0-9]{1,15})\s*([A-Za-z]*)", str(value).strip())
        unit = None if found is None else (_UNITS | _UNITS_OF_TWO).get(found[2].upper())
        if found is None or unit is None:
            self.fail(f"{value!r} is no size; 2GB and 700MiB are", param, ctx)
        return int(found[1]) * unit


max_size = click.option(
    "--max-size", type=Size(), default=MAX_BYTES, show_default="64GiB", help="What the archive may come to, unpacked."
)
_OUT = click.option(
    "--out", type=click.Path(path_type=Path), help="The archive; an existing file is never overwritten."
)
_SPLIT = click.option("--split", type=Size(), help="Write FILE.part001, FILE.part002, … of so many bytes, as 2GB.")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.command()
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@_OUT
@_SPLIT
@click.option("--no-runner", is_flag=True, help="Leave out the image that runs the program itself.")
@click.option("--unverified", is_flag=True, help="Don't recompute the runs first; the archive says so.")
@_JSON
def archive(
    runs: tuple[str, ...], *, out: Path | None, split: int | None, no_runner: bool, unverified: bool, as_json: bool
) -> None:
    """Put each RUN (the latest by default) with its images and its code into one file, from which anybody can rerun it.

    A run that doesn't verify is refused. The file is <run>.pairbench in this folder unless --out names another.
    """
    files = wiring.make_files()
    folders = [find_run(files, wiring.runs_folder(), name, Path.cwd()) for name in runs or ("latest",)]
    destination = out or Path.cwd() / f"{folders[0].name}{SUFFIX}"
    order = Order(destination, _split(split), runner=not no_runner, unverified=unverified)
    with Watch() as watch:
        written = archiving.archive_runs(wiring.make_world(watch), list(dict.fromkeys(folders)), order)
    _show_written(written, as_json=as_json)


@click.command(name="archive")
@click.argument("names", nargs=-1)
@_OUT
@_SPLIT
@_JSON
def archive_images(names: tuple[str, ...], *, out: Path | None, split: int | None, as_json: bool) -> None:
    """Put the images NAMES (all that pods are made of when none is named) into one file."""
    order = Order(out or Path.cwd() / f"images{SUFFIX}", _split(split))
    with Watch() as watch:
        written = archiving.archive_images(wiring.make_world(watch), names, order)
    _show_written(written, as_json=as_json)


@click.command(name="load")
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("names", nargs=-1)
@max_size
@_JSON
def load_images(file: Path, names: tuple[str, ...], *, max_size: int, as_json: bool) -> None:
    """Give the images of an archive to the engine, or those called NAMES, once every byte of it was checked.

    Exit 4 when the archive is damaged, or when the engine says that it has got something else.
    """
    with Watch() as watch:
        loaded = archiving.load_images(wiring.make_world(watch), file, names, max_bytes=max_size)
    if as_json:
        listing = [
            {"name": image.name, "id": image.tag, "config_digest": image.config_digest, "size_bytes": image.size_bytes}
            for image in loaded
        ]
        _print({"images": listing})
        return
    for image in loaded:
        click.echo(f"{image.name}: the engine has {image.config_digest}")


def verify_archive(path: Path, only: str, max_bytes: int, *, as_json: bool) -> NoReturn:
    """Everything in the archive was checked, every run of it or `only` one recomputed, and what was found told."""
    with Watch() as watch:
        found = archiving.verify_archive(wiring.make_world(watch), path, only, max_bytes=max_bytes)
    holds = all(run.verification.holds for run in found.runs)
    damaged = any(run.finished and not run.verification.holds for run in found.runs)
    if as_json:
        _print(_listing(path, found, holds=holds))
    else:
        _show_verified(path, found)
    sys.exit(ExitCode.DONE if holds else ExitCode.DOES_NOT_VERIFY if damaged else ExitCode.USAGE)


def _show_verified(path: Path, found: VerifiedArchive) -> None:
    show_whole(path.name, found.content_sha256, found.images)
    for run in found.runs:
        if run.finished:
            show_verdict(run.name, run.verification)
        else:
            click.echo(f"{visible(run.name)} isn't finished, and there is nothing to verify")


def _listing(path: Path, found: VerifiedArchive, *, holds: bool) -> dict[str, Any]:
    return {
        "archive": path.name,
        "holds": holds,
        "index_sha256": found.index_sha256,
        "content_sha256": found.content_sha256,
        "images": [
            {"name": image.pin.name, "role": image.role, "config_digest": image.config} for image in found.images
        ],
        "runs": [{**verdict_listing(run.name, run.verification), "finished": run.finished} for run in found.runs],
    }


def _show_written(written: Written, *, as_json: bool) -> None:
    for path in written.left_out:
        click.echo(f"left out, since it is no part of a run: {visible(path)}", err=True)
    if as_json:
        _print(
            {
                "files": [str(path) for path in written.files],
                "size_bytes": written.size_bytes,
                "index_sha256": written.index_sha256,
                "content_sha256": written.content_sha256,
                "left_out": list(written.left_out),
            }
        )
        return
    for file in written.files:
        click.echo(file)
    click.echo(f"{written.size_bytes} bytes, content {written.content_sha256}", err=True)


def _split(split: int | None) -> int | None:
    if split is not None and split < _SMALLEST_PART_BYTES:
        raise click.UsageError(f"--split is {_SMALLEST_PART_BYTES} bytes or more")
    return split


def _print(document: dict[str, Any]) -> None:
    json.dump(document, sys.stdout, indent=2)
    sys.stdout.write("\n")
