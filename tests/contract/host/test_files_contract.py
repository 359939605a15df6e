"""What the stages may rely on from any file system."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from runner.adapters.disk import Disk
from runner.core.errors import EnvironmentNotReady
from tests.fakes.files import MemoryFiles

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.ports.files import Files


@pytest.fixture(params=["memory", "disk"])
def files(request: pytest.FixtureRequest) -> Files:
    made: dict[str, Files] = {"memory": MemoryFiles(), "disk": Disk()}
    return made[request.param]


def test_what_is_written_is_read(files: Files, tmp_path: Path) -> None:
    """Folders are made, and a second write replaces the first."""
    files.write(tmp_path / "a/b/c", b"one")
    files.write(tmp_path / "a/b/c", b"two")
    assert files.read(tmp_path / "a/b/c") == b"two"


def test_what_is_not_there_is_none(files: Files, tmp_path: Path) -> None:
    """A missing file, one below a file, a folder, a name that no file can have."""
    files.write(tmp_path / "folder/file", b"x")
    assert files.read(tmp_path / "absent") is None
    assert files.read(tmp_path / "folder/file/below") is None
    assert files.read(tmp_path / "folder") is None
    assert files.read(tmp_path / ("x" * 300)) is None
    assert not files.is_regular(tmp_path / "absent")
    assert not files.is_regular(tmp_path / "folder")
    assert not files.is_regular(tmp_path / ("x" * 300))


def test_a_plain_file_is_no_link(files: Files, tmp_path: Path) -> None:
    """What a link leads to may be another file tomorrow."""
    files.write(tmp_path / "file", b"x" * 3_000_000)
    files.write(tmp_path / "empty", b"")
    files.point(tmp_path / "link", "file")
    assert files.read_plain(str(tmp_path / "file")) == b"x" * 3_000_000
    assert files.read_plain(str(tmp_path / "empty")) == b""
    for name in ("link", "absent", "file/below", "x" * 300):
        assert files.read_plain(str(tmp_path / name)) is None
    files.write(tmp_path / "folder/file", b"x")
    assert files.read_plain(str(tmp_path / "folder")) is None


def test_a_file_is_read_in_parts(files: Files, tmp_path: Path) -> None:
    """One after the other, or one from the middle."""
    data = bytes(range(256)) * 10_000
    files.write(tmp_path / "file", data)
    pieces = files.pieces(tmp_path / "file")
    assert pieces is not None
    assert b"".join(pieces) == data
    assert files.read_part(tmp_path / "file", 255, 3) == b"\xff\x00\x01"
    assert files.read_part(tmp_path / "file", len(data) - 1, 10) == b"\xff"
    assert files.pieces(tmp_path / "absent") is None


def broken_off(files: Files, path: Path) -> None:
    with files.writing(path) as put:
        put(b"three")
        raise KeyError(path)


def test_a_file_is_written_in_parts(files: Files, tmp_path: Path) -> None:
    """Until all of them are there, it holds what it held."""
    files.write(tmp_path / "a/file", b"before")
    with files.writing(tmp_path / "a/file") as put:
        put(b"one")
        put(b"two")
        assert files.read(tmp_path / "a/file") == b"before"
    assert files.read(tmp_path / "a/file") == b"onetwo"
    with pytest.raises(KeyError):
        broken_off(files, tmp_path / "a/file")
    assert files.read(tmp_path / "a/file") == b"onetwo"
    assert list(files.walk(tmp_path / "a")) == ["file"]


def test_appends_follow_one_another(files: Files, tmp_path: Path) -> None:
    """A ledger grows at its end."""
    files.append(tmp_path / "runs/ledger", b"1\n")
    files.append(tmp_path / "runs/ledger", b"2\n")
    assert files.read(tmp_path / "runs/ledger") == b"1\n2\n"


def test_a_folder_is_claimed_once(files: Files, tmp_path: Path) -> None:
    """Two runs of one name don't write into one folder; nor does a run into a folder with files."""
    files.write(tmp_path / "runs/used/file", b"x")
    assert files.claim(tmp_path / "runs/fresh")
    assert not files.claim(tmp_path / "runs/fresh")
    assert not files.claim(tmp_path / "runs/used")
    assert list(files.walk(tmp_path / "runs/fresh")) == []


