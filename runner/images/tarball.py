"""Tar bytes that follow from a tree alone.

Headers are written here, field by field, and not by the standard library: an image's id may not depend on the Python
version that assembled it. The form is ustar (POSIX.1-1988), with a pax record (POSIX.1-2001) for a long name.
"""

from __future__ import annotations

import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.core.errors import EvidenceError
from runner.images.tree import FileEntry, FolderEntry, Held, LinkEntry, Tree, safe_mode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

    from runner.images.tree import Entry

# 2024-01-01T00:00:00Z: every file, folder and link of an image, and the image itself, is of this time.
FIXED_TIME_S = 1_704_067_200
FIXED_TIME = "2024-01-01T00:00:00Z"

_BLOCK_BYTES = 512
_NAME_BYTES = 100
# Octal in 11 digits: what the size field of a ustar header holds.
_MAX_SIZE_BYTES = 8**11 - 1


def tree_chunks(tree: Tree) -> Iterator[bytes]:
    """The tar of `tree`, parents before children, in the order of the paths' bytes."""
    for path, entry in tree.with_parents():
        yield from _entry_chunks(path.removeprefix("/"), entry)
    yield bytes(2 * _BLOCK_BYTES)


def file_header(name: str, size: int) -> bytes:
    """The header of a regular file of an archive (not of a file system): 0644 of root, at the fixed time."""
    return _header(name, b"0", _Facts(0o644, size=size))


def padding(size: int) -> bytes:
    """What fills the last block of `size` bytes."""
    return bytes(-size % _BLOCK_BYTES)


def end_of_archive() -> bytes:
    """The two empty blocks that end an archive."""
    return bytes(2 * _BLOCK_BYTES)


def read_tree(stream: IO[bytes], origin: str) -> Tree:
    """What a tar holds, hard links as files of their own, owners and modes as they stand.

    Raises:
        EvidenceError: it isn't a tar, it holds a device, or a path leaves the tree.
    """
    tree = Tree()
    try:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                if member.name.strip("./"):
                    tree.put(member.name, _entry_of(archive, member, tree, origin))
    except (tarfile.TarError, EOFError) as error:
        raise EvidenceError(f"not a tar: {error}", document=origin) from error
    return tree


def _entry_of(archive: tarfile.TarFile, member: tarfile.TarInfo, tree: Tree, origin: str) -> Entry:
    mode = safe_mode(member.mode)
    if member.isdir():
        return FolderEntry(mode, member.uid, member.gid)
    if member.issym():
        return LinkEntry(member.linkname)
    if member.islnk():
        linked = tree.entries.get("/" + member.linkname.removeprefix("./").lstrip("/"))
        if linked is None:
            raise EvidenceError(f"{member.name} is a hard link to what isn't there", document=origin)
        return linked
    stream = archive.extractfile(member) if member.isreg() else None
    if stream is None:
        raise EvidenceError(f"{member.name} is neither file, folder nor link", document=origin)
    return FileEntry(Held(stream.read()), mode, member.uid, member.gid)


def _entry_chunks(name: str, entry: Entry) -> Iterator[bytes]:
    match entry:
        case FolderEntry(mode, uid, gid):
            yield _header(name + "/", b"5", _Facts(mode, uid, gid))
        case LinkEntry(target):
            yield _header(name, b"2", _Facts(0o777), target)
        case FileEntry(content, mode, uid, gid):
            yield _header(name, b"0", _Facts(mode, uid, gid, content.size))
            written = 0
            for chunk in content.chunks():
                written += len(chunk)
                yield chunk
            if written != content.size:
                raise EvidenceError(f"{written} bytes where {content.size} were announced", document=name)
            yield padding(written)


@dataclass(frozen=True)
class _Facts:
    mode: int
    uid: int = 0
    gid: int = 0
    size: int = 0


def _header(name: str, kind: bytes, facts: _Facts, target: str = "") -> bytes:
    if facts.size > _MAX_SIZE_BYTES:
        raise EvidenceError(f"{facts.size} bytes are more than a tar header holds", document=name)
    raw_name, raw_target = name.encode(), target.encode()
    records = b"".join(
        _pax_record(key, value)
        for key, value in ((b"path", raw_name), (b"linkpath", raw_target))
        if len(value) > _NAME_BYTES
    )
    extended = b""
    if records:
        extended = _block(b"pax", b"x", _Facts(0o644, size=len(records)), b"") + records + padding(len(records))
    return extended + _block(raw_name, kind, facts, raw_target)


def _pax_record(key: bytes, value: bytes) -> bytes:
    length = len(key) + len(value) + 3
    # The record's length counts its own digits.
    total = length + len(str(length + len(str(length))))
    return b"%d %s=%s\n" % (total, key, value)


def _block(name: bytes, kind: bytes, facts: _Facts, target: bytes) -> bytes:
    fields = b"".join(
        (
            name[:_NAME_BYTES].ljust(_NAME_BYTES, b"\0"),
            b"%07o\0" % facts.mode,
            b"%07o\0" % facts.uid,
            b"%07o\0" % facts.gid,
            b"%011o\0" % facts.size,
            b"%011o\0" % FIXED_TIME_S,
            b" " * 8,
            kind,
            target[:_NAME_BYTES].ljust(_NAME_BYTES, b"\0"),
            b"ustar\x0000",
        )
    ).ljust(_BLOCK_BYTES, b"\0")
    return fields[:148] + b"%06o\0 " % sum(fields) + fields[156:]
