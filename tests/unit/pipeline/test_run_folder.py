"""Runs are found by path, by name, and as the latest; their documents are read back as types."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from runner.core.canonical import sha256_digest
from runner.core.errors import EvidenceError, StudyError
from runner.pipeline.executing import run_study
from runner.pipeline.folder import file_fault, find_run, read_run, required
from tests.fakes.files import MemoryFiles
from tests.fakes.surroundings import CLAUDE_STUDY, Surroundings

CWD = Path("/here")


def shelf() -> MemoryFiles:
    files = MemoryFiles()
    for place in ("/here/runs/one", "/here/runs/two", "/elsewhere/three"):
        files.put(Path(place) / "lock.json", "{}")
    files.point(Path("/here/runs/latest"), "two")
    files.put(Path("/here/runs/unlocked/plan.json"), "{}")
    return files


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("one", "/here/runs/one"),
        ("runs/one", "/here/runs/one"),
        ("latest", "/here/runs/latest"),
        ("/elsewhere/three", "/elsewhere/three"),
        ("../elsewhere/three", "/elsewhere/three"),
    ],
)
def test_a_run_is_found(name: str, found: str) -> None:
    """A path counts from where one is."""
    assert find_run(shelf(), Path("/here/runs"), name, CWD) == Path(found)


@pytest.mark.parametrize("name", ["four", "unlocked", "runs", "", " ", "../runs/four"])
def test_what_is_no_run_is_told(name: str) -> None:
    """A folder without a lock is none, and where there is such a folder, that is said."""
    message = {
        "": "'' names no run",
        " ": "' ' names no run",
        "four": "there is no run 'four'",
        "../runs/four": "there is no run '../runs/four'",
    }.get(name, f"the folder {name!r} is no run: it has none of lock.json, ledger.jsonl, summary.json")
    with pytest.raises(StudyError, match=re.escape(message)) as caught:
        find_run(shelf(), Path("/here/runs"), name, CWD)
    assert "/here/runs" in caught.value.problems[0].hint


def test_a_run_is_read_back(outside: Surroundings) -> None:
    """Lock, plan, study, labels, prices, workspaces, ledger."""
    folder = run_study(outside.world, outside.study(CLAUDE_STUDY)).folder
    run = read_run(outside.files, folder)
    assert run.lock.run == folder.name
    assert run.lock.study_sha256 == run.study.digest()
    assert run.labels is not None
    assert run.corpora["notes"]["notes/deep/other.md"] == b"Nothing else.\n"
    assert run.ledger[0].kind == "run_started"
    assert len(run.plan.trials) == 8


def test_a_document_of_a_later_version_is_refused(outside: Surroundings) -> None:
    """With what to do about it."""
    folder = run_study(outside.world, outside.study()).folder
    lock = outside.files.held[folder / "lock.json"].replace(b'"version":1}', b'"version":2}')
    outside.files.held[folder / "lock.json"] = lock
    with pytest.raises(EvidenceError, match=r"lock\.json: version: version 2 is not known here") as caught:
        read_run(outside.files, folder)
    assert caught.value.problems[0].hint == "read it with the version of pairbench that wrote it"


def test_a_fault_of_a_file_is_said_in_words() -> None:
    """Nothing, another digest, missing, a link, outside of the run."""
    files = MemoryFiles()
    folder = Path("/run")
    files.put(folder / "a", "x")
    files.point(folder / "link", "a")
    digest = sha256_digest(b"x")
    assert file_fault(files, folder, "a", digest) == ""
    assert file_fault(files, folder, "a", "sha256:0") == f"its digest is {digest}, and the ledger says sha256:0"
    assert file_fault(files, folder, "b", digest) == "missing, or no regular file"
    assert file_fault(files, folder, "link", digest) == "missing, or no regular file"
    assert file_fault(files, folder, "../run/a", digest) == "it leads out of the run's folder"


def test_a_file_that_must_be_there() -> None:
    """Its name is told."""
    with pytest.raises(EvidenceError, match=r"plan\.json: the file is missing"):
        required(MemoryFiles(), Path("/run"), "plan.json")
