"""A run's lock pins the versions of what its code needed: whoever installs the code gets those, and no others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from runner.archives.harness import harness_in, harness_inputs
from runner.core import layout
from runner.core.canonical import sha256_digest
from runner.core.errors import EvidenceError
from runner.core.lock import Lock
from runner.pipeline import locking
from runner.pipeline.concluding import conclude, ledger_problems, verify_evidence, verify_run
from runner.pipeline.executing import run_study
from runner.pipeline.folder import read_run
from runner.pipeline.originals import read_original
from tests.fakes.surroundings import CODE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.fakes.surroundings import Surroundings


@pytest.fixture
def finished(outside: Surroundings) -> Path:
    folder = run_study(outside.world, outside.study()).folder
    conclude(outside.files, folder)
    return folder


@pytest.mark.parametrize("change", ["of other requirements", "without any code"])
def test_a_run_keeps_the_requirements_that_its_lock_names(
    outside: Surroundings, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """Whoever installs the run's code installs them: a ledger that was made to fit doesn't make them right."""
    kept = {} if change == "without any code" else harness_inputs(replace(CODE, requirements=b"evil==6.6.6\n"))
    monkeypatch.setattr(locking, "harness_inputs", lambda _: kept)
    ran = run_study(outside.world, outside.study())
    conclude(outside.files, ran.folder)
    told = [str(problem) for problem in verify_run(outside.files, ran.folder, outside.world.harness).differences]
    if kept:
        found, said = sha256_digest(b"evil==6.6.6\n"), sha256_digest(b"click==8.0.1\n")
        assert told == [f"inputs/harness/requirements.txt: its digest is {found}, and the lock says {said}"]
        with pytest.raises(EvidenceError, match=r"requirements\.txt: its digest is"):
            verify_evidence(outside.files, ran.folder)
        with pytest.raises(EvidenceError, match=r"requirements\.txt: its digest is"):
            read_original(outside.files, ran.folder)
    else:
        assert len(told) == 1
        assert told[0].endswith("the file is missing")


def test_a_lock_from_before_requirements_were_pinned_keeps_its_digest(outside: Surroundings, finished: Path) -> None:
    """Its harness says nothing of them, however it is written again; what the run keeps is taken as it is."""
    data = outside.files.held[finished / layout.LOCK]
    pinned = f',"requirements_sha256":"{sha256_digest(CODE.requirements)}"'
    old = data.replace(pinned.encode(), b"")
    assert len(old) < len(data)
    lock = Lock.from_bytes(old, layout.LOCK)
    assert lock.to_bytes() == old
    assert lock.harness.json_value() == {
        key: value for key, value in CODE.pin.json_value().items() if key != "requirements_sha256"
    }
    kept = {CODE.wheel_name: CODE.wheel, "requirements.txt": b"click==7\n"}
    assert harness_in(lock.harness, kept).requirements == b"click==7\n"


def test_code_of_any_size_is_read_no_further_than_code_goes(
    outside: Surroundings, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wheel of gigabytes is told of its beginning."""
    asked: list[int] = []

    def endless() -> Iterator[bytes]:
        while True:
            asked.append(1000)
            yield bytes(1000)

    def pieces(path: Path) -> Iterator[bytes] | None:
        if path.name == CODE.wheel_name:
            return endless()
        return of_all(path)

    of_all = outside.files.pieces
    for module in ("pipeline.concluding", "archives.harness"):
        monkeypatch.setattr(f"runner.{module}.MAX_WHEEL_BYTES", 5000)
    monkeypatch.setattr(outside.files, "pieces", pieces)
    run = read_run(outside.files, finished)
    told = [str(problem) for problem in ledger_problems(outside.files, run)]
    assert told == [f"inputs/harness/{CODE.wheel_name}: it has more than 5000 bytes"]
    assert sum(asked) == 6000
