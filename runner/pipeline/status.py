"""How far a run is, and how its pods were walled in, as the engine and the supervisors recorded it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from runner.collect.isolation import isolation_breaches
from runner.core import layout
from runner.core.documents import Document, Part
from runner.core.errors import EvidenceError
from runner.core.evidence import ENGINE, EXIT, ContainerFacts, Credentials, EngineFacts, ExitReport
from runner.core.ledger import read_ledger
from runner.core.plan import Plan
from runner.core.resolved import ResolvedStudy
from runner.pipeline.folder import required

if TYPE_CHECKING:
    from pathlib import Path

    from runner.core.ledger import LedgerLine
    from runner.ports.files import Files


class AttemptStatus(Part):
    """One attempt: its end, its containers as the engine had them, and its processes as the supervisor saw them."""

    attempt: int
    outcome: str
    """"" while it runs, or when it was broken off."""
    reason: str
    gateway: ContainerFacts | None
    sidecar: ContainerFacts | None
    trial: ContainerFacts | None
    supervisor: Credentials | None
    client: Credentials | None
    breaches: tuple[str, ...]
    """What of the isolation doesn't hold; nothing for an attempt that never got a container."""


class TrialStatus(Part):
    """One planned trial."""

    trial: str
    arm: str
    joins_sidecar: bool
    attempts: tuple[AttemptStatus, ...]


class RunStatus(Document):
    """A run."""

    FORMAT: ClassVar[str] = "pairbench/status"

    run: str
    ended: bool
    planned: int
    finished: int
    outcomes: dict[str, int]
    breaches: int
    trials: tuple[TrialStatus, ...]


def run_status(files: Files, folder: Path) -> RunStatus:
    """The status of the run in `folder`, finished or not.

    Raises:
        EvidenceError: a document of the run can't be read.
    """
    plan = Plan.from_bytes(required(files, folder, layout.PLAN), layout.PLAN)
    study = ResolvedStudy.from_bytes(required(files, folder, layout.STUDY), layout.STUDY)
    ledger, _ = read_ledger(_whole_lines(required(files, folder, layout.LEDGER)), layout.LEDGER)
    joins = {arm.name: arm.sidecar for arm in study.arms}
    ended: dict[str, list[LedgerLine]] = {}
    for line in ledger:
        if line.kind == "attempt_ended":
            ended.setdefault(line.trial, []).append(line)
    trials = tuple(
        TrialStatus(
            trial=planned.trial,
            arm=planned.arm,
            joins_sidecar=joins[planned.arm],
            attempts=tuple(
                _attempt(files, folder, line, joins_sidecar=joins[planned.arm], goes_out=study.model.goes_out)
                for line in ended.get(planned.trial, ())
            ),
        )
        for planned in plan.trials
    )
    last = [trial.attempts[-1].outcome for trial in trials if trial.attempts]
    return RunStatus(
        run=folder.name,
        ended=bool(ledger) and ledger[-1].kind == "run_ended",
        planned=len(trials),
        finished=len(last),
        outcomes={outcome: last.count(outcome) for outcome in sorted(set(last))},
        breaches=sum(len(attempt.breaches) for trial in trials for attempt in trial.attempts),
        trials=trials,
    )


def _attempt(files: Files, folder: Path, line: LedgerLine, *, joins_sidecar: bool, goes_out: bool) -> AttemptStatus:
    place = folder / layout.attempt_folder(line.trial, line.attempt)
    engine = _engine(files.read(place / ENGINE))
    report = _report(files.read(place / EXIT))
    return AttemptStatus(
        attempt=line.attempt,
        outcome=line.detail.get("outcome", ""),
        reason=line.detail.get("reason", ""),
        gateway=engine.gateway if engine else None,
        sidecar=engine.sidecar if engine else None,
        trial=engine.trial if engine else None,
        supervisor=report.supervisor if report else None,
        client=report.client if report else None,
        breaches=isolation_breaches(engine, report, joins_sidecar=joins_sidecar, goes_out=goes_out) if engine else (),
    )


def _engine(data: bytes | None) -> EngineFacts | None:
    try:
        return None if data is None else EngineFacts.from_bytes(data, ENGINE)
    except EvidenceError:
        return None


def _report(data: bytes | None) -> ExitReport | None:
    try:
        return None if data is None else ExitReport.from_bytes(data, EXIT)
    except EvidenceError:
        return None


def _whole_lines(data: bytes) -> bytes:
    """The ledger up to its last whole line: the next one may be being written."""
    return data[: data.rfind(b"\n") + 1]
