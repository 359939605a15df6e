"""Archives: written without holes, read without trust."""

from __future__ import annotations

import io
import tarfile
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sidecar import archive
from sidecar.refusal import FatalError

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1024 * 1024
SPARSE = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}


def packed(directory: Path) -> bytes:
    out = io.BytesIO()
    archive.write_tree(str(directory), out)
    return out.getvalue()


def unpacked(data: bytes, into: Path, limit: int = 1 << 40) -> tuple[int, int]:
    into.mkdir()
    return archive.read_tree(io.BytesIO(data), str(into), limit)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A directory with an empty directory, an empty file, a text, and a file that is mostly a hole."""
    root = tmp_path / "tree"
    (root / "d" / "empty").mkdir(parents=True)
    (root / "d" / "none").touch()
    (root / "d" / "text").write_text("hello")
    with (root / "hole").open("wb") as file:
        file.seek(20 * MIB)
        file.write(b"data")
        file.truncate(30 * MIB)
    return root


def test_unpacked_tree_is_the_packed_one(tree: Path, tmp_path: Path) -> None:
    """Every directory and file comes back with its bytes."""
    assert unpacked(packed(tree), tmp_path / "out") == (3, 5 + 30 * MIB)
    assert (tmp_path / "out" / "d" / "empty").is_dir()
    for name in ("d/none", "d/text", "hole"):
        assert (tmp_path / "out" / name).read_bytes() == (tree / name).read_bytes()


def test_holes_take_no_room(tree: Path, tmp_path: Path) -> None:
    """Neither the archive nor what is unpacked from it pays for zeros."""
    data = packed(tree)
    assert len(data) < 20_000
    unpacked(data, tmp_path / "out")
    assert (tmp_path / "out" / "hole").stat().st_blocks * 512 < MIB


def test_equal_trees_have_equal_archives(tree: Path, tmp_path: Path) -> None:
    """Times, modes, and whether zeros are on disk make no difference."""
    other = tmp_path / "other"
    unpacked(packed(tree), other)
    (other / "hole").write_bytes((tree / "hole").read_bytes())
    (other / "d" / "text").chmod(0o600)
    assert packed(other) == packed(tree)


def test_other_programs_can_read_it(tree: Path) -> None:
    """Python's own reader finds the names, sizes, owner and bytes."""
    with tarfile.open(fileobj=io.BytesIO(packed(tree))) as opened:
        found = {member.name: (member.isdir(), member.size, member.uid, member.mtime) for member in opened}
        content = opened.extractfile("hole")
        assert content is not None
        assert content.read() == (tree / "hole").read_bytes()
    assert found == {
        "d": (True, 0, 10003, 0),
        "d/empty": (True, 0, 10003, 0),
        "d/none": (False, 0, 10003, 0),
        "d/text": (False, 5, 10003, 0),
        "hole": (False, 30 * MIB, 10003, 0),
    }


def test_link_is_not_packed(tree: Path) -> None:
    """What would be something else elsewhere is refused."""
    (tree / "link").symlink_to("/etc/passwd")
    with pytest.raises(FatalError, match="neither a directory nor a file"):
        packed(tree)


def test_limit_is_on_what_files_seem_to_have(tree: Path, tmp_path: Path) -> None:
    """A hole counts: programs may read or fill it."""
    data = packed(tree)
    assert unpacked(data, tmp_path / "enough", 30 * MIB + 5)[1] == 30 * MIB + 5
    with pytest.raises(FatalError, match="more than 100 bytes"):
        unpacked(data, tmp_path / "out", 100)


def test_every_cut_is_noticed(tree: Path, tmp_path: Path) -> None:
    """An archive that ends early, anywhere, isn't taken for a whole one."""
    data = packed(tree)
    for number, end in enumerate(range(0, len(data), 512)):
        with pytest.raises(FatalError, match=r"cut short|after its end"):
            unpacked(data[:end], tmp_path / str(number))


