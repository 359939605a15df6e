"""What is computed from a run is written beside its evidence, and recomputed by whoever doubts it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from runner.archives.harness import MAX_WHEEL_BYTES, harness_in
from runner.core import layout
from runner.core.errors import EvidenceError, Problem, StudyError
from runner.core.lock import Lock
from runner.core.reconsolidation.corpus import ReconsolidationManifest
from runner.pipeline.chronicle import StoredLedger
from runner.pipeline.computing import Doubt, compute
from runner.pipeline.deriving import DoubtfulError
from runner.pipeline.figures import AgainstFigures
from runner.pipeline.folder import file_fault, read_run, required
from runner.pipeline.outlets import AgainstFolder, IntoFolder
from runner.pipeline.recording import cassette_problems
from runner.pipeline.remaking import Remaker, settings_problems
from runner.plan.reconsolidation import MANIFEST
from runner.publish.report import render_report
from runner.summarize.seal import checksum_line, open_sealed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from runner.archives.harness import HarnessFiles
    from runner.core.lock import HarnessPin
    from runner.core.summary import Summary
    from runner.pipeline.folder import Run
    from runner.pipeline.sinks import Sink
    from runner.ports.files import Files

_DOCUMENTS: Final = (
    *(layout.LEDGER, layout.RECORDS, layout.SCORES, layout.SUMMARY, layout.CHECKSUM, layout.REPORT),
    *(layout.RANKINGS, layout.LATENCIES, layout.RETRIEVAL, layout.OBSERVATIONS, layout.BASELINE),
)
"""What may not be a link."""


@dataclass(frozen=True)
class Verification:
    """What a recomputation found."""

    checked_files: int
    differences: tuple[Problem, ...]
    same_code: bool
    """The code that recomputed is the code that the lock names; else figures were compared, and not bytes."""
    added: int = 0
    """Fields that only other code gives, and the run hasn't got."""
    not_compared: tuple[str, ...] = ()
    """Documents that other code can't be held to."""

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
    with IntoFolder(files, folder) as outlet:
        summary = compute(run, files, outlet)
    with IntoFolder(files, folder) as outlet:
        checksum = _sealed(summary, outlet.sink(layout.SUMMARY))
    files.write(folder / layout.CHECKSUM, checksum)
    if files.read(folder / layout.REPORT) is not None:
        # It was made of the summary that this one replaces.
        files.write(folder / layout.REPORT, render_report(summary))
    return summary


def read_summary(files: Files, folder: Path) -> Summary:
    """The sealed summary of the run in `folder`.

    Raises:
        StudyError: the run has none yet.
        EvidenceError: it is damaged, or not what its checksum says.
    """
    summary, checksum = files.read(folder / layout.SUMMARY), files.read(folder / layout.CHECKSUM)
    if summary is None and checksum is None:
        raise StudyError(
            "it isn't there: the run has no summary yet, since it isn't finished",
            document=layout.SUMMARY,
            hint="look at `pairbench status`, or resume the run",
        )
    return open_sealed(summary or b"", checksum or b"", layout.SUMMARY)


def write_report(files: Files, folder: Path) -> Path:
    """The report of the run's sealed summary stands in `folder`; its path is returned."""
    path = folder / layout.REPORT
    files.write(path, render_report(read_summary(files, folder)))
    return path


def verify_run(files: Files, folder: Path, harness: HarnessPin) -> Verification:
    """Everything after *execute* was recomputed from the raw evidence and compared, byte for byte.

    Where the code at hand isn't the one that the lock names, every figure of the run is compared instead.

    Every file of evidence is held against the ledger while it is read. Where one isn't what the ledger says, all of
    them are looked at before any is made use of: one that is damaged hides no other.

    Raises:
        StudyError: the run isn't finished, and nothing of it so far is damaged.
        EvidenceError: the ledger can't be read.
    """
    problems = [*_links(files, folder)]
    same_code = _same_code(files, folder, harness)
    if any(problem.document == layout.LEDGER for problem in problems):
        return Verification(0, tuple(problems), same_code)
    ledger = StoredLedger(files, folder / layout.LEDGER)
    if not problems and _is_unfinished(files, folder):
        problems = [*_unfinished(files, folder, ledger)]
        return Verification(0, tuple(problems), same_code)
    checked = ledger.evidence_files + len(ledger.other_files)
    if not problems and _is_complete(files, folder, ledger):
        try:
            run = read_run(files, folder)
            wrong = [*ledger_problems(files, run)]
            found = _recomputed(files, run, wrong, checked=True, same_code=same_code)
            return replace(found, checked_files=checked + found.checked_files)
        except (DoubtfulError, EvidenceError, StudyError):
            # Which files it is shows when all are looked at; what else is wrong is told when none is.
            pass
    ledgered = {name: digest for line in ledger for name, digest in line.files.items()}
    problems += [*_file_problems(files, folder, ledgered), *_unknown(files, folder, ledgered)]
    if problems:
        return Verification(len(ledgered), tuple(problems), same_code)
    try:
        run = read_run(files, folder)
        problems = [*ledger_problems(files, run)]
        found = _recomputed(files, run, problems, checked=False, same_code=same_code)
    except (EvidenceError, StudyError) as error:
        return Verification(len(ledgered), (*problems, *error.problems), same_code)
    return replace(found, checked_files=len(ledgered) + found.checked_files)


