"""`exit.json` is written last, whole, and has room whatever the client did to the volume."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from supervisor import evidence

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.privileges import Identity

NOBODY: Identity = {
    "uid": 10001,
    "gid": 10001,
    "cap_effective": "00000000000000e0",
    "cap_permitted": "00000000000000e0",
    "cap_inheritable": "0000000000000000",
    "cap_bounding": "0000000000000000",
    "no_new_privileges": 1,
    "seccomp": 2,
}


def report(**changes: Any) -> evidence.Exit:
    fields: dict[str, Any] = {
        "ended_by": "exit",
        "detail": "",
        "exit_code": 0,
        "signal": None,
        "supervisor_started_ns": 1_000_000,
        "ready_ns": 2_000_000,
        "started_ns": 3_000_000,
        "ended_ns": 10_999_999,
        "finished_ns": 12_000_000,
        "user_cpu_ms": 4,
        "system_cpu_ms": 1,
        "peak_rss_bytes": 4096,
        "stdout_bytes": 0,
        "stderr_bytes": 0,
        "stdout_truncated": False,
        "stderr_truncated": False,
        "killed": [],
        "reaped": 0,
        "oom_kills": 0,
        "full": [],
        "supervisor": NOBODY,
        "client": None,
    }
    return evidence.Exit(**{**fields, **changes})


def test_wall_time_is_whole_milliseconds_rounded_down() -> None:
    """7,999,999 ns are 7 ms."""
    assert json.loads(evidence.document(report()))["wall_ms"] == 7


@pytest.mark.parametrize("changes", [{"started_ns": None, "ended_ns": None}, {"ended_ns": None}])
def test_wall_time_is_null_when_an_end_of_it_is_unknown(changes: dict[str, None]) -> None:
    """A missing time is never zero."""
    assert json.loads(evidence.document(report(**changes)))["wall_ms"] is None


def test_a_name_of_any_bytes_stays_inside_its_text() -> None:
    """A process name can't end a line or a string of the document."""
    hostile = 'a\nb"},{\x00\x1b'
    data = evidence.document(report(killed=[{"pid": 9, "comm": hostile, "uid": 10002}]))
    assert json.loads(data)["killed"] == [{"pid": 9, "comm": hostile, "uid": 10002}]
    assert data.isascii()


def test_a_sealed_folder_holds_the_document_and_nothing_unfinished(tmp_path: Path) -> None:
    """The reserve is given back, and the folder is private."""
    folder = evidence.Folder(str(tmp_path / "out"))
    assert [path.name for path in (tmp_path / "out").iterdir()] == [".exit.json.partial"]
    folder.seal(report())
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["exit.json"]
    assert (tmp_path / "out" / "exit.json").read_bytes() == evidence.document(report())
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o700


def test_an_empty_folder_of_ours_serves(tmp_path: Path) -> None:
    """A folder that was made beforehand becomes private."""
    (tmp_path / "out").mkdir(mode=0o755)
    evidence.Folder(str(tmp_path / "out")).seal(report())
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o700


def test_a_folder_with_anything_in_it_is_refused(tmp_path: Path) -> None:
    """Evidence of an earlier attempt is never mixed with new."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "exit.json").write_bytes(b"{}")
    with pytest.raises(evidence.EvidenceError, match="isn't an empty folder of ours"):
        evidence.Folder(str(tmp_path / "out"))
    assert (tmp_path / "out" / "exit.json").read_bytes() == b"{}"


def test_a_link_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    """Evidence goes where it belongs or nowhere."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(evidence.EvidenceError, match="isn't an empty folder of ours"):
        evidence.Folder(str(tmp_path / "out"))
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_the_largest_list_of_killed_processes_fits_the_reserve(tmp_path: Path) -> None:
    """A thousand processes with the longest escapes need no new space on a full volume."""
    folder = evidence.Folder(str(tmp_path / "out"))
    reserved = os.stat(tmp_path / "out" / ".exit.json.partial").st_size
    killed = [{"pid": 4194304, "comm": "\x01" * 15, "uid": 2**32 - 2}] * 1024
    assert len(evidence.document(report(killed=killed, detail="x" * 4096))) <= reserved
    folder.seal(report())
