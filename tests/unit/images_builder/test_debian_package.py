"""A Debian package's files are read without Debian's tools."""

from __future__ import annotations

import pytest

from runner.core.errors import EvidenceError
from runner.images.deb import merged_usr_links, package_tree
from runner.images.tree import FileEntry, FolderEntry, Held, LinkEntry, Tree
from tests.fakes.image_tools import deb


def test_files_are_owned_by_root_on_merged_usr() -> None:
    """Old paths move below /usr, owners are dropped, links keep their targets."""
    data = deb({"./": b"", "./bin/": b"", "./bin/sh": "dash", "./lib/x.so": b"x", "./etc/conf": b"c"})
    assert package_tree(data, "p").entries == {
        "/usr/bin/sh": LinkEntry("dash"),
        "/usr/lib/x.so": FileEntry(Held(b"x"), 0o755),
        "/etc/conf": FileEntry(Held(b"c"), 0o755),
    }


def test_the_old_paths_stay_reachable() -> None:
    """Each folder of /usr that has something gets the link by which older programs find it."""
    tree = Tree(
        {"/usr/bin/sh": LinkEntry("dash"), "/usr/lib64/ld.so": LinkEntry("/lib/ld"), "/usr/share": FolderEntry()}
    )
    assert merged_usr_links(tree).entries == {"/bin": LinkEntry("usr/bin"), "/lib64": LinkEntry("usr/lib64")}


def test_another_compression_is_named() -> None:
    """A package that isn't Debian's own (zstd) is refused by a message that says why."""
    with pytest.raises(EvidenceError, match=r"p: data\.tar\.zst: only xz is read"):
        package_tree(deb({"a": b"b"}, compression="zst"), "p")


@pytest.mark.parametrize("keep", [0, 7, 30, 70, 100, 150, 200])
def test_a_cut_package_is_refused(keep: int) -> None:
    """A package that ends early, wherever, is an error and never half a tree."""
    with pytest.raises(EvidenceError):
        package_tree(deb({"usr/bin/tool": b"tool"})[:keep], "p")


def test_damaged_data_are_refused() -> None:
    """A flipped byte in the compressed data is an error."""
    data = bytearray(deb({"usr/bin/tool": b"tool"}))
    data[-40] ^= 0xFF
    with pytest.raises(EvidenceError, match="p: damaged"):
        package_tree(bytes(data), "p")
