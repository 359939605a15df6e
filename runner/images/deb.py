"""The files of a Debian package, read without Debian's tools and without running its scripts.

A `.deb` is an `ar` archive of `debian-binary`, a control tar and a data tar (deb(5)); Debian compresses with xz.
"""

from __future__ import annotations

import io
import lzma
from typing import TYPE_CHECKING

from runner.core.errors import EvidenceError
from runner.images.tarball import read_tree
from runner.images.tree import FolderEntry, LinkEntry, Tree, owned_by_root

if TYPE_CHECKING:
    from collections.abc import Iterator

# Debian's merged /usr (since 12): these stand for folders of /usr. Packages may still name the old paths.
_MERGED = ("bin", "sbin", "lib", "lib64")
_AR_MAGIC = b"!<arch>\n"
_AR_HEADER_BYTES = 60


def package_tree(deb: bytes, origin: str) -> Tree:
    """The files of a package with root as owner, paths on merged `/usr`.

    Raises:
        EvidenceError: it isn't a Debian package, or its data aren't compressed with xz.
    """
    found = Tree()
    for path, entry in read_tree(io.BytesIO(_data_tar(deb, origin)), origin).entries.items():
        place = _on_merged_usr(path)
        if not (place in {f"/{name}" for name in _MERGED} and isinstance(entry, FolderEntry)):
            found.add(place, owned_by_root(entry), origin)
    return found


def merged_usr_links(tree: Tree) -> Tree:
    """The links that make the old paths of `tree` reachable, for each folder of /usr that it has."""
    links = Tree()
    for name in _MERGED:
        if any(path.startswith(f"/usr/{name}/") for path in tree.entries):
            links.add(f"/{name}", LinkEntry(f"usr/{name}"), name)
    return links


def _on_merged_usr(path: str) -> str:
    first, slash, rest = path[1:].partition("/")
    return f"/usr/{first}/{rest}" if slash and first in _MERGED else path


def _data_tar(deb: bytes, origin: str) -> bytes:
    for name, data in _ar_members(deb, origin):
        if name == "data.tar.xz":
            try:
                return lzma.decompress(data)
            except lzma.LZMAError as error:
                raise EvidenceError(f"damaged: {error}", document=origin) from error
        if name == "data.tar":
            return data
        if name.startswith("data.tar"):
            raise EvidenceError(f"{name}: only xz is read", document=origin, hint="Debian's own packages use xz")
    raise EvidenceError("no data in this package", document=origin)


def _ar_members(deb: bytes, origin: str) -> Iterator[tuple[str, bytes]]:
    if not deb.startswith(_AR_MAGIC):
        raise EvidenceError("not a Debian package", document=origin)
    at = len(_AR_MAGIC)
    while at < len(deb):
        header = deb[at : at + _AR_HEADER_BYTES]
        size_text = header[48:58].strip()
        if len(header) < _AR_HEADER_BYTES or header[58:60] != b"`\n" or not size_text.isdigit():
            raise EvidenceError("damaged: a member's header is broken", document=origin)
        size = int(size_text)
        start = at + _AR_HEADER_BYTES
        if start + size > len(deb):
            raise EvidenceError("damaged: it ends within a member", document=origin)
        yield header[:16].decode("ascii", "replace").rstrip(" /"), deb[start : start + size]
        at = start + size + size % 2
