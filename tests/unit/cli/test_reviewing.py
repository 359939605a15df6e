"""The commands of a review, from a run on disk to an assessment."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

from runner.adapters.disk import Disk
from runner.adapters.harness import installed_versions
from runner.cli import main
from runner.core.reconsolidation.packet import Packet
from tests.fakes.reviews import FIXTURE, PERSON, Made, decided, write_run

REGISTER = Path("study/holdout-register.json")
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with one run and a register."""
    monkeypatch.chdir(tmp_path)
    write_run(Disk(), Made(versions=installed_versions()), tmp_path / "runs/one", tmp_path / REGISTER)
    return tmp_path


@dataclass(frozen=True)
class Said:
    """How the program ended, and what it said."""

    code: int
    out: str
    errors: str


class Review(Protocol):
    """The commands of a review, in this process."""

    def __call__(self, *arguments: str) -> Said: ...


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Review:
    def run(*arguments: str) -> Said:
        told = [*arguments]
        if arguments[0] == "score" and "--register" not in arguments:
            told += ["--register", str(REGISTER)]
        monkeypatch.setattr(sys, "argv", ["pairbench", "review", *told])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capfd.readouterr()
        return Said(int(ended.value.code or 0), said.out, said.err)

    return run


def write_decisions(here: Path, name: str, kind: str) -> Path:
    packet = Packet.from_bytes((here / "review/public/packet.json").read_bytes(), "packet")
    path = here / f"{name}.json"
    path.write_bytes(decided(packet, name, kind=kind).to_bytes())
    return path


def test_from_a_run_to_an_assessment(here: Path, ran: Review) -> None:
    """What is public and what is private, what to publish, and who passes: 0 for people, 1 for a fixture."""
    done = ran("prepare", "one", "--out", "review")
    assert done.code == 0, done.errors
    commitment = json.loads((here / "review/public/commitment.json").read_bytes())
    assert done.out.splitlines() == [
        "review: 112 entries",
        "give reviewers review/public, and keep review/private until they have decided",
        f"publish now: key {commitment['key_sha256']}, packet {commitment['packet_sha256']}",
    ]
    assert sorted(path.relative_to(here / "review").as_posix() for path in (here / "review").rglob("*.*")) == [
        "private/key.json",
        "private/run.txt",
        "public/commitment.json",
        "public/decisions.json",
        "public/form.html",
        "public/packet.json",
    ]
    modes = {name: stat.S_IMODE((here / "review" / name).stat().st_mode) for name in ("private", "private/key.json")}
    assert modes == {"private": 0o700, "private/key.json": 0o600}
    person = write_decisions(here, PERSON, "human")
    fixture = write_decisions(here, FIXTURE, "fixture")
    done = ran("score", "review", "--decisions", str(fixture), "--out", "fixture")
    assert (done.code, done.out.splitlines()[0]) == (1, "fixture assessment: passes no gate")
    done = ran("score", "review", "--decisions", str(person))
    assert (done.code, done.out.splitlines()[0]) == (0, "assessment by people")
    assert done.out == (here / "review/assessment/assessment.txt").read_text("utf-8")
    done = ran("score", "review", "--decisions", str(person))
    assert done.code == 2
    assert "nothing is written over" in done.errors


def test_undecided_entries_can_t_be_scored(here: Path, ran: Review) -> None:
    """As `prepare` leaves them; exit 4, each entry on a line of its own, and nothing is written."""
    ran("prepare", "one", "--out", "review")
    done = ran("score", "review")
    assert done.code == 4
    assert sum(line.endswith("is undecided") for line in done.errors.splitlines()) == 112
    assert not (here / "review/assessment").exists()


def test_a_run_that_moved_is_named(here: Path, ran: Review) -> None:
    """By a path or by its name among the runs; what it is called says nothing."""
    ran("prepare", "one", "--out", "review")
    person = write_decisions(here, PERSON, "human")
    (here / "runs/one").rename(here / "moved")
    done = ran("score", "review", "--decisions", str(person))
    told = "private/run.txt: it names no run, or one that isn't there any more (give --run RUN)"
    assert (done.code, told in done.errors) == (2, True), done.errors
    assert ran("score", "review", "--decisions", str(person), "--run", "moved").code == 0
    (here / "review/private/run.txt").unlink()
    done = ran("score", "review", "--decisions", str(person), "--out", "again")
    assert (done.code, "give --run RUN" in done.errors) == (2, True)


def test_a_review_needs_its_register_and_its_folder(here: Path, ran: Review) -> None:
    """Each with a hint."""
    ran("prepare", "one", "--out", "review")
    done = ran("score", "review", "--register", "nowhere.json")
    assert (done.code, "give --register FILE" in done.errors) == (2, True)
    assert not (here / "nowhere.json").exists()
    done = ran("score", "elsewhere", "--out", "out")
    assert (done.code, "give the folder of a review" in done.errors) == (2, True)
    assert not (here / "out").exists()


