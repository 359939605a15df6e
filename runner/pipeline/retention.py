"""Disk: what each run takes, and what of the cache nothing needs any more, which can be taken away.

What is in the cache can be made again from locks and declarations, but for the images of studies' own, which only the
engine that built them had. Runs and archives are looked at and never touched, but for archives that nobody will finish.
Where it isn't known what a run or a lock needs, everything stays.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from runner.archives.packing import LIBRARIES
from runner.core.canonical import Digest, digest_of, parse_json
from runner.core.errors import PairbenchError
from runner.pipeline.needs import find_archives, find_runs, gathered, unseen
from runner.pipeline.unfinished import unfinished_archives

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from runner.pipeline.needs import Needs
    from runner.pipeline.world import World

_TEMPORARY: Final = ("opened-", ".fetching-")
"""How names begin in the cache that are gone when the process that made them ends, unless it is killed."""
KINDS: Final = {
    "layers": "layers and configurations of images",
    "packed": "layers as they stand in archives",
    "records": "which inputs gave which layer",
    "interpreters": "the Python of a base, unpacked",
    "downloads": "Debian packages and wheels",
    "model": "the embedding model, unpacked",
    "indexes": "ready-made indexes of corpora",
    "corpora": "wheels and commits that corpora are laid out from",
    "partial": "what processes that died left half made",
}
"""Every kind of thing that is looked at, in words."""


@dataclass(frozen=True)
class Item:
    """One thing in the cache, and who needs it; nobody: it may go."""

    kind: str
    name: str
    path: Path
    size_bytes: int
    needed_by: tuple[str, ...]


@dataclass(frozen=True)
class RunUse:
    """The disk that a run takes."""

    run: str
    folder_bytes: int
    archives_bytes: int
    """Of the archives that hold it; they may hold others too."""
    cache_bytes: int
    """Of what it needs in the cache."""
    alone_bytes: int
    """Of that, what nobody else needs."""


@dataclass(frozen=True)
class Survey:
    """What was found."""

    runs: tuple[RunUse, ...]
    items: tuple[Item, ...]
    unknown: tuple[str, ...]
    """Runs and locks that can't be read: as long as there are any, what images and indexes need isn't known."""

    @property
    def superfluous(self) -> tuple[Item, ...]:
        """What nothing needs."""
        return tuple(item for item in self.items if not item.needed_by)


@dataclass(frozen=True)
class Cleaned:
    """What became of what nothing needs."""

    removed: tuple[Item, ...]
    kept: tuple[tuple[Item, str], ...]
    """What the disk wouldn't let go, and what it said."""


def survey(
    world: World, more_runs: Sequence[Path] = (), more_archives: Sequence[Path] = (), *, user_images: bool = True
) -> Survey:
    """What the cache holds and who needs it.

    Runs are also looked for in `more_runs`, archives in `more_archives`. Without `user_images`, images of studies' own
    stay only where a run or an archive needs them.
    """
    # The cache belongs to the checkout, whose runs need it too, whatever folder this process works in.
    usual = (world.places.runs, world.places.images.parent / "runs")
    runs = find_runs((*usual, *more_runs))
    beside = (*usual, *more_runs, *more_archives)
    archives = tuple(find_archives(beside))
    needs = gathered(world.places.images, runs, archives, world.build.store, user_images=user_images)
    needs.unknown += unseen(usual, more_runs)
    items = (*_items(world.places.cache, world.build.store.folder, needs), *_unfinished(beside))
    uses = []
    for name, folder in runs.items():
        held = sum(
            sum(file.stat().st_size for file in archive.files) for archive in archives if name in archive.index.runs
        )
        needed = [item for item in items if name in item.needed_by]
        alone = sum(item.size_bytes for item in needed if item.needed_by == (name,))
        uses.append(RunUse(name, _size(folder), held, sum(item.size_bytes for item in needed), alone))
    return Survey(tuple(uses), items, tuple(sorted(needs.unknown)))


def clean(found: Survey) -> Cleaned:
    """What nothing needs is gone, but for what the disk keeps; whoever calls sees to it that nobody uses the cache."""
    removed, kept = [], []
    for item in found.superfluous:
        try:
            _remove(item.path)
        except OSError as error:
            kept.append((item, error.strerror or str(error)))
        else:
            removed.append(item)
    return Cleaned(tuple(removed), tuple(kept))


def _items(cache: Path, images: Path, needs: Needs) -> Iterator[Item]:
    layers = tuple(_layers(images, needs))
    yield from layers
    kept = {f"sha256:{item.name}" for item in layers if item.needed_by}
    yield from _records(images, kept)
    yield from _interpreters(images, needs)
    for kind in ("debs", "wheels"):
        for path in _listed(images / "downloads" / kind):
            yield _item("downloads", path, (needs.downloads.get(path.name, ()), needs.unknown))
    yield from _packed(cache / "packed", needs)
    for path in _listed(cache / "model"):
        yield _item("model", path, (needs.blobs.get(f"sha256:{path.name}", ()), needs.unknown))
    for path in _listed(cache / "indexes"):
        by = needs.indexes.get(f"sha256:{path.name}", set()) | needs.indexes.get(_archive_of(path), set())
        yield _item("indexes", path, (by, needs.unknown))
    yield from _corpora(cache / "corpora", needs)
    # Whoever surveys to clean is alone in the cache: what is half made has nobody who would go on with it.
    left = (images / "partial", images / "downloads" / "images", cache / "packed" / "partial")
    for folder in (*left, cache / "scratch", cache / "unpacking"):
        for path in _listed(folder):
            yield _item("partial", path, ())
    for path in (*_listed(cache), *_listed(cache / "corpora" / "git")):
        if path.name.startswith(_TEMPORARY):
            yield _item("partial", path, ())


