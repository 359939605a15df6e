"""One command over files, in a container of its own that can reach nothing: what it said, and what it left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core.errors import EngineError
from runner.core.owner import ROLE
from runner.core.tars import TreeFile, tar_of
from runner.ports.engine import ContainerSpec, Mount, Tmpfs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runner.ports.engine import Engine

_MIB: Final = 1 << 20
_OUTPUT_BYTES: Final = 2048 * _MIB
_COMPLAINTS_BYTES: Final = 16 * _MIB
# An embedding model reads some tens of passages a second, and batches are cut to minutes: an hour is a hang.
_PATIENCE_MS: Final = 3_600_000


@dataclass(frozen=True)
class Job:
    """A command of an image; it reads `/in` and writes `/out`."""

    role: str
    image: str
    command: tuple[str, ...]
    memory_bytes: int
    cpus: int


@dataclass(frozen=True)
class Done:
    """How a command ended well."""

    stdout: bytes
    files: Mapping[str, bytes]
    """What it left in `/out`."""


@dataclass(frozen=True)
class Batches:
    """Runs jobs in `engine`; what is made there carries `labels`, and a name that begins with `prefix`."""

    engine: Engine
    labels: Mapping[str, str]
    prefix: str

    def run(self, job: Job, files: Iterable[Mapping[str, bytes]] = ()) -> Done:
        """What came of `job`; each of `files` is laid down in `/in` before the next is asked for.

        Raises:
            EngineError: the engine failed, or the command did.
        """
        name = f"{self.prefix}-{job.role}"
        volumes = {"/in": f"{name}-in", "/out": name}
        labels = {**self.labels, ROLE: job.role}
        spec = ContainerSpec(
            name=name,
            image=job.image,
            labels=labels,
            user="0:0",
            entrypoint=job.command,
            memory_bytes=job.memory_bytes,
            pids=256,
            cpus=job.cpus,
            mounts=tuple(Mount(volume, place, read_only=False) for place, volume in volumes.items()),
            tmpfs=(Tmpfs("/tmp", 64 * _MIB, 0, 0, "1777"),),  # noqa: S108 - in the container
        )
        made: list[str] = []
        container = ""
        try:
            for volume in volumes.values():
                self.engine.create_volume(volume, labels)
                made.append(volume)
            container = self.engine.create(spec)
            self._put(container, files)
            return self._outcome(job, container)
        finally:
            if container:
                self.engine.remove(container)
            for volume in made:
                self.engine.remove_volume(volume)

    def _put(self, container: str, files: Iterable[Mapping[str, bytes]]) -> None:
        for group in files:
            tar = tar_of({path: TreeFile(data) for path, data in group.items()})
            self.engine.put_tar(container, "/in", tar)

    def _outcome(self, job: Job, container: str) -> Done:
        self.engine.start(container)
        code = self.engine.wait(container, _PATIENCE_MS)
        stdout = self.engine.output(container, _OUTPUT_BYTES)
        if code != 0:
            said = stdout + self.engine.complaints(container, _COMPLAINTS_BYTES)
            end = said.decode("utf-8", "replace")[-2000:].strip()
            raise EngineError(f"{' '.join(job.command)} ended with {code}: {end}", document=f"image {job.image}")
        found = {
            entry.name.partition("/")[2]: entry.data
            for entry in self.engine.read_tree(container, "/out", _OUTPUT_BYTES)
            if entry.data is not None
        }
        return Done(stdout, found)