def test_decisions_are_signed_with_a_key(here: Path, ran: Review) -> None:
    """By `ssh-keygen`, and the signature lies beside them."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen isn't installed")
    ran("prepare", "one", "--out", "review")
    person = write_decisions(here, PERSON, "human")
    key = here / "ada.key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    done = ran("sign", person.name, "--key", "ada.key")
    assert (done.code, done.out) == (0, "ada.json.sig\n"), done.errors
    assert (here / "ada.json.sig").read_text("ascii").startswith("-----BEGIN SSH SIGNATURE-----")
    assert ran("sign", person.name, "--key", "ada.key").code == 2


def test_a_contract_can_be_looked_at_before_a_run(here: Path, ran: Review) -> None:
    """What its terms come to, with the digest of everything that they are about."""
    done = ran("contract", str(ROOT / "corpora/reconsolidation/contract.toml"))
    assert done.code == 0, done.errors
    found = json.loads(done.out)
    assert (found["format"], found["version"]) == ("pairbench/review-contract", 2)
    assert set(found["corpus"]) == {"development.json", "holdout.json", "manifest.json"}
    assert set(found["sources"]) == {"review", "comparison", "report", "imported"}
    assert all(found["sources"].values())


def test_no_register_is_taken_for_granted(here: Path, ran: Review, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even the shipped one where it lies: which one is the study's is said, and everything else stays unmarked."""
    shipped = here / "corpora/reconsolidation/holdout-register.json"
    shipped.parent.mkdir(parents=True)
    shipped.write_bytes((here / REGISTER).read_bytes())
    ran("prepare", "one", "--out", "review")
    person = write_decisions(here, PERSON, "human")
    monkeypatch.setattr(sys, "argv", ["pairbench", "review", "score", "review", "--decisions", str(person)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert not (here / "review/assessment").exists()
    assert ran("score", "review", "--decisions", str(person)).code == 0
    assert b'"inspected":[]' in shipped.read_bytes()
    assert b'"run":"reconsolidation-1"' in (here / REGISTER).read_bytes()


def test_a_register_behind_a_link_is_marked_where_it_is(here: Path, ran: Review) -> None:
    """The link stays one."""
    (here / "link.json").symlink_to(REGISTER)
    ran("prepare", "one", "--out", "review")
    person = write_decisions(here, PERSON, "human")
    assert ran("score", "review", "--decisions", str(person), "--register", "link.json").code == 0
    assert (here / "link.json").is_symlink()
    assert b'"run":"reconsolidation-1"' in (here / REGISTER).read_bytes()


@pytest.mark.parametrize("text", [b"/runs/\x00one\n", b"", b"\n", b"/nowhere/at/all\n"])
def test_a_note_of_the_run_that_names_none_asks_for_it(here: Path, ran: Review, text: bytes) -> None:
    """Whatever stands there."""
    ran("prepare", "one", "--out", "review")
    (here / "review/private/run.txt").write_bytes(text)
    done = ran("score", "review", "--decisions", str(write_decisions(here, PERSON, "human")))
    assert (done.code, "give --run RUN" in done.errors) == (2, True), done.errors


def test_nothing_is_left_of_a_place_for_an_assessment_that_isn_t_written(here: Path, ran: Review) -> None:
    """Nor of the folders above it."""
    ran("prepare", "one", "--out", "review")
    assert ran("score", "review", "--out", "p/q/r").code == 4
    assert not (here / "p").exists()
    assert ran("prepare", "study", "--out", "s/t").code == 2
    assert not (here / "s").exists()


@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "nothing"])
def test_what_is_no_file_of_decisions_is_called_that(here: Path, ran: Review, kind: str) -> None:
    """And not absent: somebody may be looking at it."""
    ran("prepare", "one", "--out", "review")
    place = Path("/dev/null") if kind == "device" else here / "decisions"
    if kind == "folder":
        place.mkdir()
    elif kind == "pipe":
        os.mkfifo(place)
    done = ran("score", "review", "--decisions", str(place))
    assert (done.code, f"{place}: no regular file stands there" in done.errors) == (2, True), done.errors


def test_one_json_document_is_printed_where_it_is_asked_for(here: Path, ran: Review) -> None:
    """By both commands; the assessment's is the very one that is written."""
    made = json.loads(ran("prepare", "one", "--out", "review", "--json").out)
    commitment = json.loads((here / "review/public/commitment.json").read_bytes())
    assert made == {
        "review": "review",
        "entries": 112,
        "key_sha256": commitment["key_sha256"],
        "packet_sha256": commitment["packet_sha256"],
    }
    done = ran("score", "review", "--decisions", str(write_decisions(here, PERSON, "human")), "--json")
    assert done.out == (here / "review/assessment/assessment.json").read_text("utf-8")


def test_a_contract_without_a_register_says_what_to_put_there(here: Path, ran: Review) -> None:
    """And no option that the command doesn't have."""
    shutil.copytree(ROOT / "corpora/reconsolidation", here / "mine")
    (here / "mine/holdout-register.json").unlink()
    done = ran("contract", "mine/contract.toml")
    assert done.code == 2
    assert '{"format":"pairbench/holdout-register","inspected":[],"version":1}' in done.errors
    assert "--register" not in done.errors


def test_a_floor_is_given_by_name_and_file(here: Path, ran: Review) -> None:
    """Once each."""
    ran("prepare", "one", "--out", "review")
    for told, expected in (
        (("--floor", "cost"), "'cost' isn't NAME=FILE"),
        (("--floor", "cost=a", "--floor", "cost=b"), "it is given twice"),
        (("--floor", "cost=a"), "the contract has no floor 'cost' (it has: none)"),
    ):
        done = ran("score", "review", "--decisions", str(write_decisions(here, PERSON, "human")), *told)
        assert (done.code, expected in done.errors) == (2, True), done.errors
