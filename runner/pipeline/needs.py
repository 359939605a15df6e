"""What in the cache is needed, and by whom: runs, archives, and the locks of this checkout.

Whoever asks learns of everything that couldn't be read too: what that needs is unknown, and nothing may be taken away.
"""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from runner.archives.frame import BLOCK_BYTES, MAX_INDEX_BYTES, SEAL, SEAL_BYTES, Entry
from runner.archives.index import ArchiveIndex
from runner.archives.reading import begins_as_archive
from runner.archives.split import JoinedFile, parts_of, whole_path
from runner.core import layout
from runner.core.canonical import Digest, digest_of, parse_json
from runner.core.corpus import CorpusLock
from runner.core.errors import PairbenchError
from runner.core.lock import Lock
from runner.images.oci import BASE_LABEL
from runner.images.spec import LOCKS_FOLDER
from runner.images.tarball import FIXED_TIME
from runner.pipeline.folder import LATEST

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from runner.core.canonical import Json
    from runner.images.store import Store

USER_IMAGES: Final = "an image of a study's own"
"""Who needs what nothing here makes again."""
OUR_LOCKS: Final = f"images/{LOCKS_FOLDER}"
_OCTAL: Final = slice(124, 135)
_CORPUS: Final = "corpus.toml"
_CORPUS_LOCK: Final = "corpus.lock.json"
_INDEXERS: Final = ("trial", "qdrant", "retrieval")
"""The images on which an index depends."""


@dataclass(frozen=True)
class ArchiveFile:
    """An archive that was found: what it says that it holds, and the files that it consists of."""

    path: Path
    index: ArchiveIndex
    files: tuple[Path, ...]


@dataclass
class Needs:
    """Who needs what: digests of blobs and of indexes' archives, names of downloads, keys of indexes."""

    blobs: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Layers and configurations of images."""
    downloads: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    indexes: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """By the digest of their archive, or by the key of what our images would make of a corpus that is declared."""
    declarations: dict[str, str] = field(default_factory=dict)
    """Of corpora: who declares -> the whole text, in which the digests and commits of its parts stand."""
    unknown: list[str] = field(default_factory=list)
    """What couldn't be read, so that nobody knows what it needs."""
    with_submodules: set[str] = field(default_factory=set)
    """Who declares a corpus whose commits lead to further ones that aren't named in it."""

    def of_part(self, name: str) -> set[str]:
        """Who declares the part of a corpus that the cache keeps as `name`."""
        return {who for who, text in self.declarations.items() if name in text}


def gathered(
    images_dir: Path, runs: Mapping[str, Path], archives: Iterable[ArchiveFile], store: Store, *, user_images: bool
) -> Needs:
    """What the locks beside `images_dir`, the `runs` and the `archives` need; configurations come out of `store`.

    With `user_images`, an image of a study's own needs its layers too, whoever needs it itself.
    """
    needs = Needs()
    passages: defaultdict[str, set[str]] = defaultdict(set)
    ours = _image_locks(images_dir, needs)
    _corpora(images_dir.parent / "corpora", ("corpora", ""), needs, passages)
    for name, folder in runs.items():
        _run(name, folder, needs)
        _corpora(folder, (name, layout.INPUTS), needs, passages)
    for archive in archives:
        for image in archive.index.images:
            for digest in (image.config, *image.layers):
                needs.blobs[digest].add(archive.path.name)
    if user_images:
        for digest in _user_images(store):
            needs.blobs[digest].add(USER_IMAGES)
    _configured(needs, store)
    for made_of, who in passages.items():
        for key in _index_keys(made_of, ours):
            needs.indexes[key] |= who
    return needs


def find_runs(folders: Iterable[Path]) -> dict[str, Path]:
    """Every run directly in one of `folders`, by its name, or its path where two have one name; also a damaged one."""
    marks = (layout.LOCK, layout.LEDGER, layout.SUMMARY)
    found: dict[str, Path] = {}
    # Neither of these raises, whatever a link leads to and whoever may not enter.
    entries = (Path(os.path.realpath(entry)) for parent in folders for entry in _listed(parent))
    for folder in dict.fromkeys(entries):
        if any(os.path.isfile(folder / mark) for mark in marks):  # noqa: PTH113
            found[str(folder) if folder.name in found else folder.name] = folder
    return found


