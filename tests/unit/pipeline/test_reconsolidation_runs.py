"""Reconsolidation studies from their files to a sealed summary: the control first, frozen, and scored from stores."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from runner.core import layout
from runner.core.canonical import sha256_digest
from runner.core.errors import StudyError
from runner.core.ledger import read_ledger
from runner.core.reconsolidation.observation import Observation
from runner.core.reconsolidation.register import HoldoutRegister
from runner.pipeline.concluding import conclude, verify_run, write_report
from runner.pipeline.executing import run_study
from runner.pipeline.locking import plan_study
from runner.pipeline.resuming import resume_run
from tests.fakes.engine import Hang
from tests.fakes.memories import STUDY, Memories, failing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from runner.core.ledger import LedgerLine
    from runner.core.reconsolidation.section import MemoryScore
    from runner.core.summary import Summary
    from tests.fakes.memories import Points
    from tests.fakes.surroundings import Surroundings

CONTRACT = """
format = "pairbench/review-terms"
version = 2
name = "demo"
holdout_seen_before = false
reviewers = [{ name = "fixture", kind = "fixture" }]
arms = [
  { name = "original_only", mode = "original_only" },
  { name = "merge_only", mode = "merge_only" },
  { name = "connections", mode = "connections" },
]
"""
CONTROLS = {f"{split}.r{number}.original_only" for split in ("development", "holdout") for number in (1, 2)}


@pytest.fixture
def memories(outside: Surroundings) -> Memories:
    return Memories(outside)


def concluded(memories: Memories, folder: Path) -> Summary:
    return conclude(memories.outside.files, folder)


def ledger(memories: Memories, folder: Path) -> tuple[LedgerLine, ...]:
    return read_ledger(memories.outside.files.read(folder / layout.LEDGER) or b"", layout.LEDGER)[0]


def score(summary: Summary, split: str, arm: str) -> MemoryScore:
    assert summary.reconsolidation is not None
    return next(one for one in summary.reconsolidation.of_split(split) if one.arm == arm)


def observations(memories: Memories, folder: Path) -> list[Observation]:
    data = memories.outside.files.read(folder / layout.OBSERVATIONS) or b""
    return list(Observation.from_lines(data, layout.OBSERVATIONS))


def test_a_run_is_scored_from_its_stores(memories: Memories) -> None:
    """One observation for each trial and case, under the corpus's own names, in the order of plan and corpus."""
    ran = run_study(memories.world, memories.study())
    summary = concluded(memories, ran.folder)
    assert ran.complete
    seen = observations(memories, ran.folder)
    assert len(seen) == 8 * 14
    assert (seen[0].case, seen[13].case) == ("dev-equivalent-1", "dev-correction-1")
    found = score(summary, "development", "original_only")
    assert (found.trials, found.observed, found.failed, found.passed) == (2, 2, 0, False)
    assert found.counts["cases"] == 28
    assert found.counts["lost_facts"] == found.counts["false_merge_pairs"] == found.counts["invalid_observations"] == 0
    assert {check.name: check.met for check in found.checks}["duplicate_coverage"] is False
    assert verify_run(memories.outside.files, ran.folder, memories.world.harness).differences == ()
    page = write_report(memories.outside.files, ran.folder)
    assert b"What the memories came to" in (memories.outside.files.read(page) or b"")


def test_the_control_ends_and_is_frozen_before_any_other_arm_starts(memories: Memories) -> None:
    """The ledger has its digest, and every one of its attempts before the first of another arm."""
    folder = run_study(memories.world, memories.study()).folder
    lines = ledger(memories, folder)
    kinds = [(line.kind, line.trial in CONTROLS) for line in lines]
    frozen = kinds.index(("control_frozen", False))
    assert all(line.trial in CONTROLS for line in lines[1:frozen])
    assert not any(line.trial in CONTROLS for line in lines[frozen:])
    assert list(lines[frozen].files) == [layout.BASELINE]
    answers = json.loads(memories.outside.files.read(folder / layout.BASELINE) or b"")["answers"]
    assert len(answers) == 2 * 68
    summary = concluded(memories, folder)
    assert summary.reconsolidation is not None
    assert summary.reconsolidation.baseline_sha256 == lines[frozen].files[layout.BASELINE]
    assert summary.order_effect == ()
    assert "order effect" in {item.name for item in summary.not_checked}
    assert "blocks unbroken" not in {item.name for item in summary.checks}


