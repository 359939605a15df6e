"""Corpora and indexes as volumes of the engine: filled once for a run, through the engine, and read back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core.errors import EngineError, EvidenceError
from runner.core.owner import ROLE
from runner.core.passages import tree_digest
from runner.core.tars import TreeFile, tar_of
from runner.ports.engine import ContainerSpec, Mount, Tmpfs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.core.canonical import Digest
    from runner.ports.engine import Engine

_MIB: Final = 1 << 20
_UNPACK_MS: Final = 120_000
_READ_BACK_BYTES: Final = 4096 * _MIB


@dataclass(frozen=True)
class Filler:
    """Makes the read-only volumes of a run; `image` is one that has the sidecar's `unpack`."""

    engine: Engine
    image: str
    labels: Mapping[str, str]

    def fill_workspace(self, name: str, files: Mapping[str, TreeFile], expected: Digest) -> None:
        """The volume `name` holds `files`, as read back from the engine.

        Raises:
            EvidenceError: what the engine gives back isn't `expected`.
        """
        self.engine.create_volume(name, {**self.labels, ROLE: "workspace"})
        container = self._container(name, "/workspace", "workspace", mounts=())
        try:
            self.engine.put_tar(container, "/workspace", tar_of(files))
            found = {
                entry.name.partition("/")[2]: entry.data
                for entry in self.engine.read_tree(container, "/workspace", _READ_BACK_BYTES)
                if entry.data is not None
            }
        finally:
            self.engine.remove(container)
        if tree_digest(found) != expected:
            raise EvidenceError("the engine gave back another tree than was put in", document=f"volume {name}")

    def fill_index(self, name: str, archive: bytes) -> None:
        """The volume `name` holds the index of `archive`, laid out.

        Raises:
            EngineError: the archive can't be laid out.
        """
        source = f"{name}-archive"
        self.engine.create_volume(name, {**self.labels, ROLE: "index"})
        self.engine.create_volume(source, {**self.labels, ROLE: "index-archive"})
        container = self._container(name, "/index", "index", mounts=(Mount(source, "/in", read_only=False),))
        try:
            self.engine.put_tar(container, "/in", tar_of({"index.tar": TreeFile(archive)}))
            self.engine.start(container)
            code = self.engine.wait(container, _UNPACK_MS)
            if code != 0:
                said = self.engine.complaints(container, 65536).decode("utf-8", "replace").strip()
                raise EngineError(f"the index can't be laid out (exit {code}): {said}", document=f"volume {name}")
        finally:
            self.engine.remove(container)
            self.engine.remove_volume(source)

    def _container(self, volume: str, destination: str, role: str, mounts: tuple[Mount, ...]) -> str:
        return self.engine.create(
            ContainerSpec(
                name=f"{volume}-filler",
                image=self.image,
                labels={**self.labels, ROLE: f"{role}-filler"},
                user="0:0",  # a fresh volume belongs to root, and what is laid out is for everyone to read
                command=None,
                entrypoint=(
                    *("python3", "/opt/pairbench/sidecar/main.py", "unpack"),
                    *("--archive", "/in/index.tar", "--into", "/index"),
                ),
                memory_bytes=1024 * _MIB,
                pids=64,
                cpus=1,
                mounts=(Mount(volume, destination, read_only=False), *mounts),
                tmpfs=(Tmpfs("/tmp", 16 * _MIB, 0, 0, "1777"),),  # noqa: S108 - in the container
            )
        )
