"""Whoever doubts a run recomputes it: whatever was changed, left out or put in is named."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from runner.core import layout
from runner.core.canonical import canonical_line, sha256_digest
from runner.core.errors import EvidenceError, StudyError
from runner.core.ledger import GENESIS, LedgerLine, next_line, read_ledger
from runner.pipeline import locking
from runner.pipeline.concluding import Verification, conclude, read_summary, verify_evidence, verify_run, write_report
from runner.pipeline.executing import run_study
from runner.summarize.seal import seal
from tests.fakes.pods import asking_client
from tests.fakes.surroundings import CLAUDE_STUDY, CODE, surroundings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from runner.core.lock import HarnessPin
    from tests.fakes.surroundings import Surroundings


@pytest.fixture(scope="module")
def finished(tiny_images: Path) -> tuple[Path, dict[Path, bytes]]:
    """A run that ended, was concluded, and has its report: its folder, and all files that there are."""
    made = surroundings(tiny_images)
    made.pods.roles["trial"] = asking_client
    ran = run_study(made.world, made.study(CLAUDE_STUDY.replace("repetitions = 2", "repetitions = 1")))
    conclude(made.files, ran.folder)
    write_report(made.files, ran.folder)
    return ran.folder, made.files.held


@pytest.fixture
def folder(outside: Surroundings, finished: tuple[Path, dict[Path, bytes]]) -> Path:
    """The finished run, in files of the test's own."""
    outside.files.held = dict(finished[1])
    return finished[0]


def verified(outside: Surroundings, folder: Path) -> Verification:
    return verify_run(outside.files, folder, outside.world.harness)


def named(outside: Surroundings, folder: Path) -> set[str]:
    """The files that a verification names, without the numbers of their lines."""
    try:
        found = verified(outside, folder).differences
    except EvidenceError as error:
        found = error.problems
    return {problem.document.partition(" line ")[0] for problem in found}