def verify_evidence(files: Files, folder: Path) -> tuple[HarnessFiles | None, tuple[Problem, ...]]:
    """The code that the run keeps, and which files aren't what ledger and lock say; nothing is recomputed.

    Raises:
        StudyError: the run isn't finished, and nothing of it so far is damaged.
        EvidenceError: ledger or lock can't be read, or the code isn't that of the lock.
    """
    ledger = StoredLedger(files, folder / layout.LEDGER)
    if _is_unfinished(files, folder):
        return None, _unfinished(files, folder, ledger)
    ledgered = {name: digest for line in ledger for name, digest in line.files.items()}
    problems = (*_links(files, folder), *_file_problems(files, folder, ledgered), *_unknown(files, folder, ledgered))
    if problems:
        return None, problems
    lock = Lock.from_bytes(required(files, folder, layout.LOCK), layout.LOCK)
    return _harness(files, folder, lock, ledger), ()


def _is_unfinished(files: Files, folder: Path) -> bool:
    """Nothing was concluded yet of the run in `folder`: there is nothing that its evidence could differ from."""
    return all(files.read(folder / name) is None for name in (layout.SUMMARY, layout.CHECKSUM))


def _unfinished(files: Files, folder: Path, ledger: StoredLedger) -> tuple[Problem, ...]:
    """Which files of an unfinished run aren't what its ledger says; an attempt that was broken off left some unnamed.

    Raises:
        StudyError: there are none.
    """
    damaged = tuple(
        _file_problems(files, folder, {name: digest for line in ledger for name, digest in line.files.items()})
    )
    if not damaged:
        # It says what is missing, as whoever else reads the summary is told.
        read_summary(files, folder)
    return damaged


def _is_complete(files: Files, folder: Path, ledger: StoredLedger) -> bool:
    """Inputs are what the ledger says, and there are as many files as it names: no more, if those of trials are."""
    ends = [told.ended for told in ledger.trials.values()]
    if any(len(set(attempts)) != len(attempts) for attempts in ends):
        return False
    if any(file_fault(files, folder, name, digest) for name, digest in ledger.other_files.items()):
        return False
    known = [name for name in ledger.other_files if name.startswith((f"{layout.TRIALS}/", f"{layout.INPUTS}/"))]
    there = files.count(folder / layout.TRIALS) + files.count(folder / layout.INPUTS)
    return there == ledger.evidence_files + len(known) and {layout.LOCK, layout.PLAN} <= set(ledger.other_files)


def _recomputed(files: Files, run: Run, problems: list[Problem], *, checked: bool, same_code: bool) -> Verification:
    """How many documents are computed from the run; and `problems`, and what of them isn't what its evidence gives."""
    figures = AgainstFigures(files, run.folder)
    outlet = AgainstFolder(files, run.folder) if same_code else figures
    doubt = Doubt(checked, Remaker(run.lock, run.study, same_code))
    summary = compute(run, files, outlet, doubt)
    problems = [*problems, *doubt.problems, *cassette_problems(files, run, same_code=same_code)]
    checksum = _sealed(summary, outlet.sink(layout.SUMMARY))
    outlet.sink(layout.CHECKSUM).put(checksum)
    differing = list(outlet.differences())
    # A summary that is what it should be names the ledger's last line as it is.
    if any(problem.document == layout.SUMMARY for problem in differing):
        problems = [*problems, *_head_problems(files, run.folder, run)]
    found = [*dict.fromkeys([*problems, *differing])]
    report = files.read(run.folder / layout.REPORT)
    if not same_code:
        # How a page looks follows from the code alone.
        skipped = () if report is None else (layout.REPORT,)
        return Verification(outlet.documents, tuple(found), same_code, figures.added, skipped)
    if report is not None and report != render_report(summary):
        found.append(Problem("differs from what the summary gives", layout.REPORT, hint="`pairbench report` makes it"))
    return Verification(outlet.documents, tuple(found), same_code)


