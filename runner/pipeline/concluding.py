"""What is computed from a run is written beside its evidence, and recomputed by whoever doubts it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.core import layout
from runner.core.errors import EvidenceError, PairbenchError, Problem, StudyError
from runner.core.ledger import read_ledger
from runner.core.lock import Lock
from runner.pipeline.computing import compute
from runner.pipeline.folder import file_fault, read_run, required
from runner.publish.report import render_report
from runner.summarize.seal import open_sealed, seal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from runner.core.lock import HarnessPin
    from runner.core.summary import Summary
    from runner.pipeline.folder import Run
    from runner.ports.files import Files


@dataclass(frozen=True)
class Verification:
    """What a recomputation found."""

    checked_files: int
    differences: tuple[Problem, ...]
    same_code: bool
    """The code that recomputed is the code that the lock names."""

    @property
    def holds(self) -> bool:
        """Nothing differs."""
        return not self.differences


def conclude(files: Files, folder: Path) -> Summary:
    """Records, scores, summary and its checksum are written in `folder`, from its raw evidence; a report follows them.

    Raises:
        EvidenceError: a document of the run is missing or damaged.
    """
    run = read_run(files, folder)
    summary, documents = _computed(run, files)
    for name, data in documents.items():
        files.write(folder / name, data)
    if files.read(folder / layout.REPORT) is not None:
        # It was made of the summary that this one replaces.
        files.write(folder / layout.REPORT, render_report(summary))
    return summary


def read_summary(files: Files, folder: Path) -> Summary:
    """The sealed summary of the run in `folder`.

    Raises:
        PairbenchError: the run has none yet.
        EvidenceError: it is damaged, or not what its checksum says.
    """
    summary, checksum = files.read(folder / layout.SUMMARY), files.read(folder / layout.CHECKSUM)
    if summary is None and checksum is None:
        raise PairbenchError(
            "the run has no summary yet", document=str(folder), hint="look at `pairbench status`, or resume the run"
        )
    return open_sealed(summary or b"", checksum or b"", layout.SUMMARY)


def write_report(files: Files, folder: Path) -> Path:
    """The report of the run's sealed summary stands in `folder`; its path is returned."""
    path = folder / layout.REPORT
    files.write(path, render_report(read_summary(files, folder)))
    return path


def verify_run(files: Files, folder: Path, harness: HarnessPin) -> Verification:
    """Everything after *execute* was recomputed from the raw evidence and compared, byte for byte.

    Every file is held against the ledger before any of them is read: one that is damaged hides no other.

    Raises:
        EvidenceError: the ledger can't be read.
    """
    problems = [*_links(files, folder)]
    if any(problem.document == layout.LEDGER for problem in problems):
        return Verification(0, tuple(problems), _same_code(files, folder, harness))
    ledger, _ = read_ledger(required(files, folder, layout.LEDGER), layout.LEDGER)
    ledgered = {name: digest for line in ledger for name, digest in line.files.items()}
    problems += [*_file_problems(files, folder, ledgered), *_unknown(files, folder, ledgered)]
    if problems:
        return Verification(len(ledgered), tuple(problems), _same_code(files, folder, harness))
    try:
        run = read_run(files, folder)
        problems += _ledger_problems(run)
        summary, documents = _computed(run, files)
    except (EvidenceError, StudyError) as error:
        return Verification(len(ledgered), (*problems, *error.problems), _same_code(files, folder, harness))
    problems += _head_problems(files, folder, run)
    problems += _document_problems(files, folder, documents)
    report = files.read(folder / layout.REPORT)
    if report is not None and report != render_report(summary):
        problems.append(
            Problem("differs from what the summary gives", layout.REPORT, hint="`pairbench report` makes it")
        )
    return Verification(len(ledgered) + len(documents), tuple(problems), _same_code(files, folder, harness))