def flip(outside: Surroundings, path: Path) -> None:
    """The lowest bit of the byte in the file's middle is another one."""
    data = bytearray(outside.files.held[path])
    data[len(data) // 2] ^= 1
    outside.files.held[path] = bytes(data)


def every_file(outside: Surroundings, folder: Path) -> list[str]:
    return [name for name in outside.files.walk(folder) if name != layout.HOLDER]


def test_what_was_not_changed_verifies(outside: Surroundings, folder: Path) -> None:
    """With the code that ran, and with another that computes the same."""
    found = verified(outside, folder)
    assert found.holds
    assert found.same_code
    assert found.checked_files == len(every_file(outside, folder)) - len({"ledger.jsonl", "report.html"})
    other = replace_code(outside)
    assert verify_run(outside.files, folder, other).holds
    assert not verify_run(outside.files, folder, other).same_code


def replace_code(outside: Surroundings) -> HarnessPin:
    return outside.world.harness.model_copy(update={"source_sha256": sha256_digest(b"other code")})


def test_one_byte_of_any_file_is_found_and_the_file_is_named(outside: Surroundings, folder: Path) -> None:
    """Evidence, inputs, lock, plan, ledger, records, scores, summary, checksum and report, each in turn."""
    names = every_file(outside, folder)
    kinds = {name.rpartition("/")[2] if name.startswith("trials/") else name for name in names}
    assert {"stdout.jsonl", "exit.json", "engine.json", "exchanges.jsonl", "records.jsonl", "report.html"} <= kinds
    unseen = []
    for name in names:
        before = outside.files.held[folder / name]
        if not before:
            continue
        flip(outside, folder / name)
        if name not in named(outside, folder):
            unseen.append(name)
        outside.files.held[folder / name] = before
    assert unseen == []
    assert verified(outside, folder).holds


def test_a_file_that_is_missing_is_named(outside: Surroundings, folder: Path) -> None:
    """Each in turn; a report is no evidence, and may be made again."""
    unseen = []
    for name in every_file(outside, folder):
        before = outside.files.held.pop(folder / name)
        if name not in named(outside, folder):
            unseen.append(name)
        outside.files.held[folder / name] = before
    assert unseen == ["report.html"]


@pytest.mark.parametrize("name", ["trials/first.r1.off/attempt-1/more.txt", "trials/other/x", "inputs/more.json"])
def test_a_file_that_nobody_wrote_is_named(outside: Surroundings, folder: Path, name: str) -> None:
    """Among evidence and inputs there is nothing that the ledger doesn't know."""
    outside.files.put(folder / name, "x")
    assert [str(problem) for problem in verified(outside, folder).differences] == [
        f"{name}: the ledger does not know this file"
    ]


def test_a_link_in_place_of_evidence_is_named(outside: Surroundings, folder: Path) -> None:
    """Even when it leads to the same bytes."""
    name = "trials/first.r1.off/attempt-1/stdout.jsonl"
    outside.files.put(folder / "elsewhere", "")
    outside.files.held[folder / "elsewhere"] = outside.files.held.pop(folder / name)
    outside.files.links[folder / name] = "../../../elsewhere"
    assert [str(problem) for problem in verified(outside, folder).differences] == [
        f"{name}: missing, or no regular file"
    ]


@pytest.mark.parametrize(
    "name",
    ["ledger.jsonl", "records.jsonl", "scores.jsonl", "summary.json", "summary.json.sha256", "report.html"],
)
def test_a_link_in_place_of_a_document_is_named(outside: Surroundings, folder: Path, name: str) -> None:
    """Even when it leads to the same bytes: what it leads to may be other bytes tomorrow."""
    outside.files.held[folder.parent / "elsewhere"] = outside.files.held.pop(folder / name)
    outside.files.links[folder / name] = "../elsewhere"
    assert [str(problem) for problem in verified(outside, folder).differences] == [
        f"{name}: it is a link, and no regular file"
    ]


def test_all_that_is_wrong_is_named_at_once(outside: Surroundings, folder: Path) -> None:
    """Damage to an input doesn't hide damage to evidence."""
    for name in ("inputs/study.json", "lock.json", "trials/first.r1.off/attempt-1/exit.json"):
        outside.files.held[folder / name] = b"{"
    outside.files.remove(folder / "inputs/corpora/notes.tar")
    outside.files.put(folder / "inputs/more", "x")
    assert named(outside, folder) == {
        "inputs/corpora/notes.tar",
        "inputs/more",
        "inputs/study.json",
        "lock.json",
        "trials/first.r1.off/attempt-1/exit.json",
    }


def test_where_a_document_differs_is_told(outside: Surroundings, folder: Path) -> None:
    """Its line, its byte, and what stands around it."""
    data = outside.files.held[folder / layout.RECORDS]
    outside.files.held[folder / layout.RECORDS] = data.replace(b'"answer":"See', b'"answer":"Sea', 1)
    problem = verified(outside, folder).differences[0]
    assert problem.document == "records.jsonl"
    assert problem.message.startswith("differs from what the raw evidence gives, first at line 1, byte ")
    assert "See notes/plan" in problem.message


def test_a_summary_whose_seal_was_made_anew_still_differs(outside: Surroundings, folder: Path) -> None:
    """Whoever changes a figure and its checksum has to change the evidence too."""
    sealed = seal(read_summary(outside.files, folder).model_copy(update={"differences": ()}))
    outside.files.held[folder / layout.SUMMARY] = sealed.summary_bytes
    outside.files.held[folder / layout.CHECKSUM] = sealed.checksum_bytes
    assert read_summary(outside.files, folder).differences == ()
    assert named(outside, folder) == {"summary.json", "summary.json.sha256"}


def test_a_summary_that_is_not_sealed_is_not_read(outside: Surroundings, folder: Path) -> None:
    """Changed, or without its checksum."""
    flip(outside, folder / layout.SUMMARY)
    with pytest.raises(EvidenceError, match=r"summary\.json"):
        read_summary(outside.files, folder)
    outside.files.remove(folder / layout.SUMMARY)
    with pytest.raises(EvidenceError, match=r"summary\.json"):
        read_summary(outside.files, folder)


def rewritten(outside: Surroundings, folder: Path, lines: list[LedgerLine]) -> None:
    """The ledger holds `lines`, chained anew."""
    head, data = GENESIS, b""
    for number, line in enumerate(lines, 1):
        text, head = next_line(
            head,
            seq=number,
            at=line.at,
            kind=line.kind,
            trial=line.trial,
            attempt=line.attempt,
            files=line.files,
            detail=line.detail,
        )
        data += text
    outside.files.held[folder / layout.LEDGER] = data


def ledger(outside: Surroundings, folder: Path) -> list[LedgerLine]:
    return list(read_ledger(outside.files.held[folder / layout.LEDGER], layout.LEDGER)[0])


def test_a_run_that_did_not_end_does_not_verify(outside: Surroundings, folder: Path) -> None:
    """Its ledger says how far it came."""
    rewritten(outside, folder, ledger(outside, folder)[:-1])
    assert "ledger.jsonl: it does not end with the end of the run (the run was broken off)" in [
        str(problem) for problem in verified(outside, folder).differences
    ]


def unfinished(outside: Surroundings, folder: Path) -> None:
    """The run is as one that was broken off after its first trials: nothing was concluded."""
    rewritten(outside, folder, ledger(outside, folder)[:-1])
    for name in (layout.RECORDS, layout.SCORES, layout.SUMMARY, layout.CHECKSUM, layout.REPORT):
        outside.files.held.pop(folder / name, None)


@pytest.mark.parametrize("verify", [verified, lambda outside, folder: verify_evidence(outside.files, folder)])
def test_a_run_that_is_not_finished_is_wrong_usage(
    outside: Surroundings, folder: Path, verify: Callable[[Surroundings, Path], object]
) -> None:
    """It isn't damaged: there is nothing yet that its evidence could differ from. Files of a torn attempt don't count."""
    unfinished(outside, folder)
    outside.files.held[folder / "trials/first.r1.off/attempt-2/exchanges.jsonl"] = b"torn"
    with pytest.raises(StudyError, match="no summary yet, since it isn't finished") as caught:
        verify(outside, folder)
    assert caught.value.exit_code == 2


def test_damage_of_an_unfinished_run_is_told_first(outside: Surroundings, folder: Path) -> None:
    """Nobody goes on with a run whose evidence isn't what its ledger says."""
    unfinished(outside, folder)
    flip(outside, folder / layout.PLAN)
    assert named(outside, folder) == {layout.PLAN}
    _, problems = verify_evidence(outside.files, folder)
    assert [problem.document for problem in problems] == [layout.PLAN]


def test_a_ledger_that_was_chained_anew_differs_from_the_summary(outside: Surroundings, folder: Path) -> None:
    """The summary names the digest of its last line."""
    lines = ledger(outside, folder)
    lines[2] = lines[2].model_copy(update={"at": "2026-01-02T03:04:06.000Z"})
    rewritten(outside, folder, lines)
    assert named(outside, folder) == {"ledger.jsonl", "summary.json", "summary.json.sha256", "report.html"}


@pytest.mark.parametrize("name", ["../../../etc/passwd", "/etc/passwd", "trials//x", "./lock.json", ""])
def test_a_ledger_that_leads_out_of_the_folder(outside: Surroundings, folder: Path, name: str) -> None:
    """A run that a stranger sends can't have other files of this machine read."""
    lines = ledger(outside, folder)
    lines[0] = lines[0].model_copy(update={"files": {**lines[0].files, name: sha256_digest(b"")}})
    rewritten(outside, folder, lines)
    problems = [problem for problem in verified(outside, folder).differences if problem.document == name]
    assert [problem.message for problem in problems] == ["it leads out of the run's folder"]


def test_a_ledger_that_does_not_name_its_lock(outside: Surroundings, folder: Path) -> None:
    """What nobody holds a digest of could be anything."""
    lines = ledger(outside, folder)
    files = {name: digest for name, digest in lines[0].files.items() if name not in {layout.LOCK, layout.PLAN}}
    lines[0] = lines[0].model_copy(update={"files": files})
    rewritten(outside, folder, lines)
    assert {"lock.json", "plan.json"} <= named(outside, folder)


def test_a_ledger_of_other_trials_than_the_plan(outside: Surroundings, folder: Path) -> None:
    """Evidence of a trial that nobody planned belongs to another run."""
    lines = ledger(outside, folder)
    lines.insert(1, lines[1].model_copy(update={"trial": "other.r1.off"}))
    rewritten(outside, folder, lines)
    assert [str(problem) for problem in verified(outside, folder).differences] == [
        "ledger.jsonl line 2: the plan has no trial 'other.r1.off'"
    ]


def test_a_run_whose_documents_do_not_fit_each_other(outside: Surroundings, folder: Path) -> None:
    """A plan of another study, under a ledger that knows it."""
    plan = outside.files.held[folder / layout.PLAN].replace(b'"arm":"off"', b'"arm":"own"')
    outside.files.held[folder / layout.PLAN] = plan
    lines = ledger(outside, folder)
    lines[0] = lines[0].model_copy(update={"files": {**lines[0].files, layout.PLAN: sha256_digest(plan)}})
    rewritten(outside, folder, lines)
    assert named(outside, folder) == {"plan.json"}


def test_concluding_again_changes_nothing(outside: Surroundings, folder: Path) -> None:
    """The same evidence gives the same bytes."""
    before = dict(outside.files.held)
    conclude(outside.files, folder)
    write_report(outside.files, folder)
    assert outside.files.held == before


def test_a_verification_without_differences_holds() -> None:
    """And one with any doesn't."""
    assert Verification(1, (), same_code=True).holds
    assert not replace(Verification(1, (), same_code=True), differences=(EvidenceError("x").problems[0],)).holds


def test_a_run_from_before_runs_kept_their_code_verifies(
    outside: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And one that lost it doesn't: its ledger names the files."""
    monkeypatch.setattr(locking, "harness_inputs", lambda _: {})
    pin = CODE.pin.model_copy(update={"requirements_sha256": ""})
    outside.world = replace(outside.world, code=lambda: replace(CODE, pin=pin))
    ran = run_study(outside.world, outside.study())
    conclude(outside.files, ran.folder)
    assert verified(outside, ran.folder).holds
    assert not [name for name in outside.files.walk(ran.folder) if "harness" in name]


def test_a_run_keeps_the_code_that_its_lock_names(outside: Surroundings) -> None:
    """A wheel of other code is named, though the ledger has its digest."""
    other = replace(CODE, pin=replace_code(outside))
    outside.world = replace(outside.world, harness=other.pin, code=lambda: other)
    ran = run_study(outside.world, outside.study())
    conclude(outside.files, ran.folder)
    wheel = "inputs/harness/pairbench-0.1.0-py3-none-any.whl"
    found = verified(outside, ran.folder)
    assert [problem.document for problem in found.differences] == [wheel]
    assert "and the lock says" in found.differences[0].message


def test_other_code_confirms_a_run_whose_documents_know_less(outside: Surroundings, folder: Path) -> None:
    """What lies there goes by its own digest, not by that of what this code would write of it."""
    path = folder / layout.SCORES
    lines = [json.loads(line) for line in outside.files.held[path].splitlines()]
    assert all("diagnostic_total" in line for line in lines)
    before = read_summary(outside.files, folder)
    for line in lines:
        del line["diagnostic_total"]
    outside.files.held[path] = b"".join(canonical_line(line) for line in lines)
    inputs = before.inputs.model_copy(update={"scores": sha256_digest(outside.files.held[path])})
    sealed = seal(before.model_copy(update={"inputs": inputs}))
    outside.files.held[folder / layout.SUMMARY] = sealed.summary_bytes
    outside.files.held[folder / layout.CHECKSUM] = sealed.checksum_bytes
    assert named(outside, folder) == {layout.SCORES, layout.SUMMARY, layout.CHECKSUM}
    found = verify_run(outside.files, folder, replace_code(outside))
    assert (found.holds, found.same_code, found.added, found.not_compared) == (
        True,
        False,
        len(lines),
        ("report.html",),
    )