def test_without_its_control_no_other_arm_starts(memories: Memories) -> None:
    """A trial of the control that fails ends the run, which goes on with that trial when it is resumed."""
    memories.outside.pods.attempts["holdout.r1.original_only", 1] = {"trial": failing()}
    ran = run_study(memories.world, memories.study())
    assert not ran.complete
    assert {line.trial for line in ledger(memories, ran.folder)} - {""} == CONTROLS
    assert memories.outside.files.read(ran.folder / layout.BASELINE) is None
    resumed = resume_run(memories.world, ran.folder)
    assert resumed.complete
    attempts = [line.attempt for line in ledger(memories, ran.folder) if line.trial == "holdout.r1.original_only"]
    assert attempts == [1, 1, 2, 2]
    assert [line.kind for line in ledger(memories, ran.folder)].count("control_frozen") == 1
    assert score(concluded(memories, ran.folder), "holdout", "original_only").observed == 2


def test_what_the_control_answered_can_not_be_changed(memories: Memories) -> None:
    """Verification names the file."""
    folder = run_study(memories.world, memories.study()).folder
    concluded(memories, folder)
    files = memories.outside.files
    files.write(folder / layout.BASELINE, (files.read(folder / layout.BASELINE) or b"").replace(b"Kestrel", b"Merlin"))
    found = verify_run(files, folder, memories.world.harness)
    assert layout.BASELINE in {problem.document for problem in found.differences}


def test_a_changed_corpus_does_not_verify(memories: Memories) -> None:
    """Labels are pinned by the manifest, and the manifest by the lock."""
    folder = run_study(memories.world, memories.study()).folder
    concluded(memories, folder)
    files, name = memories.outside.files, f"{layout.RECONSOLIDATION}/holdout.json"
    files.write(folder / name, (files.read(folder / name) or b"").replace(b"Osprey", b"Ospray"))
    found = verify_run(files, folder, memories.world.harness)
    assert name in {problem.document for problem in found.differences}


def test_merging_what_no_class_holds_is_counted(memories: Memories) -> None:
    """And so is what was lost by it."""

    def merge_two(launch: dict[str, Any], points: Points) -> None:
        if launch["mode"] == "merge_only":
            for payloads in points.values():
                payloads[0]["members"] = ["s2", "s3"]

    memories.change = merge_two
    summary = concluded(memories, run_study(memories.world, memories.study()).folder)
    found = score(summary, "development", "merge_only").counts
    assert found["false_merge_pairs"] > 0
    assert found["lost_facts"] > 0
    assert score(summary, "development", "original_only").counts["false_merge_pairs"] == 0


def test_a_trial_that_failed_counts_with_nothing_kept(memories: Memories) -> None:
    """Its facts are lost; it isn't left out."""
    for attempt in (1, 2):
        memories.outside.pods.attempts["development.r1.merge_only", attempt] = {"trial": failing()}
    summary = concluded(memories, run_study(memories.world, memories.study()).folder)
    found = score(summary, "development", "merge_only")
    assert (found.trials, found.observed, found.failed) == (2, 1, 1)
    assert found.counts["lost_facts"] * 2 == found.counts["required_survivors"]
    assert found.counts["cases"] == 28


def test_a_store_that_is_not_printed_makes_invalid_evidence(memories: Memories) -> None:
    """Nothing is observed where nothing can be read."""
    memories.outside.pods.attempts["holdout.r2.original_only", 1] = {"sidecar": _silent}
    ran = run_study(memories.world, memories.study())
    ends = [line.detail for line in ledger(memories, ran.folder) if line.kind == "attempt_ended"]
    assert {(end["outcome"], end["reason"]) for end in ends if end["outcome"] != "completed"} == {
        ("evidence_invalid", "the sidecar did not print what its store holds")
    }
    assert not ran.complete


