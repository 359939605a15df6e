"""Tar bytes follow from a tree alone, and any reader of tars takes them."""

from __future__ import annotations

import hashlib
import io
import tarfile

import pytest

from runner.core.errors import EvidenceError
from runner.images.tarball import read_tree, tree_chunks
from runner.images.tree import FileEntry, FolderEntry, Held, LinkEntry, Pinned, Tree


def packed(tree: Tree) -> bytes:
    return b"".join(tree_chunks(tree))


def test_the_bytes_are_these() -> None:
    """A tree with a folder, a file and a link gives these bytes, whatever Python assembles them."""
    tree = Tree()
    tree.add("/etc/name", FileEntry(Held(b"pairbench\n"), 0o644, 7, 8), "test")
    tree.add("/tmp", FolderEntry(0o1777), "test")
    tree.add("/bin", LinkEntry("usr/bin"), "test")
    assert (
        hashlib.sha256(packed(tree)).hexdigest() == "cc6d879d4b3746065e5694f089339ef0a41724eb28b3c9910a3036cd5db10af0"
    )


def test_members_are_sorted_with_fixed_times_and_named_owners() -> None:
    """Parents stand before children, every time is 2024-01-01, nobody is named but by number."""
    tree = Tree()
    tree.add("/b/file", FileEntry(Held(b"x"), 0o755, 10001, 10002), "test")
    tree.add("/a", FolderEntry(0o700, 3, 4), "test")
    with tarfile.open(fileobj=io.BytesIO(packed(tree))) as archive:
        found = [(m.name, m.type, m.mode, m.uid, m.gid, m.mtime, m.uname, m.gname) for m in archive]
    assert found == [
        ("a", tarfile.DIRTYPE, 0o700, 3, 4, 1_704_067_200, "", ""),
        ("b", tarfile.DIRTYPE, 0o755, 0, 0, 1_704_067_200, "", ""),
        ("b/file", tarfile.REGTYPE, 0o755, 10001, 10002, 1_704_067_200, "", ""),
    ]


def test_the_order_of_adding_does_not_matter() -> None:
    """Two trees of the same entries give the same bytes."""
    entries = {f"/d{number}/f": FileEntry(Held(bytes([number]))) for number in range(9)}
    assert packed(Tree(dict(entries))) == packed(Tree(dict(reversed(entries.items()))))


@pytest.mark.parametrize("length", [99, 100, 101, 150, 980, 981, 982, 983, 984, 985, 986, 987, 988, 989, 990, 991, 992])
def test_names_of_any_length_come_back(length: int) -> None:
    """Names and targets around every limit of the format are read back by another reader as they were."""
    name = "n" * length
    tree = Tree({f"/{name}": FileEntry(Held(b"data")), "/link": LinkEntry(name)})
    with tarfile.open(fileobj=io.BytesIO(packed(tree))) as archive:
        assert [(m.name, m.linkname) for m in archive] == [("link", name), (name, "")]


def test_a_tree_comes_back_from_its_tar() -> None:
    """Reading what was written gives the same entries, its folders included."""
    tree = Tree(
        {
            "/usr": FolderEntry(),
            "/usr/tool": FileEntry(Held(b"tool"), 0o755, 1, 2),
            "/usr/é": FileEntry(Held(b"")),
            "/bin": LinkEntry("usr"),
        }
    )
    assert read_tree(io.BytesIO(packed(tree)), "test").entries == tree.entries


def test_a_hard_link_becomes_a_file_of_its_own() -> None:
    """What a tar says is one file under two names is two files here."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        first = tarfile.TarInfo("./one")
        first.size = 3
        archive.addfile(first, io.BytesIO(b"abc"))
        second = tarfile.TarInfo("./two")
        second.type, second.linkname = tarfile.LNKTYPE, "./one"
        archive.addfile(second)
    data.seek(0)
    assert read_tree(data, "test").entries["/two"] == FileEntry(Held(b"abc"), 0o644)


def test_set_id_bits_do_not_come_through() -> None:
    """A set-user-id program of a package is an ordinary program in a tree."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        member = tarfile.TarInfo("su")
        member.mode = 0o6755
        archive.addfile(member, io.BytesIO())
    data.seek(0)
    assert read_tree(data, "test").entries["/su"] == FileEntry(Held(b""), 0o755)


@pytest.mark.parametrize("name", ["../out", "a/../../out", "/../out"])
def test_a_path_that_leaves_the_tree_is_refused(name: str) -> None:
    """No entry of a tar gets beside the file system that it belongs to."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        archive.addfile(tarfile.TarInfo(name))
    data.seek(0)
    with pytest.raises(EvidenceError, match="no path of a file system"):
        read_tree(data, "test")


def test_a_device_is_refused() -> None:
    """Only files, folders and links stand in a tree."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        member = tarfile.TarInfo("dev/null")
        member.type = tarfile.CHRTYPE
        archive.addfile(member)
    data.seek(0)
    with pytest.raises(EvidenceError, match="neither file, folder nor link"):
        read_tree(data, "test")


def test_rubbish_is_no_tar() -> None:
    """Bytes that aren't a tar are said to be none."""
    with pytest.raises(EvidenceError, match="not a tar"):
        read_tree(io.BytesIO(b"rubbish" * 200), "test")


def test_content_that_is_not_what_was_pinned_is_refused_while_it_is_written() -> None:
    """A file whose bytes have another digest ends the writing with an error that names it."""
    wrong = Pinned(Held(b"model"), "sha256:" + "0" * 64, "model.onnx of gamma")
    with pytest.raises(EvidenceError, match=r"model\.onnx of gamma: its digest is sha256:9372c470"):
        packed(Tree({"/model": FileEntry(wrong)}))


def test_two_things_at_one_place_are_refused() -> None:
    """A tree holds one thing at a path; a folder, and the very same file, may be named again."""
    tree = Tree()
    tree.add("/usr", FolderEntry(), "one")
    tree.add("/usr", FolderEntry(0o755), "two")
    tree.add("/usr/f", FileEntry(Held(b"x")), "one")
    tree.add("/usr/f", FileEntry(Held(b"x")), "two")
    with pytest.raises(EvidenceError, match="two: /usr/f is there already, as something else"):
        tree.add("/usr/f", FileEntry(Held(b"y")), "two")
