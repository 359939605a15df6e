"""A ledger in which anything was changed, left out, put in or exchanged is no ledger any more."""

from __future__ import annotations

import pytest

from runner.core.canonical import sha256_digest
from runner.core.errors import EvidenceError
from runner.core.ledger import GENESIS, Kind, LedgerLine, next_line, open_attempts, read_ledger, without_torn_end

KINDS: tuple[tuple[Kind, str, int], ...] = (
    ("run_started", "", 0),
    ("attempt_started", "a.r1.off", 1),
    ("attempt_ended", "a.r1.off", 1),
    ("run_ended", "", 0),
)


def ledger() -> bytes:
    head, data = GENESIS, b""
    for number, (kind, trial, attempt) in enumerate(KINDS, 1):
        files: dict[str, str] = {f"{kind}.json": sha256_digest(kind.encode())}
        line, head = next_line(
            head,
            seq=number,
            at=f"2026-01-01T00:00:0{number}.000Z",
            kind=kind,
            trial=trial,
            attempt=attempt,
            files=files,
        )
        data += line
    return data


def test_the_first_line_is_literal() -> None:
    """Canonical JSON; it names the digest of nothing as that of the line before it."""
    line, head = next_line(GENESIS, seq=1, at="2026-01-01T00:00:00.000Z", kind="run_started", detail={"run": "r"})
    assert line == (
        b'{"at":"2026-01-01T00:00:00.000Z","attempt":0,"detail":{"run":"r"},"files":{},"format":"pairbench/ledger",'
        b'"kind":"run_started",'
        b'"previous":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",'
        b'"seq":1,"trial":"","version":1}\n'
    )
    assert head == sha256_digest(line)


def test_a_ledger_reads_back() -> None:
    """Its lines in order, and the digest of the last."""
    lines, head = read_ledger(ledger(), "ledger.jsonl")
    assert [(line.kind, line.trial, line.attempt) for line in lines] == list(KINDS)
    assert head == sha256_digest(ledger().splitlines(keepends=True)[-1])


def test_an_empty_ledger_has_no_lines() -> None:
    """Its head is what the first line will name."""
    assert read_ledger(b"", "ledger.jsonl") == ((), GENESIS)


def test_a_changed_byte_is_found() -> None:
    """Every byte of every line, changed in its lowest bit: an error, or another head."""
    whole = ledger()
    _, head = read_ledger(whole, "ledger.jsonl")
    unseen = []
    for place in range(len(whole)):
        changed = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
        try:
            _, found = read_ledger(changed, "ledger.jsonl")
        except EvidenceError:
            continue
        if found == head:
            unseen.append(place)
    assert unseen == []


@pytest.mark.parametrize("number", range(4))
def test_a_line_that_is_left_out_is_found(number: int) -> None:
    """Unless it is the last: then the head differs, which the summary names."""
    lines = ledger().splitlines(keepends=True)
    rest = b"".join(lines[:number] + lines[number + 1 :])
    if number < 3:
        with pytest.raises(EvidenceError, match=f"ledger.jsonl line {number + 1}: seq: its number is {number + 2}"):
            read_ledger(rest, "ledger.jsonl")
    else:
        assert read_ledger(rest, "ledger.jsonl")[1] != read_ledger(ledger(), "ledger.jsonl")[1]


def test_a_line_that_was_made_anew_does_not_follow() -> None:
    """Whoever rewrites one line has to rewrite all that follow it."""
    lines = ledger().splitlines(keepends=True)
    forged = LedgerLine.from_bytes(lines[1], "x").model_copy(update={"at": "2026-01-01T00:00:09.000Z"}).to_line()
    with pytest.raises(EvidenceError, match="line 3: previous: it does not follow from the line before"):
        read_ledger(lines[0] + forged + b"".join(lines[2:]), "ledger.jsonl")


def test_two_lines_that_changed_places_are_found() -> None:
    """Their numbers say so."""
    lines = ledger().splitlines(keepends=True)
    with pytest.raises(EvidenceError, match="line 2: seq: its number is 3"):
        read_ledger(lines[0] + lines[2] + lines[1] + lines[3], "ledger.jsonl")


def test_other_bytes_of_the_same_value_are_found() -> None:
    """White space and the order of keys count too."""
    whole = ledger()
    with pytest.raises(EvidenceError, match="its bytes are not canonical"):
        read_ledger(whole[:-2] + b" }\n", "ledger.jsonl")


def test_a_torn_end_is_found_and_can_be_cut_off() -> None:
    """The only damage that a crash can leave."""
    torn = ledger() + b'{"at":"2026-'
    with pytest.raises(EvidenceError, match=r"ledger\.jsonl: the last line is torn"):
        read_ledger(torn, "ledger.jsonl")
    assert without_torn_end(torn) == (ledger(), b'{"at":"2026-')
    assert without_torn_end(ledger()) == (ledger(), b"")
    assert without_torn_end(b"{") == (b"", b"{")


def test_attempts_that_did_not_end_are_open() -> None:
    """In the order of their start."""
    lines, _ = read_ledger(ledger(), "ledger.jsonl")
    again = [line.model_copy(update={"trial": trial}) for trial in ("z", "b") for line in lines[1:2]]
    assert open_attempts((*again, *lines)) == (("z", 1), ("b", 1))
    assert open_attempts(lines) == ()
