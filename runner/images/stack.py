"""What layers come to when one lies over another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.images.tarball import read_tree
from runner.images.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.images.inputs import Build
    from runner.images.store import Blob

# OCI image layers, "Whiteouts": a name with this prefix takes away the name after it; the opaque one empties a folder.
_WHITEOUT = ".wh."
_OPAQUE = ".wh..wh..opq"


def stacked(blobs: Sequence[Blob], build: Build) -> Tree:
    """The file system that layers make one over another; names that begin with `.wh.` take away, as in OCI images."""
    result = Tree()
    for blob in blobs:
        with build.store.blob_path(blob.digest).open("rb") as stream:
            layer = read_tree(stream, blob.digest)
        for path in layer.entries:
            folder, _, name = path.rpartition("/")
            if name == _OPAQUE:
                _take_away(result, folder, itself=False)
            elif name.startswith(_WHITEOUT):
                _take_away(result, f"{folder}/{name.removeprefix(_WHITEOUT)}", itself=True)
        for path, entry in layer.entries.items():
            if not path.rpartition("/")[2].startswith(_WHITEOUT):
                result.put(path, entry)
    return result


def _take_away(tree: Tree, path: str, *, itself: bool) -> None:
    for found in [p for p in tree.entries if p.startswith(f"{path}/") or (itself and p == path)]:
        del tree.entries[found]