def test_a_walk_is_sorted_and_relative(files: Files, tmp_path: Path) -> None:
    """The order doesn't depend on the file system."""
    for name in ("b/2", "b/10", "a", "c/d/e", "B"):
        files.write(tmp_path / "root" / name, b"x")
    assert list(files.walk(tmp_path / "root")) == ["B", "a", "b/10", "b/2", "c/d/e"]
    files.point(tmp_path / "root/link", "b")
    assert (files.count(tmp_path / "root"), files.count(tmp_path / "absent")) == (6, 0)
    assert list(files.walk(tmp_path / "absent")) == []


@pytest.mark.parametrize("name", ["root/a", "root/a/below", "x" * 300])
def test_what_is_no_folder_has_nothing_below(files: Files, tmp_path: Path, name: str) -> None:
    """A file, a path through one, a name that no file can have: nothing is refused, there is nothing."""
    files.write(tmp_path / "root/a", b"x")
    assert (list(files.walk(tmp_path / name)), files.count(tmp_path / name)) == ([], 0)
    assert not files.is_folder(tmp_path / name)


def test_a_folder_is_told_from_all_else(files: Files, tmp_path: Path) -> None:
    """One with files, an empty one, and a link to one."""
    files.write(tmp_path / "root/deep/a", b"x")
    files.claim(tmp_path / "root/empty")
    files.point(tmp_path / "root/link", "deep")
    assert [files.is_folder(tmp_path / "root" / name) for name in ("deep", "empty", "link", "deep/a", "no")] == [
        *(True, True, True, False, False)
    ]


def test_removing_leaves_nothing(files: Files, tmp_path: Path) -> None:
    """A file, a folder with files, and what was never there."""
    files.write(tmp_path / "root/file", b"x")
    files.write(tmp_path / "root/folder/deep/file", b"x")
    files.remove(tmp_path / "root/file")
    files.remove(tmp_path / "root/folder")
    files.remove(tmp_path / "root/absent")
    assert list(files.walk(tmp_path / "root")) == []


def test_a_pointer_leads_to_the_newest(files: Files, tmp_path: Path) -> None:
    """`latest` is replaced at once, and is a link and no file."""
    files.write(tmp_path / "runs/one/lock", b"1")
    files.write(tmp_path / "runs/two/lock", b"2")
    files.point(tmp_path / "runs/latest", "one")
    assert files.read(tmp_path / "runs/latest/lock") == b"1"
    files.point(tmp_path / "runs/latest", "two")
    assert files.read(tmp_path / "runs/latest/lock") == b"2"
    assert not files.is_regular(tmp_path / "runs/latest")
    assert files.is_regular(tmp_path / "runs/latest/lock")
    assert "latest" in list(files.walk(tmp_path / "runs"))


def test_links_are_followed_to_where_they_lead(files: Files, tmp_path: Path) -> None:
    """Those on the way too; nothing need stand there."""
    files.write(tmp_path / "folder/file", b"x")
    files.point(tmp_path / "way", "folder")
    files.point(tmp_path / "folder/name", "file")
    assert files.real(tmp_path / "way/name") == tmp_path / "folder/file"
    assert files.real(tmp_path / "way/nothing") == tmp_path / "folder/nothing"
    assert files.real(tmp_path / "folder/file") == tmp_path / "folder/file"


def test_what_one_holds_no_other_does(files: Files, tmp_path: Path) -> None:
    """Two runners don't write to one run; the second is told who does, and may once the first let go."""
    place = tmp_path / "runs/one/holder.lock"
    with files.hold(place, "the first"):
        assert files.read(place) == b"the first\n"
        with pytest.raises(EnvironmentNotReady, match="held by the first") as caught, files.hold(place, "the second"):
            pass
        assert caught.value.problems[0].document == str(place)
    with files.hold(place, "the second"):
        assert files.read(place) == b"the second\n"


def test_space_is_told_for_a_folder_that_will_be(files: Files, tmp_path: Path) -> None:
    """The runs folder of a fresh checkout doesn't exist yet."""
    assert files.free_bytes(tmp_path / "will/be") > 0


