"""An archive is read, every byte of it, before anything of it is made use of.

Blobs are unpacked into a private folder under the digests of their bytes; layers of images stay packed. Nothing in an
archive chooses a path, a size or a time there; whatever isn't exactly what the index says ends the reading, and the
entry is named.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from runner.archives.blobs import ArchiveStore
from runner.archives.checking import (
    MAX_DOCUMENT_BYTES,
    check_code,
    check_index,
    check_trials,
    document,
    image_of,
    read_trees,
)
from runner.archives.frame import (
    BLOCK_BYTES,
    INDEX,
    LOADABLE,
    MAX_INDEX_BYTES,
    README,
    SEAL,
    SEAL_BYTES,
    Entry,
    entries,
    loadable,
    seal_of,
    total_bytes,
)
from runner.archives.harness import MAX_WHEEL_BYTES, HarnessFiles
from runner.archives.index import ArchiveIndex
from runner.archives.split import JoinedFile, part_path, translated, whole_path
from runner.archives.trials import member_chunks, members
from runner.core import layout
from runner.core.canonical import Digest, sha256_digest
from runner.core.errors import EnvironmentNotReady, EvidenceError, StudyError
from runner.images.archive import archive_chunks
from runner.images.tarball import end_of_archive, file_header, padding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from runner.archives.index import ArchivedImage
    from runner.archives.trees import RunTree
    from runner.images.oci import BuiltImage

MAX_BYTES: Final = 64 << 30
"""What an archive may come to, unpacked, unless whoever reads it says otherwise."""

_OCTAL: Final = slice(124, 135)
_NOT_ONE: Final = "it isn't an archive of ours, or it is damaged"


@dataclass(frozen=True)
class OpenArchive:
    """An archive all of whose bytes are what its index says; `store` gives its blobs."""

    index: ArchiveIndex
    index_sha256: Digest
    store: ArchiveStore
    trees: Mapping[str, RunTree]

    def blob(self, digest: str) -> Iterator[bytes]:
        """The bytes of the blob `digest`."""
        return self.store.read_blob(Digest(digest))

    def unpack_run(self, name: str, folder: Path) -> None:
        """`folder` is the run `name`, whole.

        Raises:
            StudyError: the archive has no such run, or something stands there already.
            EnvironmentNotReady: the disk refuses.
        """
        tree = self.trees.get(name)
        if tree is None:
            raise StudyError(f"the archive has no run {name!r}", hint=f"it has {', '.join(self.trees) or 'none'}")
        if os.path.lexists(folder):
            raise StudyError("it is there already", document=str(folder), hint="name another folder, or remove it")
        with translated(folder):
            folder.parent.mkdir(parents=True, exist_ok=True)
            unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
            try:
                self._lay_down(tree, unfinished)
                unfinished.chmod(0o777 & ~_umask())
                unfinished.rename(folder)
            except BaseException:
                shutil.rmtree(unfinished, ignore_errors=True)
                raise

    def images(self, which: Sequence[str] = ()) -> tuple[ArchivedImage, ...]:
        """The images called `which` by name, tag or digest of the configuration; all when none is called.

        Raises:
            StudyError: the archive has no such image.
        """
        found = {image.config: image for image in self.index.images if not which}
        for wanted in which:
            called = [image for image in self.index.images if wanted in {image.pin.name, image.pin.tag, image.config}]
            if not called:
                known = ", ".join(image.pin.name for image in self.index.images) or "none"
                raise StudyError(f"the archive has no image {wanted!r}", hint=f"it has {known}")
            found |= {image.config: image for image in called}
        return tuple(found.values())

    def built(self, which: Sequence[str] = ()) -> tuple[BuiltImage, ...]:
        """Images as if they were built here, whose layers are in `store`; raises as `images` does."""
        return tuple(image_of(self.index, image, self.store) for image in self.images(which))

    def image_chunks(self, which: Sequence[str] = ()) -> Iterator[bytes]:
        """Images as one tar that an engine loads, layers not packed; raises as `images` does."""
        return archive_chunks(self.built(which), self.store)

    def harness(self, source_sha256: str) -> HarnessFiles | None:
        """The code with that digest, if the archive has it."""
        code = self.index.harness.get(source_sha256)
        if code is None:
            return None
        wheel = document(self.index, self.store, code.wheel.digest, MAX_WHEEL_BYTES)
        needs = document(self.index, self.store, code.requirements)
        return HarnessFiles(code.pin, code.wheel.file, wheel, needs)

    def _lay_down(self, tree: RunTree, folder: Path) -> None:
        for path, listed in tree.files.items():
            _lay(folder / path, self.blob(listed.digest))
        for trial, listed in tree.trials.items():
            with self.store.blob_path(listed.digest).open("rb") as stream:
                for member in members(stream, trial):
                    _lay(folder / layout.TRIALS / trial / member.path, member_chunks(stream, member))


def is_archive(path: Path) -> bool:
    """Whether a file, or the parts of one, stands at `path`: a run is a folder.

    Raises:
        StudyError: what stands there is neither, as a pipe.
    """
    _refuse_streams(path)
    return any(os.path.isfile(file) for file in _first_files(path))  # noqa: PTH113 - a name may be too long for a file


def begins_as_archive(path: Path) -> bool:
    """Whether what stands at `path`, or its first part, begins as every archive does; what can't be read doesn't."""
    start = Entry(SEAL, 0, SEAL_BYTES).header
    for file in _first_files(path):
        try:
            # A pipe would block for ever.
            if file.is_file():
                with file.open("rb") as stream:
                    return stream.read(BLOCK_BYTES) == start
        except OSError:
            continue
    return False


def _first_files(path: Path) -> tuple[Path, Path]:
    """Where an archive called `path` would begin: itself, or in its first part."""
    return path, part_path(whole_path(path), 1)


def _refuse_streams(path: Path) -> None:
    """What stands at `path`, if anything, is a file or a folder: entries are read where they lie, some twice."""
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):  # noqa: PTH110, PTH112, PTH113
        told = "it is a pipe, a socket or a device, and an archive must be a file"
        raise StudyError(told, document=str(path), hint="write what comes out of it to a file first")


@contextmanager
def open_archive(path: Path, scratch: Path, *, max_bytes: int = MAX_BYTES) -> Iterator[OpenArchive]:
    """The archive `path`, all of which was read and held; what it was unpacked to in `scratch` is gone at the end.

    Raises:
        StudyError: there is no such file, or what stands there is none, as a pipe.
        EvidenceError: an entry isn't what the index says, or the index isn't one.
        EnvironmentNotReady: there is no room, or the disk refuses.
    """
    _refuse_streams(path)
    with translated(scratch):
        scratch.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="archive-", dir=scratch))
    try:
        with JoinedFile(path) as file:
            index, written = _read_index(file)
            check_index(index)
            listed = [*entries(index, len(written))]
            file.check_size(total_bytes(listed), _cut_entry(listed, file.size))
            _make_room(index, folder, max_bytes)
            _check_texts(file, index, listed)
            store = ArchiveStore(folder, file, index, {entry.digest: entry for entry in listed if entry.digest})
            store.take_all()
            trees = read_trees(index, store)
            check_trials(index, trees, store)
            check_code(index, store)
            for image in index.images:
                image_of(index, image, store)
            yield OpenArchive(index, sha256_digest(written), store, trees)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _read_index(file: JoinedFile) -> tuple[ArchiveIndex, bytes]:
    seal = Entry(SEAL, 0, SEAL_BYTES)
    said = _small(file, seal)
    header = file.read(seal.end, BLOCK_BYTES)
    digits = header[_OCTAL]
    if not digits.isdigit() or digits.strip(b"01234567") or header != file_header(INDEX, int(digits, 8)):
        raise EvidenceError(_NOT_ONE, document=INDEX)
    entry = Entry(INDEX, seal.end, int(digits, 8))
    if entry.size > MAX_INDEX_BYTES:
        raise EvidenceError(f"it says that it has {entry.size} bytes: too many for an index", document=INDEX)
    data = _small(file, entry)
    if said != seal_of(sha256_digest(data)):
        raise EvidenceError(f"its digest is {sha256_digest(data)}, and {SEAL} says otherwise", document=INDEX)
    index = ArchiveIndex.from_bytes(data, INDEX)
    if index.to_bytes() != data:
        raise EvidenceError("its bytes are not canonical", document=INDEX)
    return index, data


def _small(file: JoinedFile, entry: Entry) -> bytes:
    """The bytes of an entry that is read whole."""
    found = file.read(entry.start, BLOCK_BYTES + entry.size + len(padding(entry.size)))
    if len(found) < entry.end - entry.start:
        raise EvidenceError("the archive ends here, too early", document=entry.name, hint="copy it again")
    if found[:BLOCK_BYTES] != entry.header or found[BLOCK_BYTES + entry.size :] != padding(entry.size):
        raise EvidenceError(_NOT_ONE, document=entry.name)
    return found[BLOCK_BYTES : BLOCK_BYTES + entry.size]


def _cut_entry(listed: list[Entry], size: int) -> str:
    """The entry in which an archive of `size` bytes ends."""
    return next((entry.name for entry in listed if size < entry.end), listed[-1].name)


def _make_room(index: ArchiveIndex, folder: Path, max_bytes: int) -> None:
    total = index.raw_bytes()
    if total > max_bytes:
        raise EvidenceError(
            f"it says that it unpacks to {total} bytes, and {max_bytes} are allowed",
            document=INDEX,
            hint="allow more with --max-size, if you trust where it comes from",
        )
    layers = index.layers()
    needed = sum(pin.size for digest, pin in index.blobs.items() if digest not in layers)
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise EnvironmentNotReady(
            f"unpacking the archive takes {needed} bytes, and {free} are free", document=str(folder), hint="make room"
        )


def _check_texts(file: JoinedFile, index: ArchiveIndex, listed: list[Entry]) -> None:
    """What isn't a blob is what the index says, and nothing follows the last entry."""
    for entry in listed:
        if entry.name == LOADABLE and _small(file, entry) != loadable(index):
            raise EvidenceError("it names other images than the index", document=LOADABLE)
        if entry.name == README and entry.size > MAX_DOCUMENT_BYTES:
            raise EvidenceError(f"it has more than {MAX_DOCUMENT_BYTES} bytes", document=README)
        if entry.name == README and sha256_digest(_small(file, entry)) != index.readme.sha256:
            raise EvidenceError("its digest isn't what the index says", document=README)
    if file.read(listed[-1].end, len(end_of_archive())) != end_of_archive():
        raise EvidenceError("the archive doesn't end as a tar does", document=listed[-1].name)


def _lay(path: Path, chunks: Iterable[bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as stream:
        for chunk in chunks:
            stream.write(chunk)


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