def _unfinished(folders: Sequence[Path]) -> Iterator[Item]:
    for path, is_open in unfinished_archives(folders):
        # Another checkout's process has a cache of its own, and may be writing here.
        yield _item("partial", path, (("a process that may still write it",) if is_open else (),))


def _layers(images: Path, needs: Needs) -> Iterator[Item]:
    # A base that another image gave is recorded, and named by no lock.
    foreign = {word for path in _listed(images / "foreign") for word in _strings(path)}
    for path in _listed(images / "blobs" / "sha256"):
        digest = f"sha256:{path.name}"
        named = ("a base taken from another image",) if digest in foreign else ()
        yield _item("layers", path, (needs.blobs.get(digest, ()), needs.unknown, named))


def _records(images: Path, kept: set[str]) -> Iterator[Item]:
    led = {path.name: _led_to(path) for path in _listed(images / "layers")}
    for kind in ("layers", "origins"):
        for path in _listed(images / kind):
            yield _item("records", path, (("a layer that is kept",) if led.get(path.name) in kept else (),))


def _interpreters(images: Path, needs: Needs) -> Iterator[Item]:
    """Of several that one base gave to builders that have changed since, the newest is needed."""
    newest: dict[str, Path] = {}
    folders = _listed(images / "interpreters")
    for path in sorted(folders, key=lambda path: path.stat().st_mtime_ns):
        newest[_led_to(images / "layers" / f"{path.name}.json")] = path
    for path in folders:
        layer = _led_to(images / "layers" / f"{path.name}.json")
        by = needs.blobs.get(layer, ()) if newest[layer] == path else ()
        yield _item("interpreters", path, (by, needs.unknown))


def _packed(packed: Path, needs: Needs) -> Iterator[Item]:
    keys = {
        digest_of({"layer": digest, "encoding": encoding, "library": library}): digest
        for digest in needs.blobs
        for encoding, library in LIBRARIES.items()
    }
    who: dict[str, set[str]] = {}
    for path in _listed(packed / "layers"):
        layer = keys.get(Digest(f"sha256:{path.stem}"))
        if layer is not None:
            who.setdefault(_led_to(path), set()).update(needs.blobs[layer])
        yield _item("packed", path, (needs.blobs[layer] if layer is not None else (), needs.unknown))
    for path in _listed(packed / "blobs" / "sha256"):
        yield _item("packed", path, (who.get(f"sha256:{path.name}", ()), needs.unknown))


def _corpora(corpora: Path, needs: Needs) -> Iterator[Item]:
    for path in _listed(corpora):
        if path.name != "git":
            yield _item("corpora", path, (needs.of_part(path.name), needs.unknown))
    for path in _listed(corpora / "git"):
        if path.name.startswith(_TEMPORARY):
            continue
        yield _item("corpora", path, (needs.of_part(path.name), needs.with_submodules, needs.unknown))


def _item(kind: str, path: Path, needed_by: Sequence[Iterable[str]]) -> Item:
    who = sorted({name for names in needed_by for name in names})
    return Item(kind, path.name, path, _size(path), tuple(who))


def _size(path: Path) -> int:
    """The bytes of the file, or of every file below the folder; what vanishes meanwhile counts as nothing."""
    if not path.is_dir() or path.is_symlink():
        with contextlib.suppress(OSError):
            return path.lstat().st_size
        return 0
    return sum(_size(entry) for entry in _listed(path))


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _value(path: Path) -> object:
    try:
        return parse_json(path.read_bytes(), path.name)
    except (OSError, PairbenchError):
        return None


def _led_to(record: Path) -> str:
    """The layer that the record names; "" where it names none."""
    value = _value(record)
    return str(value.get("diff_id", "")) if isinstance(value, dict) else ""


def _archive_of(index: Path) -> str:
    value = _value(index / "pin.json")
    return str(value.get("archive_sha256", "")) if isinstance(value, dict) else ""


def _strings(record: Path) -> Iterator[str]:
    value = _value(record)
    for pair in value if isinstance(value, list) else ():
        if isinstance(pair, list) and pair:
            yield str(pair[0])


def _remove(path: Path) -> None:
    """Nothing stands at `path` any more; folders that nobody may write to are made writable first."""
    if not path.is_dir() or path.is_symlink():
        path.unlink(missing_ok=True)
        return
    # Top down: what can't be entered can't be listed.
    for here, _, _ in os.walk(path):
        Path(here).chmod(0o700)
    shutil.rmtree(path)
