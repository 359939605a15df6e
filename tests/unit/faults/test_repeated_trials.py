"""Whether a ledger shows a trial that ran again after it had completed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.core.ledger import GENESIS, next_line
from scripts.faults.killing import ran_twice

if TYPE_CHECKING:
    from pathlib import Path

    from runner.core.ledger import Kind


def ledger(folder: Path, *lines: tuple[Kind, str, int, str], torn: bytes = b"") -> list[str]:
    """What is found in a ledger of these lines (kind, trial, attempt, final)."""
    head, data = GENESIS, b""
    for seq, (kind, trial, attempt, final) in enumerate(lines, 1):
        detail = {"final": final} if final else {}
        line, head = next_line(head, seq=seq, at="now", kind=kind, trial=trial, attempt=attempt, detail=detail)
        data += line
    (folder / "ledger.jsonl").write_bytes(data + torn)
    return list(ran_twice(folder))


def test_attempts_up_to_a_final_one_are_right(tmp_path: Path) -> None:
    """Broken off, repeated, and then completed."""
    found = ledger(
        tmp_path,
        ("attempt_started", "a", 1, ""),
        ("attempt_ended", "a", 1, "no"),
        ("attempt_started", "a", 2, ""),
        ("attempt_ended", "a", 2, "yes"),
    )
    assert found == []


def test_a_start_after_a_final_end_is_found(tmp_path: Path) -> None:
    """Work that was done is paid twice."""
    found = ledger(
        tmp_path,
        ("attempt_started", "a", 1, ""),
        ("attempt_ended", "a", 1, "yes"),
        ("attempt_started", "a", 2, ""),
        ("attempt_ended", "a", 2, "yes"),
    )
    assert found == ["a was started again as attempt 2", "a has 2 final attempts"]


def test_a_trial_that_never_ended_is_found(tmp_path: Path) -> None:
    """Work that was lost."""
    assert ledger(tmp_path, ("attempt_started", "a", 1, "")) == ["a has 0 final attempts"]


def test_a_torn_end_is_found(tmp_path: Path) -> None:
    """A finished run has a whole ledger."""
    assert ledger(tmp_path, torn=b'{"kind"') == ["the ledger's end is torn"]
