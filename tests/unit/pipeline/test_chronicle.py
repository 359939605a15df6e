"""A ledger that is read where it lies says what one that is held as a whole says."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.core.errors import EvidenceError
from runner.core.ledger import GENESIS, next_line, read_ledger
from runner.pipeline.chronicle import StoredLedger, split_lines
from tests.fakes.files import MemoryFiles

PATH = Path("/run/ledger.jsonl")
AT = "2026-01-02T03:04:05Z"


def ledger() -> bytes:
    """Two trials, of which one was tried twice and one is still open, and a resumption between."""
    head, data = GENESIS, b""
    for number, facts in enumerate(
        [
            {"kind": "run_started", "files": {"lock.json": GENESIS, "inputs/study.json": GENESIS}},
            {"kind": "attempt_started", "trial": "a.r1.off", "attempt": 1},
            {
                "kind": "attempt_ended",
                "trial": "a.r1.off",
                "attempt": 1,
                "files": {"trials/a.r1.off/attempt-1/exit.json": GENESIS},
                "detail": {"outcome": "infrastructure"},
            },
            {"kind": "run_resumed", "files": {"ledger.jsonl.torn-after-3": GENESIS}},
            {"kind": "attempt_started", "trial": "a.r1.off", "attempt": 2},
            {"kind": "attempt_started", "trial": "a.r1.on", "attempt": 1},
            {
                "kind": "attempt_ended",
                "trial": "a.r1.off",
                "attempt": 2,
                "detail": {"outcome": "completed", "final": "yes"},
            },
        ],
        1,
    ):
        line, head = next_line(head, seq=number, at=AT, **facts)  # type: ignore[arg-type]  # facts of several types
        data += line
    return data


def stored(data: bytes, *, journal: bool = False) -> StoredLedger:
    files = MemoryFiles()
    if not journal:
        files.write(PATH, data)
    return StoredLedger(files, PATH, data if journal else None)


@pytest.mark.parametrize("journal", [False, True])
def test_lines_are_those_of_the_ledger(journal: bool) -> None:  # noqa: FBT001
    """All of them, one by one, and the digest of the last; from its file, or from bytes."""
    lines, head = read_ledger(ledger(), "ledger.jsonl")
    found = stored(ledger(), journal=journal)
    assert tuple(found) == lines
    assert (found[0], found[-1], found[2:4], len(found), found.head) == (lines[0], lines[-1], [*lines[2:4]], 7, head)
    with pytest.raises(IndexError):
        found[7]


def test_what_is_told_of_a_trial() -> None:
    """Its attempts, where they end, and after how many resumptions; files by whether they are evidence."""
    found = stored(ledger())
    off, on = found.trials["a.r1.off"], found.trials["a.r1.on"]
    assert (off.first, off.started, off.ended, off.end_lines, off.final_stretches) == (2, (1, 2), (1, 2), (2, 6), (1,))
    assert (on.first, on.started, on.ended, on.end_lines, on.final_stretches) == (6, (1,), (), (), ())
    assert [end.partition(b'"seq":')[2][:1] for end in found.ends_of("a.r1.off")] == [b"3", b"7"]
    assert found.ends_of("a.r1.on") == found.ends_of("never heard of") == ()
    assert set(found.other_files) == {"lock.json", "inputs/study.json", "ledger.jsonl.torn-after-3"}
    assert found.evidence_files == 1


def test_what_is_wrong_with_a_ledger_is_told_at_once() -> None:
    """Missing, torn, changed, or written otherwise: before anything is made of it."""
    with pytest.raises(EvidenceError, match="the file is missing"):
        StoredLedger(MemoryFiles(), PATH)
    with pytest.raises(EvidenceError, match="torn"):
        stored(ledger()[:-1])
    with pytest.raises(EvidenceError, match="does not follow"):
        stored(ledger().replace(b"a.r1.on", b"b.r1.on"))
    with pytest.raises(EvidenceError, match="not canonical"):
        stored(ledger().replace(b"}\n", b"} \n", 1))


@given(st.lists(st.sampled_from([b"", b"a", b"bc"]), max_size=8), st.integers(1, 4))
def test_lines_do_not_depend_on_pieces(lines: list[bytes], size: int) -> None:
    """A line may end in another piece than it begins in."""
    data = b"".join(line + b"\n" for line in lines)
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    assert list(split_lines(pieces, "x")) == lines
