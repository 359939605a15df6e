"""Whatever a ledger says, it reads back; whatever is changed in it, is found."""

from __future__ import annotations

from typing import Any, get_args

from hypothesis import given
from hypothesis import strategies as st

from runner.core.errors import EvidenceError
from runner.core.ledger import GENESIS, Kind, next_line, open_attempts, read_ledger, without_torn_end

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=15)
ENTRIES = st.fixed_dictionaries(
    {
        "at": TEXTS,
        "kind": st.sampled_from(get_args(Kind)),
        "trial": TEXTS,
        "attempt": st.integers(0, 9),
        "files": st.dictionaries(TEXTS, TEXTS, max_size=2),
        "detail": st.dictionaries(TEXTS, TEXTS, max_size=2),
    }
)
LEDGERS = st.lists(ENTRIES, min_size=1, max_size=5)


def written(entries: list[dict[str, Any]]) -> bytes:
    head, data = GENESIS, b""
    for number, entry in enumerate(entries, 1):
        line, head = next_line(head, seq=number, **entry)
        data += line
    return data


@given(LEDGERS)
def test_a_ledger_reads_back(entries: list[dict[str, Any]]) -> None:
    """Every entry, in order."""
    lines, _ = read_ledger(written(entries), "ledger")
    assert [{key: getattr(line, key) for key in entries[0]} for line in lines] == entries


@given(LEDGERS, st.data())
def test_any_changed_byte_is_found(entries: list[dict[str, Any]], data: st.DataObject) -> None:
    """An error, or another head than the summary names."""
    whole = bytearray(written(entries))
    _, head = read_ledger(bytes(whole), "ledger")
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    try:
        _, found = read_ledger(bytes(whole), "ledger")
    except EvidenceError:
        return
    assert found != head


@given(LEDGERS, st.data())
def test_anything_put_in_or_left_out_is_found(entries: list[dict[str, Any]], data: st.DataObject) -> None:
    """At any place, of any length."""
    whole = written(entries)
    _, head = read_ledger(whole, "ledger")
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    more = data.draw(st.binary(max_size=20))
    changed = whole[:start] + more + whole[end:]
    if changed == whole:
        return
    try:
        _, found = read_ledger(changed, "ledger")
    except EvidenceError:
        return
    assert found != head


@given(LEDGERS, st.data())
def test_a_ledger_that_was_cut_anywhere_is_repaired_to_its_whole_lines(
    entries: list[dict[str, Any]], data: st.DataObject
) -> None:
    """A crash during an append leaves a beginning of what was written."""
    whole = written(entries)
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    rest, torn = without_torn_end(cut)
    assert rest + torn == cut
    lines, _ = read_ledger(rest, "ledger")
    assert [line.at for line in lines] == [entry["at"] for entry in entries[: len(lines)]]
    assert len(lines) == cut.count(b"\n")


@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.integers(1, 3), st.booleans()), max_size=12))
def test_open_attempts_are_those_whose_last_entry_is_a_start(events: list[tuple[str, int, bool]]) -> None:
    """However starts and ends follow each other."""
    entries: list[dict[str, Any]] = [
        {
            "at": "",
            "kind": "attempt_started" if begins else "attempt_ended",
            "trial": trial,
            "attempt": attempt,
            "files": {},
            "detail": {},
        }
        for trial, attempt, begins in events
    ]
    lines, _ = read_ledger(written(entries), "ledger")
    last = {(trial, attempt): begins for trial, attempt, begins in events}
    assert set(open_attempts(lines)) == {key for key, begins in last.items() if begins}
