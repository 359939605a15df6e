"""A run recomputed by the code that it keeps: in a container without a network, or right here if that is asked for.

The code of a run is a stranger's until somebody has read it: what it may do is decided here, and so is what is shown of
what it says. It is never run unless somebody asks for it.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.archives.harness import installed_files
from runner.core import layout
from runner.core.errors import EnvironmentNotReady, EvidenceError, ExitCode
from runner.core.harness import pinned_versions, version_differences
from runner.core.owner import ROLE, volume_name
from runner.core.tars import TreeFile, tar_of
from runner.core.visible import visible
from runner.images.harness_layer import HARNESS_FOLDER
from runner.ports.engine import ContainerSpec, Mount, Tmpfs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from runner.archives.harness import HarnessFiles
    from runner.pipeline.rooms import Room
    from runner.pipeline.world import World
    from runner.ports.engine import Engine
    from runner.ports.files import Files
    from runner.ports.programs import Programs

_MIB: Final = 1 << 20
_MEMORY_BYTES: Final = 4096 * _MIB
_TMP_BYTES: Final = 256 * _MIB
_PIDS: Final = 256
_MOST_CPUS: Final = 2
_PATIENCE_MS: Final = 6 * 3_600_000
_MOST_SAID_BYTES: Final = 16 * _MIB
_PIECE_BYTES: Final = 32 * _MIB
_NOBODY: Final = "65534:65534"
_PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}")
_KNOWN_CODES: Final = frozenset(int(code) for code in ExitCode)


@dataclass(frozen=True)
class Said:
    """How the code of a run ended, and what it said, a line at a time and with nothing that acts on a terminal."""

    exit_code: int
    output: str
    complaints: str


def other_versions(harness: HarnessFiles, found: Mapping[str, str]) -> tuple[str, ...]:
    """Distributions that the code of a run has in another version where it will run, one line each."""
    return version_differences(pinned_versions(harness.requirements), found)


def with_code(harness: HarnessFiles, arguments: Sequence[str], programs: Programs) -> int:
    """The exit code of `pairbench` with these arguments by the code of `harness`, which may do all that its user may.

    Raises:
        EnvironmentNotReady: it can't be started, or ended as no version of this program ends.
    """
    return _known(programs.run(installed_files(harness), arguments))


def contained(
    world: World, harness: HarnessFiles, folder: Path, arguments: Sequence[str], room: Room, begins: Callable[[], None]
) -> Said:
    """What `pairbench verify` says of the run in `folder`, by the code of `harness`, in a container of `room`.

    It has no network, no capability, a read-only root, and the run and its code as they are here, read-only. Container
    and volumes are gone at the end. `begins` is called when nothing but that code is left to begin.

    Raises:
        EnvironmentNotReady: no engine answers, or the code didn't end.
        EvidenceError: it ended as none of ours does.
    """
    engine = world.engine()
    name = f"verify-{volume_name(world.entropy.token())}"
    labels = world.owner.labels(name)
    code, run = (volume_name(name, part) for part in ("code", "run"))
    # What the code says of the run is said of its name, where that is one.
    place = f"/study/{folder.name if _PLAIN.fullmatch(folder.name) else 'run'}"
    mounts = (Mount(code, HARNESS_FOLDER, read_only=True), Mount(run, place, read_only=True))
    spec = ContainerSpec(
        name=name,
        image=room.image,
        labels={**labels, ROLE: "verify"},
        user=_NOBODY,
        command=("verify", *arguments, place),
        memory_bytes=min(_MEMORY_BYTES, engine.info().memory_bytes),
        pids=_PIDS,
        cpus=min(_MOST_CPUS, engine.info().cpus),
        mounts=mounts,
        tmpfs=(Tmpfs("/tmp", _TMP_BYTES, 0, 0, "1777"),),  # noqa: S108 - in the container
        environment={"HOME": "/tmp"},  # noqa: S108 - in the container
    )
    with contextlib.ExitStack() as made:
        for volume, role in ((code, "code"), (run, "run")):
            made.callback(engine.remove_volume, volume)
            engine.create_volume(volume, {**labels, ROLE: role})
        _fill(engine, spec, world.files, folder, installed_files(harness))
        container = engine.create(spec)
        made.callback(engine.remove, container)
        begins()
        engine.start(container)
        code_or_none = engine.wait(container, _PATIENCE_MS)
        if code_or_none is None:
            raise EnvironmentNotReady("the run's own code didn't end", document="archived code")
        output, complaints = (_shown(said(container, _MOST_SAID_BYTES)) for said in (engine.output, engine.complaints))
    return Said(_known(code_or_none, complaints), output, complaints)


def _fill(engine: Engine, spec: ContainerSpec, files: Files, folder: Path, code: Mapping[str, bytes]) -> None:
    """The volumes of `spec` hold the run in `folder` and its code; through a container that never starts."""
    run = spec.mounts[-1].destination
    writable = tuple(Mount(mount.volume, mount.destination, read_only=False) for mount in spec.mounts)
    filler = ContainerSpec(
        name=f"{spec.name}-fill",
        image=spec.image,
        labels={**spec.labels, ROLE: "fill"},
        user=spec.user,
        memory_bytes=spec.memory_bytes,
        pids=spec.pids,
        cpus=spec.cpus,
        mounts=writable,
    )
    container = engine.create(filler)
    try:
        engine.put_tar(container, HARNESS_FOLDER, tar_of({name: TreeFile(data) for name, data in code.items()}))
        for piece in _pieces(files, folder):
            engine.put_tar(container, run, tar_of({name: TreeFile(data) for name, data in piece.items()}))
    finally:
        engine.remove(container)


def _pieces(files: Files, folder: Path) -> Iterator[dict[str, bytes]]:
    """The files of a run, some at a time: it may be larger than the memory."""
    piece: dict[str, bytes] = {}
    for name in files.walk(folder):
        is_part = name != layout.HOLDER and files.is_regular(folder / name)
        data = files.read(folder / name) if is_part else None
        if data is None:
            continue
        if piece and sum(map(len, piece.values())) + len(data) > _PIECE_BYTES:
            yield piece
            piece = {}
        piece[name] = data
    if piece:
        yield piece


def _known(code: int, complaints: str = "") -> int:
    if code not in _KNOWN_CODES:
        last = complaints.strip().rpartition("\n")[2]
        raise EvidenceError(
            f"it ended with {code}, as this program never does{': ' if last else ''}{last}", document="archived code"
        )
    return code


def _shown(said: bytes) -> str:
    return "".join(f"{visible(line)}\n" for line in said.decode("utf-8", "replace").splitlines())