def _sealed(summary: Summary, sink: Sink) -> bytes:
    """The summary went to `sink`; what belongs beside it is returned."""
    for piece in summary.pieces():
        sink.put(piece)
    return checksum_line(sink.digest())


def _same_code(files: Files, folder: Path, harness: HarnessPin) -> bool:
    """The lock names the code at hand; nothing can be said where the lock can't be read, and that is told anyway."""
    try:
        lock = Lock.from_bytes(required(files, folder, layout.LOCK), layout.LOCK)
    except EvidenceError:
        return True
    return lock.harness.source_sha256 == harness.source_sha256


def _links(files: Files, folder: Path) -> Iterator[Problem]:
    """Documents that aren't in the folder but somewhere else: their bytes may be others tomorrow."""
    for name in _DOCUMENTS:
        if not files.is_regular(folder / name) and files.read(folder / name) is not None:
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


def _corpus_pins(files: Files, run: Run) -> Iterator[tuple[str, str]]:
    """The files of a reconsolidation study's corpus and the digests that lock and manifest give them."""
    if not run.reconsolidation:
        return
    name = f"{layout.RECONSOLIDATION}/{MANIFEST}"
    yield name, run.lock.reconsolidation_sha256
    manifest = ReconsolidationManifest.from_bytes(required(files, run.folder, name), name)
    for split, digest in manifest.files.items():
        yield f"{layout.RECONSOLIDATION}/{split}", digest


def ledger_problems(files: Files, run: Run) -> Iterator[Problem]:
    """What the lock of `run` pins and its inputs aren't, and a ledger without its first or its last line."""
    if not run.ledger or run.ledger[0].kind != "run_started":
        yield Problem("it does not begin with the start of a run", layout.LEDGER)
    if not run.ledger or run.ledger[-1].kind != "run_ended":
        yield Problem("it does not end with the end of the run", layout.LEDGER, hint="the run was broken off")
    pinned = {
        layout.STUDY: run.lock.study_sha256,
        layout.PLAN: run.lock.plan_sha256,
        layout.PRICES: run.lock.prices_sha256,
        layout.LABELS: run.lock.labels_sha256,
    }
    asked = run.query_sets
    for task in sorted({*run.lock.query_sets, *asked}):
        pin = run.lock.query_sets.get(task)
        name = layout.query_set(task)
        pinned[name] = pin.resolved_sha256 if pin else ""
    pinned |= dict(_corpus_pins(files, run))
    for name, locked in pinned.items():
        # What lies there, and not what this code would write of it: a later one may know more fields.
        found = run.ledger.other_files.get(name, "")
        if locked != found:
            yield Problem(f"its digest is {found or 'none'}, and the lock says {locked or 'none'}", name)
    if run.lock.gates != run.study.gates:
        yield Problem("its gates are not those of the study", layout.LOCK, "gates")
    yield from settings_problems(run.ledger.other_files)
    try:
        _harness(files, run.folder, run.lock, run.ledger)
    except EvidenceError as error:
        yield from error.problems


def _harness(files: Files, folder: Path, lock: Lock, ledger: StoredLedger) -> HarnessFiles | None:
    """The code that the run keeps, held against its lock; None of a run from before runs kept theirs.

    Raises:
        EvidenceError: it isn't the code that the lock names.
    """
    prefix = f"{layout.HARNESS}/"
    names = sorted(name for name in ledger.other_files if name.startswith(prefix))
    # What is larger than any code of ours is told of its beginning: nobody has to hold it all.
    kept = {name.removeprefix(prefix): _beginning(files, folder, name) for name in names}
    return harness_in(lock.harness, kept) if kept or lock.harness.requirements_sha256 else None


def _beginning(files: Files, folder: Path, name: str) -> bytes:
    """The file `name` of the run, not much further than any code of ours goes; raises as `required` does."""
    found, size = [], 0
    for piece in files.pieces(folder / name) or [required(files, folder, name)]:
        found.append(piece)
        size += len(piece)
        if size > MAX_WHEEL_BYTES:
            break
    return b"".join(found)


def _head_problems(files: Files, folder: Path, run: Run) -> Iterator[Problem]:
    """The ledger's last line is bound by the summary only: one that was changed shows there, and is named here."""
    try:
        sealed = read_summary(files, folder).inputs.ledger_head
    except EvidenceError:
        return
    if sealed != run.ledger_head:
        yield Problem(f"its last digest is {run.ledger_head}, and the summary says {sealed}", layout.LEDGER)