def test_something_after_the_end_is_noticed(tree: Path, tmp_path: Path) -> None:
    """Nothing can hide behind an archive's end."""
    with pytest.raises(FatalError, match="after its end"):
        unpacked(packed(tree) + b"x", tmp_path / "out")


@given(position=st.integers(0, 511), block=st.integers(0, 40), value=st.integers(0, 255))
def test_changed_byte_never_escapes(
    tmp_path_factory: pytest.TempPathFactory, position: int, block: int, value: int
) -> None:
    """A changed byte is refused, or changes content or a plain name: nothing appears beside the target."""
    folder = tmp_path_factory.mktemp("changed")
    (folder / "tree" / "d").mkdir(parents=True)
    (folder / "tree" / "d" / "text").write_text("hello")
    data = bytearray(packed(folder / "tree"))
    data[(block * 512 + position) % len(data)] = value
    with suppress(FatalError):
        unpacked(bytes(data), folder / "out", MIB)
    assert {path.name for path in folder.iterdir()} == {"tree", "out"}
    assert not any(path.is_symlink() for path in (folder / "out").rglob("*"))


def member(name: str, content: bytes = b"x", sparse_map: str = "", realsize: str = "") -> bytes:
    """One sparse file as the writer makes it, with a name, map and size of the attacker's choice."""
    out = io.BytesIO()
    text = (sparse_map or f"1\n0\n{len(content)}\n").encode()
    body = text + bytes(-len(text) % 512) + content
    fields = SPARSE | {"GNU.sparse.name": name, "GNU.sparse.realsize": realsize or str(len(content))}
    archive._write_header(out, "x", b"0", len(body), fields)
    out.write(body + bytes(-len(body) % 512))
    return out.getvalue()


END = bytes(1024)


@pytest.mark.parametrize(
    "name",
    ["/etc/cron.d/x", "../x", "a/../../x", ".", "..", "a//b", "", "a/", "a\nb", "nobody/x", "x" * 256, "a/" * 20 + "x"],
)
def test_names_that_could_leave_the_target_are_refused(tmp_path: Path, name: str) -> None:
    """A name is relative, plain, and below a directory of the same archive."""
    with pytest.raises(FatalError, match=r"name that an archive|doesn't come before"):
        unpacked(member(name) + END, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_name_given_twice_is_refused(tmp_path: Path) -> None:
    """A second member can't change what a first one wrote."""
    with pytest.raises(FileExistsError):
        unpacked(member("a") + member("a", b"other") + END, tmp_path / "out")


@pytest.mark.parametrize(
    ("sparse_map", "size"),
    [
        ("1\n5\n1\n", "1"),
        ("2\n0\n1\n0\n1\n", "10"),
        ("1\n0\n999\n", "1000"),
        ("-1\n", "1"),
        ("99999999999\n", "1"),
        ("x\n", "1"),
        ("1\n0\n", "1"),
        ("1\n0\n1\n", "-1"),
        ("1\n0\n1\n", "9" * 30),
    ],
)
def test_impossible_maps_are_refused(tmp_path: Path, sparse_map: str, size: str) -> None:
    """A map that is out of order, beyond the file, or larger than the member is no map."""
    with pytest.raises(FatalError):
        unpacked(member("a", sparse_map=sparse_map, realsize=size) + END, tmp_path / "out")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.REGTYPE])
def test_members_of_other_kinds_are_refused(tmp_path: Path, kind: bytes) -> None:
    """Links, devices, pipes and other programs' plain files aren't what the writer makes."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as opened:
        info = tarfile.TarInfo("evil")
        info.type, info.linkname = kind, "/etc/passwd"
        opened.addfile(info)
    with pytest.raises(FatalError, match="isn't a file or directory of ours"):
        unpacked(out.getvalue(), tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("data", [b"", b"\x1f\x8b" + bytes(2000), b"x" * 5000, bytes(512)])
def test_what_is_no_archive_is_refused(tmp_path: Path, data: bytes) -> None:
    """Anything else than a tar of ours is refused."""
    with pytest.raises(FatalError, match="the archive"):
        unpacked(data, tmp_path / "out")
