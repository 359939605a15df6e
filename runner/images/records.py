"""What is known of a layer's files, recorded when the layer is made: digest, size, and what each came out of.

A record stands in the store beside its layer, `origins/<hex>.json`, under the name of the layer's inputs: two versions
of a package may give the same layer. Without it the layer is as good; whoever wants to know makes it again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from runner.core.canonical import canonical_bytes
from runner.images.origins import Origin
from runner.images.tarball import tree_chunks
from runner.images.tree import FileEntry, FolderEntry, LinkEntry, Tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runner.core.canonical import Digest, Json
    from runner.images.inputs import Build
    from runner.images.store import Blob, Store
    from runner.images.tree import Content

_KIND = "origins"


@dataclass(frozen=True)
class FileFacts:
    """A file or link of a layer, and what it came out of."""

    path: str
    kind: Literal["file", "link"]
    sha256: str
    """"" for a link."""
    size_bytes: int
    target: str
    """What a link leads to; "" for a file."""
    origin: Origin
    compiled: bool
    """Whether it was compiled here from a source of its origin, instead of being taken as it is."""


def recorded_layer(key: Digest, make: Callable[[], Tree], build: Build) -> Blob:
    """The layer of the inputs `key`, in the store; it is made where it, or a record that is asked for, isn't there."""
    blob = build.store.layer(key)
    if blob is None or (build.recorded and record_of(key, build.store) is None):
        blob = add_recorded(key, make(), build.store)
    return blob


def add_recorded(key: Digest, tree: Tree, store: Store) -> Blob:
    """The store holds the layer that `tree` makes, and its record, both to be found by `key`."""
    watched, digests = _watched(tree)
    blob = store.add_layer(key, tree_chunks(watched))
    origins = sorted({origin for entry in tree.entries.values() if (origin := _origin(entry)) is not None})
    numbers = {origin: number for number, origin in enumerate(origins)}
    files: list[Json] = []
    for path, entry in sorted(tree.entries.items(), key=lambda item: item[0].encode()):
        origin = _origin(entry)
        if origin is None:
            continue
        if isinstance(entry, FileEntry):
            files.append([path, digests[path], entry.content.size, "", numbers[origin], entry.compiled])
        elif isinstance(entry, LinkEntry):
            files.append([path, "", 0, entry.target, numbers[origin], False])
    named: list[Json] = [[o.kind, o.name, o.version, o.file, o.sha256, o.licence] for o in origins]
    store.write(_KIND, _name(key), canonical_bytes({"origins": named, "files": files}))
    return blob


def record_of(key: Digest, store: Store) -> tuple[FileFacts, ...] | None:
    """What is recorded of the layer of the inputs `key`, by path; None where nothing whole is."""
    try:
        found = _Record.model_validate_json((store.folder / _KIND / _name(key)).read_bytes())
        origins = [Origin(*fields) for fields in found.origins]  # type: ignore[arg-type]
        return tuple(
            FileFacts(path, "link" if target else "file", sha256, size, target, origins[number], compiled)
            for path, sha256, size, target, number, compiled in found.files
        )
    except (OSError, ValidationError, IndexError):
        return None


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    origins: list[tuple[str, str, str, str, str, str]]
    files: list[tuple[str, str, int, str, int, bool]]


@dataclass(frozen=True)
class _Watched:
    """Content whose digest is known when it was read."""

    content: Content
    path: str
    digests: dict[str, str]

    @property
    def size(self) -> int:
        return self.content.size

    def chunks(self) -> Iterator[bytes]:
        hasher = hashlib.sha256()
        for chunk in self.content.chunks():
            hasher.update(chunk)
            yield chunk
        self.digests[self.path] = f"sha256:{hasher.hexdigest()}"


def _watched(tree: Tree) -> tuple[Tree, dict[str, str]]:
    digests: dict[str, str] = {}
    return Tree(
        {
            path: replace(entry, content=_Watched(entry.content, path, digests))
            if isinstance(entry, FileEntry)
            else entry
            for path, entry in tree.entries.items()
        }
    ), digests


def _origin(entry: FileEntry | FolderEntry | LinkEntry) -> Origin | None:
    return None if isinstance(entry, FolderEntry) else entry.origin


def _name(key: Digest) -> str:
    return f"{key.removeprefix('sha256:')}.json"