def unseen(usual: Sequence[Path], named: Sequence[Path]) -> tuple[str, ...]:
    """What may be runs, or hold some, and can't be looked into: links that lead nowhere, and what nobody may enter.

    Of the `usual` folders of runs one is enough, unless others are `named`; those must all be there.
    """
    found, seen = [], False
    for folder in dict.fromkeys((*usual, *named)):
        try:
            entries = sorted(folder.iterdir())
        except OSError:
            if folder in named or os.path.lexists(folder):
                found.append(str(folder))
            continue
        seen = True
        # A run that was removed leaves the pointer to it behind.
        found += [str(entry) for entry in entries if entry.name != LATEST and not _can_be_entered(entry)]
    return tuple(found if seen or found else map(str, usual[:1]))


def find_archives(folders: Iterable[Path]) -> Iterator[ArchiveFile]:
    """Every archive directly in one of `folders`; one whose index can't be read holds nothing that could be told."""
    for path in dict.fromkeys(
        whole_path(path) for parent in folders for path in _listed(parent) if begins_as_archive(path)
    ):
        try:
            yield ArchiveFile(path, _index_of(path), parts_of(path))
        except PairbenchError:
            continue


def _image_locks(images_dir: Path, needs: Needs) -> dict[str, str]:
    """What the locks name is needed; the digests of the images that they come to are returned, by name."""
    ours: dict[str, str] = {}
    locks = [path for path in _listed(images_dir / LOCKS_FOLDER) if path.suffix == ".json"]
    if not locks:
        needs.unknown.append(OUR_LOCKS)
    for path in locks:
        value = _json(path, f"{OUR_LOCKS}/{path.name}", needs)
        layers, images = value.get("layers"), value.get("images")
        for digest in (*(layers.values() if isinstance(layers, dict) else ()), value.get("layer")):
            if isinstance(digest, str):
                needs.blobs[digest].add(OUR_LOCKS)
        if isinstance(images, dict):
            ours |= {name: str(image.get("config")) for name, image in images.items() if isinstance(image, dict)}
        for item in _objects(value.get("packages")):
            needs.downloads[f"{str(item.get('sha256')).removeprefix('sha256:')}.deb"].add(OUR_LOCKS)
        for item in (*_objects(value.get("wheels")), *_objects(value.get("sources"))):
            needs.downloads[str(item.get("file"))].add(OUR_LOCKS)
    for digest in ours.values():
        needs.blobs[digest].add(OUR_LOCKS)
    return ours


def _run(name: str, folder: Path, needs: Needs) -> None:
    try:
        lock = Lock.from_bytes((folder / layout.LOCK).read_bytes(), layout.LOCK)
    except (OSError, PairbenchError):
        needs.unknown.append(name)
        return
    for image in lock.images:
        for digest in (image.config_digest, *image.diff_ids):
            needs.blobs[digest].add(name)
    for corpus in lock.corpora.values():
        needs.indexes[corpus.index.archive_sha256].add(name)


def _corpora(folder: Path, place: tuple[str, str], needs: Needs, passages: defaultdict[str, set[str]]) -> None:
    """Corpora that are declared in `folder`: their texts, and the passages that their locks name.

    `place` is how the folder is called, and where below it is looked; "" for everywhere.
    """
    who, below = place
    declared, locked, closed = _found_below(folder / below, follow=not below)
    needs.unknown += [f"{who}/{path.relative_to(folder).as_posix()}" for path in closed]
    for path in declared:
        name = f"{who}/{path.relative_to(folder).as_posix()}"
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeError):
            needs.unknown.append(name)
            continue
        needs.declarations[name] = text
        if "submodules" in text:
            needs.with_submodules.add(name)
    for path in locked:
        try:
            lock = CorpusLock.from_bytes(path.read_bytes(), path.name)
        except (OSError, PairbenchError):
            needs.unknown.append(f"{who}/{path.relative_to(folder).as_posix()}")
        else:
            passages[lock.passages_sha256].add(who)


