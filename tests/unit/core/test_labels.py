"""Labels against the files that they point into."""

from __future__ import annotations

import pytest

from runner.core.labels import source_problems
from runner.core.study import Label, SourceLabel

FILES = {"a.md": "Grüße from the harbour, at ten.\n".encode(), "b.bin": b"\xff" * 40}


def _source(start: int, end: int, anchor: str = "the harbour", path: str = "a.md") -> SourceLabel:
    return SourceLabel(path=path, start=start, end=end, grade=2, anchor=anchor)


def _problems(*sources: SourceLabel, task: str = "one") -> list[str]:
    return [str(item) for item in source_problems([Label(task=task, sources=sources)], {"one": FILES}, "l.toml")]


def test_a_label_that_fits_has_no_problems() -> None:
    """The range may be as large as the file, and ranges may touch."""
    assert _problems(_source(0, 34)) == []
    assert _problems(_source(0, 26), _source(26, 34, "at ten.\n")) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (_source(0, 35), "l.toml: labels[0].sources[0]: ends at 35, and the file at 34"),
        (_source(0, 9, path="c.md"), "l.toml: labels[0].sources[0]: the corpus of 'one' has no file 'c.md'"),
        (
            _source(0, 20),
            "l.toml: labels[0].sources[0]: the anchor 'the harbour' doesn't stand there (it stands at byte 13)",
        ),
        (
            _source(0, 34, "the Harbour"),
            "l.toml: labels[0].sources[0]: the anchor 'the Harbour' doesn't stand there (it isn't in the file at all)",
        ),
        (_source(3, 34), "l.toml: labels[0].sources[0]: begins or ends inside a character, or isn't UTF-8"),
        (
            _source(0, 9, path="b.bin"),
            "l.toml: labels[0].sources[0]: begins or ends inside a character, or isn't UTF-8",
        ),
    ],
)
def test_a_label_that_slipped_is_named(source: SourceLabel, expected: str) -> None:
    """The message says where the anchor is instead."""
    assert _problems(source) == [expected]


def test_sources_of_one_task_do_not_overlap() -> None:
    """A byte counted twice would weigh double in recall."""
    assert _problems(_source(0, 26), _source(12, 34)) == [
        "l.toml: labels[0].sources[1]: overlaps the source at 0 to 26 (make one of the two)"
    ]


def test_a_task_without_a_workspace_is_passed_over() -> None:
    """Unknown tasks are refused where the study is loaded, not twice."""
    assert _problems(_source(0, 999), task="other") == []
