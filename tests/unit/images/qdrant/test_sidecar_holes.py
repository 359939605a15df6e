"""Copies that leave zeros out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sidecar.holes import BLOCK, CHUNK, copy_file, copy_tree, data_extents
from sidecar.refusal import FatalError

HERE = Path(__file__)


def extents(path: Path) -> list[tuple[int, bytes]]:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return list(data_extents(descriptor, path.stat().st_size))
    finally:
        os.close(descriptor)


def test_zero_blocks_are_no_data(tmp_path: Path) -> None:
    """Blocks of zeros are skipped even where they are on disk; the last, short block counts as one."""
    content = b"a" + bytes(3 * BLOCK - 1) + b"b" * BLOCK + bytes(BLOCK) + b"c"
    (tmp_path / "file").write_bytes(content)
    assert extents(tmp_path / "file") == [
        (0, b"a" + bytes(BLOCK - 1)),
        (3 * BLOCK, b"b" * BLOCK),
        (5 * BLOCK, b"c"),
    ]


def test_hole_is_no_data(tmp_path: Path) -> None:
    """A file that is one hole has no data, and a copy of it is one hole of the same size."""
    with (tmp_path / "file").open("wb") as file:
        file.truncate(50_000_000)
    assert extents(tmp_path / "file") == []
    assert copy_file(str(tmp_path / "file"), str(tmp_path / "copy")) == 0
    assert ((tmp_path / "copy").stat().st_size, (tmp_path / "copy").stat().st_blocks) == (50_000_000, 0)


def test_data_between_holes_is_found(tmp_path: Path) -> None:
    """Data far inside a sparse file is copied to its place, and nothing else."""
    with (tmp_path / "file").open("wb") as file:
        file.seek(10_000_000)
        file.write(b"needle")
        file.truncate(20_000_000)
    assert copy_file(str(tmp_path / "file"), str(tmp_path / "copy")) <= 2 * BLOCK
    assert (tmp_path / "copy").read_bytes() == (tmp_path / "file").read_bytes()


@given(st.lists(st.sampled_from([bytes(BLOCK), b"x" * BLOCK, bytes(100), b"y", bytes(CHUNK), b"z" * 5000]), max_size=8))
def test_copy_equals_its_source(tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]) -> None:
    """Whatever zeros a file has, its copy has the same bytes."""
    folder = tmp_path_factory.mktemp("copy")
    (folder / "file").write_bytes(b"".join(pieces))
    written = copy_file(str(folder / "file"), str(folder / "copy"))
    assert (folder / "copy").read_bytes() == (folder / "file").read_bytes()
    assert written <= (folder / "file").stat().st_size


def test_copy_goes_over_nothing(tmp_path: Path) -> None:
    """An existing file is left alone."""
    (tmp_path / "copy").write_text("mine")
    with pytest.raises(FileExistsError):
        copy_file(str(HERE), str(tmp_path / "copy"))
    assert (tmp_path / "copy").read_text() == "mine"


def test_tree_is_copied_with_empty_directories(tmp_path: Path) -> None:
    """Directories and files are copied, and counted."""
    (tmp_path / "from" / "a" / "empty").mkdir(parents=True)
    (tmp_path / "from" / "a" / "file").write_bytes(b"12345")
    (tmp_path / "to").mkdir()
    assert copy_tree(str(tmp_path / "from"), str(tmp_path / "to")) == (1, 5)
    assert (tmp_path / "to" / "a" / "empty").is_dir()
    assert (tmp_path / "to" / "a" / "file").read_bytes() == b"12345"


def test_links_and_pipes_are_refused(tmp_path: Path) -> None:
    """Only directories and files are copied: a link isn't followed, a pipe isn't read."""
    (tmp_path / "to").mkdir()
    for name in ("link", "pipe"):
        source = tmp_path / f"with-{name}"
        source.mkdir()
        if name == "link":
            (source / name).symlink_to("/etc/passwd")
        else:
            os.mkfifo(source / name)
        with pytest.raises(FatalError, match="neither a directory nor a file"):
            copy_tree(str(source), str(tmp_path / "to"))