def _same_code(files: Files, folder: Path, harness: HarnessPin) -> bool:
    """The lock names the code at hand; nothing can be said where the lock can't be read, and that is told anyway."""
    try:
        lock = Lock.from_bytes(required(files, folder, layout.LOCK), layout.LOCK)
    except EvidenceError:
        return True
    return lock.harness.source_sha256 == harness.source_sha256


def _links(files: Files, folder: Path) -> Iterator[Problem]:
    """Documents that aren't in the folder but somewhere else: their bytes may be others tomorrow."""
    for name in (layout.LEDGER, layout.RECORDS, layout.SCORES, layout.SUMMARY, layout.CHECKSUM, layout.REPORT):
        if files.read(folder / name) is not None and not files.is_regular(folder / name):
            yield Problem("it is a link, and no regular file", name)


def _file_problems(files: Files, folder: Path, ledgered: Mapping[str, str]) -> Iterator[Problem]:
    for name, digest in sorted(ledgered.items()):
        fault = file_fault(files, folder, name, digest)
        if fault:
            yield Problem(fault, name)


def _unknown(files: Files, folder: Path, ledgered: Mapping[str, str]) -> Iterator[Problem]:
    """Files among the evidence and the inputs that the ledger doesn't know."""
    found = [f"{part}/{name}" for part in (layout.TRIALS, layout.INPUTS) for name in files.walk(folder / part)]
    for name in (layout.LOCK, layout.PLAN, *found):
        if name not in ledgered:
            yield Problem("the ledger does not know this file", name)


def _computed(run: Run, files: Files) -> tuple[Summary, dict[str, bytes]]:
    found = compute(run, files)
    sealed = seal(found.summary)
    return found.summary, {
        layout.RECORDS: found.records,
        layout.SCORES: found.scores,
        layout.SUMMARY: sealed.summary_bytes,
        layout.CHECKSUM: sealed.checksum_bytes,
    }


def _ledger_problems(run: Run) -> Iterator[Problem]:
    kinds = [line.kind for line in run.ledger]
    if not kinds or kinds[0] != "run_started":
        yield Problem("it does not begin with the start of a run", layout.LEDGER)
    if not kinds or kinds[-1] != "run_ended":
        yield Problem("it does not end with the end of the run", layout.LEDGER, hint="the run was broken off")
    pinned = {
        layout.STUDY: (run.lock.study_sha256, run.study.digest()),
        layout.PLAN: (run.lock.plan_sha256, run.plan.digest()),
        layout.PRICES: (run.lock.prices_sha256, run.prices.digest()),
        layout.LABELS: (run.lock.labels_sha256, run.labels.digest() if run.labels is not None else ""),
    }
    for name, (locked, found) in pinned.items():
        if locked != found:
            yield Problem(f"its digest is {found or 'none'}, and the lock says {locked or 'none'}", name)
    if run.lock.gates != run.study.gates:
        yield Problem("its gates are not those of the study", layout.LOCK, "gates")


def _head_problems(files: Files, folder: Path, run: Run) -> Iterator[Problem]:
    """The ledger's last line is bound by the summary only: one that was changed shows there, and is named here."""
    try:
        sealed = read_summary(files, folder).inputs.ledger_head
    except EvidenceError:
        return
    if sealed != run.ledger_head:
        yield Problem(f"its last digest is {run.ledger_head}, and the summary says {sealed}", layout.LEDGER)


def _document_problems(files: Files, folder: Path, documents: dict[str, bytes]) -> Iterator[Problem]:
    for name, data in documents.items():
        found = files.read(folder / name)
        if found is None:
            yield Problem("missing", name)
        elif found != data:
            yield Problem(f"differs from what the raw evidence gives, first at {_where(found, data)}", name)


def _where(found: bytes, expected: bytes) -> str:
    pairs = zip(found, expected, strict=False)
    offset = next((index for index, (one, other) in enumerate(pairs) if one != other), min(len(found), len(expected)))
    line = expected[:offset].count(b"\n") + 1
    around = expected[max(0, offset - 40) : offset + 20].decode("utf-8", "replace").replace("\n", " ")
    return f"line {line}, byte {offset}, near {around!r}"