def _found_below(folder: Path, *, follow: bool) -> tuple[list[Path], list[Path], list[Path]]:
    """The declarations and the locks of corpora somewhere below `folder`, and what can't be looked into.

    With `follow`, a corpus may be a link to where it is kept; what a run holds is a copy, and its links are anybody's.
    """
    found: list[Path] = []
    closed: list[Path] = []
    entered: set[str] = set()
    failed: list[OSError] = []
    for here, folders, files in os.walk(folder, onerror=failed.append, followlinks=follow):
        real = os.path.realpath(here)
        if real in entered:
            folders.clear()
            continue
        entered.add(real)
        found += [Path(here, name) for name in files]
    if follow:
        closed += [path for path in found if path.is_symlink() and not os.path.exists(path)]  # noqa: PTH110 - a loop
    closed += [Path(error.filename) for error in failed if os.path.lexists(error.filename)]
    declared, locked = ([path for path in found if path.name == name] for name in (_CORPUS, _CORPUS_LOCK))
    return sorted(declared), sorted(locked), sorted({*closed})


def _user_images(store: Store) -> Iterator[str]:
    """The configurations of images in `store` that this program didn't make: no lock leads to what they consist of."""
    for path in _listed(store.folder / "blobs" / "sha256"):
        digest = f"sha256:{path.name}"
        value = _small_json(path, digest)
        if not isinstance(value, dict) or not isinstance(value.get("rootfs"), dict):
            continue
        settings = value.get("config")
        labels = settings.get("Labels") if isinstance(settings, dict) else None
        # An image on top of one of ours has the label, too, and a time of its own.
        ours = isinstance(labels, dict) and BASE_LABEL in labels and value.get("created") == FIXED_TIME
        if not ours:
            yield digest


def _configured(needs: Needs, store: Store) -> None:
    """Whoever needs a configuration needs the layers that it names."""
    for digest, who in list(needs.blobs.items()):
        try:
            path = store.blob_path(Digest(digest))
        except PairbenchError:
            continue
        value = _small_json(path, digest)
        rootfs = value.get("rootfs") if isinstance(value, dict) else None
        layers = rootfs.get("diff_ids") if isinstance(rootfs, dict) else None
        for layer in layers if isinstance(layers, list) else ():
            needs.blobs[str(layer)].update(who)


def _index_keys(passages: str, images: Mapping[str, str]) -> Iterator[str]:
    """The keys under which the cache keeps indexes of `passages` that `images` made."""
    trial, sidecar, retrieval = (images.get(name) for name in _INDEXERS)
    if trial is None or sidecar is None:
        return
    yield digest_of([passages, trial, sidecar])
    if retrieval is not None:
        yield digest_of([passages, trial, sidecar, retrieval])


def _index_of(path: Path) -> ArchiveIndex:
    """The index of the archive, which nobody held to anything yet; raises as reading one does."""
    with JoinedFile(path) as file:
        start = Entry(SEAL, 0, SEAL_BYTES).end
        digits = file.read(start, BLOCK_BYTES)[_OCTAL].strip(b"\0 ")
        size = int(digits, 8) if digits.isdigit() and not digits.strip(b"01234567") else 0
        return ArchiveIndex.from_bytes(file.read(start + BLOCK_BYTES, min(size, MAX_INDEX_BYTES)), path.name)


def _small_json(path: Path, digest: str) -> Json:
    """The value of a configuration; None for anything else: a layer is no JSON, and mostly larger than those."""
    try:
        return parse_json(path.read_bytes(), digest) if path.stat().st_size < 1 << 20 else None
    except (OSError, PairbenchError):
        return None


def _json(path: Path, name: str, needs: Needs) -> Mapping[str, object]:
    try:
        value = parse_json(path.read_bytes(), name)
    except (OSError, PairbenchError):
        value = None
    if not isinstance(value, dict):
        needs.unknown.append(name)
        return {}
    return value


def _objects(value: object) -> Sequence[Mapping[str, object]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _can_be_entered(entry: Path) -> bool:
    """Whether it is known what `entry` is, and what is in it."""
    try:
        entry.stat()
    except OSError:
        return False
    return not entry.is_dir() or os.access(entry, os.R_OK | os.X_OK)
