"""A client's stream ends up in a file, unchanged, up to a limit."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from supervisor.output import CHUNK_BYTES, CappedStream

if TYPE_CHECKING:
    from pathlib import Path


def keep(path: Path, limit_bytes: int, *chunks: bytes) -> CappedStream:
    stream = CappedStream(str(path), limit_bytes)
    for chunk in chunks:
        os.write(stream.write_fd, chunk)
        stream.pump()
    stream.close_client_end()
    while stream.open:
        stream.pump()
    stream.close()
    return stream


def test_bytes_arrive_unchanged(tmp_path: Path) -> None:
    """Any bytes, also such as are no text and end in no line end."""
    stream = keep(tmp_path / "out", 100, b"\x00\xff{", b"}\r\n", b"rest")
    assert (tmp_path / "out").read_bytes() == b"\x00\xff{}\r\nrest"
    assert (stream.kept_bytes, stream.truncated) == (10, False)


def test_exactly_the_limit_is_whole(tmp_path: Path) -> None:
    """A client that writes as much as it may isn't cut."""
    stream = keep(tmp_path / "out", 4, b"ab", b"cd")
    assert (stream.kept_bytes, stream.truncated) == (4, False)


def test_one_byte_more_is_cut_and_what_fitted_is_kept(tmp_path: Path) -> None:
    """The file never holds more than its limit."""
    stream = keep(tmp_path / "out", 4, b"abcd", b"e", b"f" * CHUNK_BYTES)
    assert (tmp_path / "out").read_bytes() == b"abcd"
    assert (stream.kept_bytes, stream.truncated) == (4, True)


def test_a_limit_of_zero_keeps_nothing(tmp_path: Path) -> None:
    """Silence is whole, a single byte is cut."""
    assert keep(tmp_path / "silent", 0).truncated is False
    assert keep(tmp_path / "loud", 0, b"x").truncated is True


def test_a_pump_without_bytes_changes_nothing(tmp_path: Path) -> None:
    """An empty pipe whose writer lives is neither read nor ended."""
    stream = CappedStream(str(tmp_path / "out"), 10)
    stream.pump()
    assert stream.open
    stream.close_client_end()
    stream.close()


def test_a_full_disk_cuts_the_stream_and_says_so(tmp_path: Path) -> None:
    """What can't be kept is never passed off as whole."""
    stream = CappedStream(str(tmp_path / "out"), 100)
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, stream._file_fd)
    os.close(full)
    os.write(stream.write_fd, b"abc")
    stream.pump()
    stream.close_client_end()
    assert (stream.kept_bytes, stream.truncated) == (0, True)
    assert stream.failure == "No space left on device after 0 bytes"
    os.close(stream.read_fd)
    os.close(stream._file_fd)


def test_a_file_that_is_there_is_never_written_over(tmp_path: Path) -> None:
    """A name that somebody took, a symbolic link included, is an error."""
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError):
        CappedStream(str(tmp_path / "link"), 1)
    assert not (tmp_path / "elsewhere").exists()