def _silent(box: Any) -> Any:
    box.tell("ready", port=6333)
    yield Hang()
    return 0


def test_a_corpus_that_drifted_is_refused_before_anything_starts(memories: Memories) -> None:
    """With the file that isn't what it was."""
    path = memories.study()
    files = memories.outside.files
    split = path.parent / "v1" / "holdout.json"
    files.write(split, (files.read(split) or b"").replace(b"Osprey needs", b"Osprey wants"))
    with pytest.raises(StudyError) as caught:
        plan_study(memories.world, path)
    assert str(split) in {problem.document for problem in caught.value.problems}


def test_a_study_without_control_first_is_refused(memories: Memories) -> None:
    """What the control answers has to be frozen before the others."""
    path = memories.study(STUDY.replace("control_first = true", "control_first = false"))
    with pytest.raises(StudyError, match="frozen before any other arm starts"):
        plan_study(memories.world, path)


def under_contract(memories: Memories) -> Path:
    arm = '  { name = "connections", image = "trial", system = { kind = "reconsolidator", mode = "connections" } },\n'
    study = STUDY.replace("repetitions = 2", 'repetitions = 3\ncontract = "contract.toml"')
    path = memories.study(study.replace("]\ntasks", f"{arm}]\ntasks"))
    memories.outside.files.put(path.parent / "contract.toml", CONTRACT)
    memories.outside.files.put(path.parent / "holdout-register.json", HoldoutRegister(inspected=()).to_bytes().decode())
    return path


def test_a_contract_is_bound_first_and_rechecked_after_each_arm(memories: Memories) -> None:
    """By its digest; nothing had drifted."""
    folder = run_study(memories.world, under_contract(memories)).folder
    told = [line for line in ledger(memories, folder) if line.kind.startswith(("contract", "control", "attempt_s"))]
    digest = sha256_digest(memories.outside.files.read(folder / layout.CONTRACT) or b"")
    assert told[0].kind == "contract_bound"
    assert told[0].files == {layout.CONTRACT: digest}
    rechecks = [(told[number - 1].kind, line.detail) for number, line in enumerate(told) if "rechecked" in line.kind]
    assert [detail for _, detail in rechecks] == [
        {"arm": arm, "contract": digest, "drift": ""} for arm in ("original_only", "merge_only", "connections")
    ]
    assert told[-1].detail["arm"] == "connections"


def test_a_drift_from_the_contract_is_in_the_ledger(memories: Memories) -> None:
    """After the arm that ran when it was found."""
    path = under_contract(memories)
    world = replace(memories.world, sources=_drifting(memories.world.sources))
    folder = run_study(world, path).folder
    (first, *_) = [line for line in ledger(memories, folder) if line.kind == "contract_rechecked"]
    assert first.detail["arm"] == "original_only"
    assert "runner/measure/reconsolidation/v1.py" in first.detail["drift"]


def _drifting(sources: Callable[[], Mapping[str, bytes]]) -> Callable[[], Mapping[str, bytes]]:
    """Sources that are others once they were asked for while the study was planned."""
    asked = iter((False, False))

    def drifted() -> Mapping[str, bytes]:
        found = dict(sources())
        if next(asked, True):
            found["runner/measure/reconsolidation/v1.py"] += b"# changed"
        return found

    return drifted


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("repetitions = 3", "repetitions = 2", "the contract has 3 repeats"),
        ('mode = "merge_only"', 'mode = "connections"', "the contract has the arms"),
        ('id = "holdout"', 'id = "kept"', "the contract's splits are development, holdout"),
    ],
)
def test_a_study_that_is_not_the_contract_s_is_refused(
    memories: Memories, before: str, after: str, message: str
) -> None:
    """Before anything starts: nothing could be reviewed afterwards."""
    path = under_contract(memories)
    text = (memories.outside.files.read(path) or b"").decode("utf-8")
    memories.outside.files.put(path, text.replace(before, after))
    with pytest.raises(StudyError, match=message):
        plan_study(memories.world, path)