def test_a_file_that_may_not_be_executed(files: Files, tmp_path: Path) -> None:
    """Documents are no programs."""
    files.write(tmp_path / "document", b"x")
    assert not files.is_executable(tmp_path / "document")


def test_a_program_is_executable(tmp_path: Path) -> None:
    """A workspace keeps what its part says."""
    (tmp_path / "program").write_bytes(b"#!/bin/sh\n")
    (tmp_path / "program").chmod(0o755)
    assert Disk().is_executable(tmp_path / "program")


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    """Reading it would wait for ever: it counts as nothing, and is named among the files."""
    os.mkfifo(tmp_path / "pipe")
    assert Disk().read(tmp_path / "pipe") is None
    assert not Disk().is_regular(tmp_path / "pipe")
    assert list(Disk().walk(tmp_path)) == ["pipe"]


def test_links_are_named_and_not_entered(tmp_path: Path) -> None:
    """A link to a folder could lead anywhere, or round in circles."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real/file").write_bytes(b"x")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "self").symlink_to(tmp_path / "self")
    (tmp_path / "named").symlink_to(tmp_path / "real/file")
    assert list(Disk().walk(tmp_path)) == ["loop", "named", "real/file", "self"]
    assert [name for name in Disk().walk(tmp_path) if Disk().is_regular(tmp_path / name)] == ["real/file"]
    assert Disk().read(tmp_path / "self") is None
    assert Disk().read(tmp_path / "named") == b"x"


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A document is there completely, or as it was."""
    Disk().write(tmp_path / "document", b"old")

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(EnvironmentNotReady, match="No space left on device") as caught:
        Disk().write(tmp_path / "document", b"new")
    assert caught.value.problems[0].hint == "make room and go on"
    assert caught.value.problems[0].document == str(tmp_path / "document")
    assert list(Disk().walk(tmp_path)) == ["document"]
    assert Disk().read(tmp_path / "document") == b"old"


def test_a_failed_append_leaves_no_torn_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger stays readable when the disk is full."""
    Disk().append(tmp_path / "ledger", b"1\n")

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(EnvironmentNotReady):
            Disk().append(tmp_path / "ledger", b"2\n")
    Disk().append(tmp_path / "ledger", b"3\n")
    assert Disk().read(tmp_path / "ledger") == b"1\n3\n"


def test_a_document_is_as_readable_as_the_mask_allows(tmp_path: Path) -> None:
    """Temporary files are private; what comes of them isn't."""
    before = os.umask(0o027)
    try:
        Disk().write(tmp_path / "document", b"x")
    finally:
        os.umask(before)
    assert (tmp_path / "document").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("call", ["read", "write", "append", "claim", "point", "remove"])
def test_what_the_system_forbids_is_told_with_its_path(call: str, tmp_path: Path) -> None:
    """The proc file system refuses everybody, root too."""
    place = Path("/proc/self/fdinfo/new/file") if call != "read" else Path("/proc/self/mem")
    calls: dict[str, Callable[[], object]] = {
        "read": lambda: Disk().read(place),
        "write": lambda: Disk().write(place, b"x"),
        "append": lambda: Disk().append(place, b"x"),
        "claim": lambda: Disk().claim(place),
        "point": lambda: Disk().point(place, "x"),
        "remove": lambda: Disk().remove(Path("/proc/self/status")),
    }
    with pytest.raises(EnvironmentNotReady) as caught:
        calls[call]()
    assert caught.value.problems[0].document.startswith("/proc/self/")


def test_what_is_secluded_is_its_owner_s_alone(tmp_path: Path) -> None:
    """Whatever the mask allows; a folder that wasn't there is made."""
    disk = Disk()
    disk.seclude(tmp_path / "a/private")
    disk.write(tmp_path / "a/private/key", b"secret")
    disk.seclude(tmp_path / "a/private/key")
    assert stat.S_IMODE((tmp_path / "a/private").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "a/private/key").stat().st_mode) == 0o600
    assert disk.read(tmp_path / "a/private/key") == b"secret"
