"""The commands of a review, from a run on disk to an assessment."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from runner.adapters.disk import Disk
from runner.cli.program import program
from runner.core.errors import EvidenceError, StudyError
from runner.core.reconsolidation.packet import Packet
from tests.fakes.reviews import FIXTURE, PERSON, decided, write_run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with one run and a register."""
    monkeypatch.chdir(tmp_path)
    register = tmp_path / "corpora/reconsolidation/holdout-register.json"
    write_run(Disk(), None, tmp_path / "runs/one", register)
    return tmp_path


def ran(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(program, ["review", *arguments], standalone_mode=False)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.return_value if isinstance(done.return_value, int) else done.exit_code, done.stdout


def write_decisions(here: Path, name: str, kind: str) -> Path:
    packet = Packet.from_bytes((here / "review/public/packet.json").read_bytes(), "packet")
    path = here / f"{name}.json"
    path.write_bytes(decided(packet, name, kind=kind).to_bytes())
    return path


def test_from_a_run_to_an_assessment(here: Path) -> None:
    """What is public and what is private, what to publish, and who passes: 0 for people, 1 for a fixture."""
    code, said = ran("prepare", "one", "--out", "review")
    assert code == 0
    assert said.splitlines()[0] == "review: 112 entries"
    assert said.splitlines()[1] == "give reviewers review/public, and keep review/private until they have decided"
    commitment = json.loads((here / "review/public/commitment.json").read_bytes())
    assert said.splitlines()[2] == f"publish now: key {commitment['key_sha256']}, packet {commitment['packet_sha256']}"
    assert sorted(path.relative_to(here / "review").as_posix() for path in (here / "review").rglob("*.*")) == [
        "private/key.json",
        "public/commitment.json",
        "public/decisions.json",
        "public/form.html",
        "public/packet.json",
    ]
    person = write_decisions(here, PERSON, "human")
    fixture = write_decisions(here, FIXTURE, "fixture")
    code, said = ran("score", "review", "--decisions", str(fixture), "--out", "fixture")
    assert (code, said.splitlines()[0]) == (1, "fixture assessment: passes no gate")
    code, said = ran("score", "review", "--decisions", str(person))
    assert (code, said.splitlines()[0]) == (0, "assessment by people")
    assert said == (here / "review/assessment/assessment.txt").read_text("utf-8")


def test_undecided_entries_can_t_be_scored(here: Path) -> None:
    """As `prepare` leaves them; exit 4, and nothing is written."""
    ran("prepare", "one", "--out", "review")
    with pytest.raises(EvidenceError, match="is undecided"):
        ran("score", "review")
    assert not (here / "review/assessment").exists()


def test_a_run_that_moved_is_named(here: Path) -> None:
    """By a path or by its name among the runs."""
    ran("prepare", "one", "--out", "review")
    person = write_decisions(here, PERSON, "human")
    (here / "runs/one").rename(here / "moved")
    with pytest.raises(EvidenceError, match="the run has no contract"):
        ran("score", "review", "--decisions", str(person))
    code, _ = ran("score", "review", "--decisions", str(person), "--run", "moved")
    assert code == 0


def test_a_review_needs_its_register_and_its_folder(here: Path) -> None:
    """Each with a hint."""
    ran("prepare", "one", "--out", "review")
    with pytest.raises(StudyError, match="give --register FILE"):
        ran("score", "review", "--register", "nowhere.json")
    with pytest.raises(StudyError, match="give the folder of a review"):
        ran("score", "elsewhere", "--out", "out")
