"""Other code confirms a run when it gives every figure that the run has; what it doesn't give is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runner.core.canonical import sha256_digest
from runner.pipeline.figures import MOST_SHOWN, AgainstFigures
from tests.fakes.files import MemoryFiles

FOLDER = Path("/run")


def told(name: str, run: bytes | None, code: bytes) -> tuple[list[str], int]:
    """What is said where the run has `run` and the code gives `code`, and how many fields only the code gives."""
    files = MemoryFiles()
    if run is not None:
        files.write(FOLDER / name, run)
    outlet = AgainstFigures(files, FOLDER)
    sink = outlet.sink(name)
    for start in range(0, len(code), 7):
        sink.put(code[start : start + 7])
    assert sink.digest() == sha256_digest(run or b"")
    return [str(problem) for problem in outlet.differences()], outlet.added


@pytest.mark.parametrize(
    ("run", "code", "said", "added"),
    [
        (b'{"a":1}\n', b'{"a":1}\n', [], 0),
        (b'{"a":1}\n', b'{"a":1,"b":{"c":2}}\n', [], 1),
        (b'{"a":1,"b":2}\n', b'{"a":1}\n', ["summary.json: b: the run has it, and this code doesn't give it"], 0),
        (b'{"a":{"b":1}}\n', b'{"a":{"b":2}}\n', ["summary.json: a.b: 1 in the run, and 2 by this code"], 0),
        (b'{"a":1}\n', b'{"a":"1"}\n', ['summary.json: a: 1 in the run, and "1" by this code'], 0),
        (
            b'{"a":[{"id":"x"}]}\n',
            b'{"a":[{"id":"x"},{"id":"y"}]}\n',
            ["summary.json: a[y]: only this code gives it"],
            0,
        ),
        (b"{}\n{}\n", b"{}\n", ["summary.json: it has 1 more lines than this code gives"], 0),
        (b"", b"{}\n", ["summary.json: the file has no such line, and this code gives one"], 0),
        (None, b"{}\n", ["summary.json: missing"], 0),
    ],
)
def test_figures_are_compared_and_not_bytes(run: bytes | None, code: bytes, said: list[str], added: int) -> None:
    """A field more is counted; a field less, another value, an item of a list more or a missing file is a difference."""
    assert told("summary.json", run, code) == (said, added)


def test_lines_are_named_by_their_numbers() -> None:
    """Of documents that have many."""
    run, code = b'{"a":1}\n{"a":1}\n', b'{"a":1}\n{"a":3,"b":1}\n'
    assert told("records.jsonl", run, code) == (["records.jsonl line 2: a: 1 in the run, and 3 by this code"], 1)


def test_what_is_no_json_is_compared_as_it_stands() -> None:
    """Runs of the tools of the field, and checksums."""
    said = ["retrieval/a.run line 2: the file has another line than this code gives"]
    assert told("retrieval/a.run", b"1 Q0 a\n2 Q0 b\n", b"1 Q0 a\n2 Q0 c\n") == (said, 0)


def test_damaged_json_is_a_difference() -> None:
    """And no end of the comparison."""
    (said,), _ = told("summary.json", b'{"a":1,"a":1}\n', b'{"a":1}\n')
    assert "twice" in said or "duplicate" in said


def test_of_very_many_differences_some_are_told_and_the_rest_is_counted() -> None:
    """A page of them says no more than the first."""
    run, code = ({f"k{number:03}": value for number in range(200)} for value in (1, 2))
    said, _ = told("summary.json", json.dumps(run).encode(), json.dumps(code).encode())
    assert len(said) == MOST_SHOWN + 1
    assert said[-1] == "summary.json: 150 more figures differ"


def test_a_file_that_nothing_gives_is_named() -> None:
    """Among those for the tools of the field."""
    files = MemoryFiles()
    files.write(FOLDER / "retrieval" / "x.run", b"")
    outlet = AgainstFigures(files, FOLDER)
    assert [str(problem) for problem in outlet.differences()] == ["retrieval/x.run: nothing of the run gives this file"]


def test_a_document_that_is_given_whole_goes_by_the_digest_of_the_file() -> None:
    """What is computed from it goes on from what the run has."""
    files = MemoryFiles()
    files.write(FOLDER / "a.json", b'{"a":1}\n')
    outlet = AgainstFigures(files, FOLDER)
    assert outlet.put("a.json", b'{"a":1,"b":1}\n') == sha256_digest(b'{"a":1}\n')
    assert (outlet.documents, [*outlet.differences()], outlet.added) == (1, [], 1)
