"""What the supervisor says was used up: the kernel's count of kills, and places without room."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from supervisor import exhaustion

if TYPE_CHECKING:
    from pathlib import Path

VERSION_1 = "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"
VERSION_2 = "low 0\nhigh 0\nmax 41\noom 2\noom_kill 1\noom_group_kill 0\n"


@pytest.mark.parametrize(("text", "kills"), [(VERSION_1, 3), (VERSION_2, 1)])
def test_kills_are_read_from_either_version_of_control_groups(tmp_path: Path, text: str, kills: int) -> None:
    """`oom_kill` counts processes; `oom` and `oom_kill_disable` don't."""
    (tmp_path / "counter").write_text(text, encoding="ascii")
    assert exhaustion.oom_kills((str(tmp_path / "absent"), str(tmp_path / "counter"))) == kills


@pytest.mark.parametrize("text", ["", "oom_kill_disable 0\nunder_oom 0\n", "oom_kill many\n"])
def test_a_counter_that_says_nothing_is_not_zero(tmp_path: Path, text: str) -> None:
    """What can't be known is None."""
    (tmp_path / "counter").write_text(text, encoding="ascii")
    assert exhaustion.oom_kills((str(tmp_path / "counter"),)) is None
    assert exhaustion.oom_kills((str(tmp_path / "absent"),)) is None


def statvfs(blocks: int, available: int, files: int, files_available: int) -> os.statvfs_result:
    return os.statvfs_result(
        (4096, 4096, blocks, available, available, files, files_available, files_available, 0, 255)
    )


@pytest.mark.parametrize(
    ("room", "full"),
    [
        (statvfs(100, 1, 100, 1), False),
        (statvfs(100, 0, 100, 1), True),
        (statvfs(100, 1, 100, 0), True),
        (statvfs(0, 0, 0, 0), False),  # no limit at all
        (statvfs(100, 1, 0, 0), False),  # no limit of files
    ],
)
def test_a_place_is_full_without_a_block_or_a_file_left(
    monkeypatch: pytest.MonkeyPatch, room: os.statvfs_result, *, full: bool
) -> None:
    """Limits that aren't there aren't reached."""
    monkeypatch.setattr("os.path.ismount", lambda _place: True)
    monkeypatch.setattr("os.statvfs", lambda _place: room)
    assert exhaustion.full_places(("/tmp",)) == (["/tmp"] if full else [])


def test_a_folder_of_the_host_is_nobodys_limit(tmp_path: Path) -> None:
    """Only what is a file system of its own counts, and what isn't there has no limit either."""
    assert exhaustion.full_places((str(tmp_path), str(tmp_path / "absent"))) == []
