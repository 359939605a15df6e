"""Tar archives of small trees: the same bytes everywhere, and what isn't whole is told."""

from __future__ import annotations

import io
import tarfile

import pytest

from runner.core.canonical import sha256_digest
from runner.core.errors import EvidenceError
from runner.core.tars import TreeFile, files_of, tar_of, tree_of

TREE = {"b/c": TreeFile(b"sea"), "a": TreeFile(b"eh", executable=True), "b/ä": TreeFile(b"")}


def test_the_bytes_are_literal() -> None:
    """Sorted paths, fixed times and owners, no names: the digest is the same on every machine."""
    assert sha256_digest(tar_of(TREE)) == "sha256:a02a5226bbec10febab6b29ec41a646783aa076e3d1a413d3a96f07d08c909b1"
    assert tar_of(dict(reversed(TREE.items()))) == tar_of(TREE)


def test_what_a_tar_says_of_its_members() -> None:
    """Folders before what is in them; modes of files and programs; the first second of 2020."""
    with tarfile.open(fileobj=io.BytesIO(tar_of(TREE, owner=7))) as tar:
        found = [(item.name, oct(item.mode), item.uid, item.gid, item.mtime, item.uname) for item in tar]
    assert found == [
        ("b", "0o755", 7, 7, 1577836800, ""),
        ("a", "0o755", 7, 7, 1577836800, ""),
        ("b/c", "0o644", 7, 7, 1577836800, ""),
        ("b/ä", "0o644", 7, 7, 1577836800, ""),
    ]


def test_a_tree_reads_back() -> None:
    """Bytes and modes."""
    assert tree_of(tar_of(TREE), "x.tar") == TREE
    assert files_of(tar_of(TREE), "x.tar") == {"a": b"eh", "b/c": b"sea", "b/ä": b""}
    assert files_of(tar_of({}), "x.tar") == {}


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_anything_but_files_and_folders_is_refused(kind: bytes) -> None:
    """Links lead elsewhere, and devices aren't evidence."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        item = tarfile.TarInfo("odd")
        item.type, item.linkname = kind, "/etc/passwd"
        tar.addfile(item)
    with pytest.raises(EvidenceError, match=r"x\.tar: odd is no regular file"):
        files_of(stream.getvalue(), "x.tar")


@pytest.mark.parametrize("data", [b"", b"no tar", tar_of(TREE)[:1500], tar_of({"a": TreeFile(b"x" * 5000)})[:2000]])
def test_what_is_no_whole_tar_is_told(data: bytes) -> None:
    """Empty, something else, cut in a header, cut in a file."""
    with pytest.raises(EvidenceError, match=r"x\.tar: not a whole tar"):
        files_of(data, "x.tar")


def test_damage_is_told_or_changes_what_is_read() -> None:
    """Any byte of the first header and its extension, set to each of a few values, never ends the program."""
    whole = tar_of({"ä" * 60: TreeFile(b"sea")})
    for place in range(1536):
        for value in (0, 0x31, 0x80, 0xFF):
            try:
                files_of(whole[:place] + bytes([value]) + whole[place + 1 :], "x.tar")
            except EvidenceError:
                continue
