"""The golden run: its summary is the same to the byte, and a record that was touched is noticed."""

from pathlib import Path

import pytest

from runner.core.canonical import canonical_bytes
from runner.core.errors import EvidenceError
from runner.core.plan import Plan
from runner.core.records import Record, Score
from runner.core.summary import Summary
from runner.summarize.seal import open_sealed, seal
from runner.summarize.summary import summarize
from tests.fakes.records import make_run
from tests.golden.summary.make import SPEC

FOLDER = Path(__file__).parent


def summary_from(records: str) -> Summary:
    plan = Plan.from_bytes((FOLDER / "plan.json").read_bytes(), "plan.json")
    return summarize(
        make_run(SPEC).context,
        plan,
        Record.from_lines((FOLDER / records).read_bytes(), records),
        Score.from_lines((FOLDER / "scores.jsonl").read_bytes(), "scores.jsonl"),
    )


def test_the_golden_documents_give_the_golden_bytes() -> None:
    """Any change of a figure, a rule or a name shows here first."""
    sealed = seal(summary_from("records.jsonl"))
    assert sealed.summary_bytes == (FOLDER / "summary.json").read_bytes()
    assert sealed.checksum_bytes == (FOLDER / "summary.json.sha256").read_bytes()


def test_the_golden_seal_opens() -> None:
    """The two files belong together, and what was invalid or failed is in them."""
    summary = open_sealed((FOLDER / "summary.json").read_bytes(), (FOLDER / "summary.json.sha256").read_bytes())
    assert [(count.arm, count.outcome.value, count.trials) for count in summary.census.by_arm] == [
        ("off", "completed", 10),
        ("off", "infrastructure", 1),
        ("off", "evidence_invalid", 1),
        ("memory", "completed", 11),
        ("memory", "timeout", 1),
    ]


def test_the_broken_specimen_is_refused() -> None:
    """One digit of one token count in an attempt contradicts the trial and its score."""
    with pytest.raises(EvidenceError, match="observed of the last attempt is not that of the trial"):
        summary_from("records.broken.jsonl")


def test_pieces_are_those_of_the_whole() -> None:
    """A summary is written field by field: together they are its bytes, also where rows come in batches."""
    summary = Summary.from_bytes((FOLDER / "summary.json").read_bytes(), "summary.json")
    pieces = list(summary.pieces())
    assert len(pieces) > 100
    assert b"".join(pieces) == summary.to_bytes()
    many = summary.census.rows * 60
    larger = summary.model_copy(update={"census": summary.census.model_copy(update={"rows": many})})
    assert b"".join(larger.pieces()) == canonical_bytes(larger.json_value()) + b"\n"
