"""A run wherever it lies: in a folder of its own, or in an archive, unpacked for as long as it is looked at."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from runner.archives.reading import MAX_BYTES, is_archive, open_archive
from runner.core.errors import PairbenchError, StudyError
from runner.pipeline.folder import find_run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.archives.reading import OpenArchive
    from runner.pipeline.world import World


@dataclass(frozen=True)
class Opened:
    """A run, and the archive that it was unpacked from, if it was."""

    folder: Path
    archive: OpenArchive | None = None


@contextmanager
def opened(world: World, given: str, cwd: Path) -> Iterator[Path]:
    """The folder of the run called `given`; raises as `opened_run` does."""
    with opened_run(world, given, cwd) as found:
        yield found.folder


@contextmanager
def opened_run(world: World, given: str, cwd: Path, max_bytes: int = MAX_BYTES) -> Iterator[Opened]:
    """The run called `given`: a path, a name, `latest`, or an archive, with `#RUN` where it has several.

    What an archive was unpacked to has the run's name, and is gone at the end; errors speak of the archive instead.

    Raises:
        StudyError: there is no such run, or no such archive.
        EvidenceError: the archive is damaged.
        EnvironmentNotReady: there is no room to unpack it.
    """
    file, _, name = given.partition("#")
    if not is_archive(cwd / file):
        yield Opened(find_run(world.files, world.places.runs, given, cwd))
        return
    world.progress.step(f"reading {file}")
    world.places.cache.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="opened-", dir=world.places.cache) as scratch,
        # What runs in the images isn't looked at: their layers are checked, and not kept.
        open_archive(cwd / file, Path(scratch), max_bytes=max_bytes) as archive,
    ):
        chosen = _named(archive, given, name)
        folder = Path(scratch) / "runs" / chosen
        archive.unpack_run(chosen, folder)
        with spoken_of(folder, f"{file}#{chosen}"):
            yield Opened(folder, archive)


@contextmanager
def spoken_of(folder: Path, called: str) -> Iterator[None]:
    """An error says `called` wherever it would name `folder`, which nobody will find any more."""
    try:
        yield
    except PairbenchError as error:
        raise type(error).of(
            replace(
                problem,
                message=problem.message.replace(str(folder), called),
                document=problem.document.replace(str(folder), called),
                hint=problem.hint.replace(str(folder), called),
            )
            for problem in error.problems
        ) from error


def _named(archive: OpenArchive, given: str, name: str) -> str:
    """The run that is meant: the only one, where none is named."""
    runs = [*archive.index.runs]
    if name:
        return name
    if len(runs) != 1:
        listed = ", ".join(f"{given}#{run}" for run in runs)
        raise StudyError(
            f"the archive holds {len(runs)} runs", document=given, hint=f"name one of them: {listed}" if runs else ""
        )
    return runs[0]
