"""A ledger is written line by line, whichever thread writes; after a failure nothing more is written."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from runner.core.errors import EnvironmentNotReady
from runner.core.ledger import read_ledger
from runner.execute.journal import Journal
from tests.fakes.clock import FakeClock
from tests.fakes.files import MemoryFiles

PATH = Path("/runs/demo/ledger.jsonl")


def test_lines_are_on_disk_when_the_call_returns() -> None:
    """Each with the clock's time, its number and its trial."""
    files, clock = MemoryFiles(), FakeClock()
    journal = Journal(files, clock, PATH)
    journal.run("run_started", {"lock.json": "sha256:x"}, {"run": "demo"})
    clock.advance(1500)
    journal.attempt_started("a.r1.off", 1)
    journal.attempt_ended("a.r1.off", 1, {}, {"outcome": "completed"})
    lines, head = read_ledger(files.read(PATH) or b"", "ledger.jsonl")
    assert [(line.seq, line.at, line.kind, line.trial, line.attempt) for line in lines] == [
        (1, "2026-01-02T03:04:05.678Z", "run_started", "", 0),
        (2, "2026-01-02T03:04:07.178Z", "attempt_started", "a.r1.off", 1),
        (3, "2026-01-02T03:04:07.178Z", "attempt_ended", "a.r1.off", 1),
    ]
    assert (journal.head, journal.count) == (head, 3)


def test_a_journal_goes_on_where_another_ended() -> None:
    """A resumed run's ledger is one chain."""
    files, clock = MemoryFiles(), FakeClock()
    first = Journal(files, clock, PATH)
    first.run("run_started", {}, {})
    second = Journal(files, clock, PATH, first.head, first.count)
    second.run("run_resumed", {}, {})
    lines, _ = read_ledger(files.read(PATH) or b"", "ledger.jsonl")
    assert [line.kind for line in lines] == ["run_started", "run_resumed"]


def test_threads_write_one_chain() -> None:
    """However they interleave."""
    files = MemoryFiles()
    journal = Journal(files, FakeClock(), PATH)

    def write(name: str) -> None:
        for number in range(1, 51):
            journal.attempt_started(name, number)

    threads = [threading.Thread(target=write, args=(str(name),)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines, _ = read_ledger(files.read(PATH) or b"", "ledger.jsonl")
    assert len(lines) == 400


def test_nothing_is_written_behind_a_line_that_failed() -> None:
    """Part of it may stand there; every later writer is told the first failure."""
    files = MemoryFiles()
    journal = Journal(files, FakeClock(), PATH)
    journal.run("run_started", {}, {})
    files.refuse = lambda _call, _path: "No space left on device"
    with pytest.raises(EnvironmentNotReady, match="No space left"):
        journal.attempt_started("a", 1)
    files.refuse = lambda _call, _path: ""
    with pytest.raises(EnvironmentNotReady, match="No space left"):
        journal.run("run_ended", {}, {})
    assert len(read_ledger(files.read(PATH) or b"", "ledger.jsonl")[0]) == 1
