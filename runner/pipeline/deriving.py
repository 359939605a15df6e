"""One planned trial, derived from its raw evidence: its record, its score, and what a summary takes of both.

The same functions serve a fresh run and a stranger's verification; none of them needs an engine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from runner.clients.launching import expectation_of
from runner.collect.attempt import collect_attempt
from runner.collect.record import make_record
from runner.core import layout
from runner.core.evidence import ENGINE, AttemptEvidence, EngineFacts, OutcomeHint
from runner.core.ledger import LedgerLine
from runner.core.outcomes import Outcome
from runner.core.quantities import Measured, Unavailable
from runner.core.records import Score
from runner.measure.checks import count
from runner.measure.cost import trial_cost_microusd
from runner.pipeline.folder import required
from runner.pipeline.spreading import spread, workers_for
from runner.summarize.context import ModelFacts
from runner.summarize.facts import Facts, facts_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from runner.collect.attempt import AttemptResult
    from runner.core.errors import Problem
    from runner.core.evidence import Expectation
    from runner.core.lock import Lock
    from runner.core.plan import PlannedTrial
    from runner.core.prices import PriceTable
    from runner.core.quantities import Quantity
    from runner.core.records import Record
    from runner.core.resolved import ResolvedStudy
    from runner.core.study import Label
    from runner.pipeline.chronicle import StoredLedger
    from runner.pipeline.folder import Run
    from runner.pipeline.remaking import Remaker
    from runner.ports.files import Files

_NO_LABEL: Final = "the task has no labels"
_NO_ANSWER: Final = "there is no answer"


class DoubtfulError(Exception):
    """Some file isn't there as the ledger says; which one, and what else, has to be looked up file by file."""


@dataclass(frozen=True, slots=True)
class Concluded:
    """One trial's lines, and what a summary takes of it."""

    record: bytes
    score: bytes
    facts: Facts
    problems: tuple[Problem, ...] = ()
    """Files of its attempts that their other evidence doesn't give, where that is looked at."""


@dataclass(frozen=True)
class Trials:
    """What the trials of a run are derived with."""

    files: Files
    folder: Path
    expectations: Mapping[str, Expectation]
    """By arm."""
    model: ModelFacts
    prices: PriceTable
    labels: Mapping[str, Label]
    """By task."""
    workspaces: Mapping[str, Mapping[str, bytes]]
    """The files of each labelled task's corpus, by task."""
    checked: bool
    """Every file of evidence is held against the digest in the ledger."""
    remaker: Remaker | None = None
    """What makes again the files that follow from other evidence; None: nobody doubts them."""

    @classmethod
    def of(cls, run: Run, files: Files, *, checked: bool = False, remaker: Remaker | None = None) -> Trials:
        """What the trials of `run` are derived with."""
        labels = {label.task: label for label in run.labels.labels} if run.labels is not None else {}
        return cls(
            files=files,
            folder=run.folder,
            expectations={arm.name: expectation_of(run.study, arm) for arm in run.study.arms},
            model=model_facts(run.study, run.lock),
            prices=run.prices,
            labels=labels,
            workspaces={task.id: run.corpora[task.corpus] for task in run.study.tasks if task.id in labels},
            checked=checked,
            remaker=remaker,
        )

    def concluded(self, planned: Sequence[PlannedTrial], ledger: StoredLedger, workers: int = 0) -> Iterator[Concluded]:
        """Every trial of `planned`, in its order, derived by `workers` processes; 0: by as many as are of use.

        Raises:
            EvidenceError: a file is missing.
            DoubtfulError: the evidence is `checked`, and isn't what the ledger says.
        """
        work = ((place, ledger.ends_of(place.trial)) for place in planned)
        return spread(self, work, workers or workers_for(len(planned)))

    def conclude(self, trials: Iterable[tuple[PlannedTrial, Sequence[bytes]]]) -> Iterator[Concluded]:
        """Every one of `trials`, each with the ledger's lines that end its attempts.

        Raises:
            EvidenceError: a file is missing.
            DoubtfulError: the evidence is checked, and isn't what the ledger says.
        """
        for planned, ends in trials:
            problems: list[Problem] = []
            record = self.record(planned, ends, problems)
            score = self._score(record)
            facts = facts_of(planned, record, score, self.prices, self.model)
            yield Concluded(record.to_line(), score.to_line(), facts, tuple(problems))

    def record(self, planned: PlannedTrial, ends: Sequence[bytes], problems: list[Problem] | None = None) -> Record:
        """The record of a trial whose attempts the ledger's lines `ends` end; what is doubtful goes to `problems`."""
        lines = (LedgerLine.from_bytes(end, layout.LEDGER) for end in ends)
        return make_record(planned, [self._attempt(planned, line, problems) for line in lines])

    def _attempt(self, planned: PlannedTrial, line: LedgerLine, problems: list[Problem] | None) -> AttemptResult:
        """What the attempt that `line` ends came to.

        Where the runner broke it off, the ledger is the one that knows: there may be no evidence at all, or half of it.
        """
        folder = f"{layout.attempt_folder(line.trial, line.attempt)}/"
        found = {name.removeprefix(folder): self._read(name, folder) for name in line.files}
        expectation = self.expectations[planned.arm]
        if line.detail.get("outcome") != Outcome.CANCELLED:
            result = collect_attempt(AttemptEvidence(found, expectation))
        else:
            result = _cancelled(found, expectation, line.detail.get("reason", ""))
        if self.checked and any(
            result.evidence[name.removeprefix(folder)] != digest for name, digest in line.files.items()
        ):
            raise DoubtfulError
        if self.remaker is not None and problems is not None:
            problems += self.remaker.problems(planned, line, found)
        return result

    def _read(self, name: str, folder: str) -> bytes:
        """The file that a line names, which ends an attempt with its evidence in `folder`."""
        if not self.checked:
            data = self.files.read_plain(f"{self.folder}/{name}")
            return required(self.files, self.folder, name) if data is None else data
        # What the ledger names is nobody's word: no other file than one of this folder is opened.
        plain = name.startswith(folder) and "/" not in (rest := name[len(folder) :]) and rest not in {"", ".", ".."}
        data = self.files.read_plain(f"{self.folder}/{name}") if plain else None
        if data is None:
            raise DoubtfulError
        return data

    def _score(self, record: Record) -> Score:
        label = self.labels.get(record.task)
        counts = None if label is None else count(record.answer, label, self.workspaces[record.task])
        missing = _NO_LABEL if counts is None else _NO_ANSWER

        def found(value: int) -> Quantity:
            return Measured(value) if counts is not None and record.answer else Unavailable(missing)

        return Score(
            trial=record.trial,
            cost_microusd=trial_cost_microusd(record, self.prices, self.model.asked),
            references_found=found(counts.sources.found if counts else 0),
            references_total=counts.sources.total if counts else 0,
            reference_files_found=found(counts.files.found if counts else 0),
            reference_files_total=counts.files.total if counts else 0,
            diagnostic_found=found(counts.coverage.found if counts else 0),
            diagnostic_total=counts.coverage.total if counts else 0,
        )


def attempt_result(study: ResolvedStudy, arm: str, files: Mapping[str, bytes]) -> AttemptResult:
    """What the raw `files` of an attempt in `arm` come to."""
    return collect_attempt(AttemptEvidence(files, expectation_of(study, study.arm(arm))))


def model_facts(study: ResolvedStudy, lock: Lock) -> ModelFacts:
    """Who played the model."""
    policy = f"{study.model.policy} {study.model.policy_version}" if study.model.policy else ""
    return ModelFacts(study.model.mode, policy, study.client.model, fixture=lock.evidence == "fixture")


def _cancelled(found: Mapping[str, bytes], expectation: Expectation, reason: str) -> AttemptResult:
    unknown = EngineFacts(
        gateway=None,
        sidecar=None,
        trial=None,
        outcome_hint=OutcomeHint.CANCELLED,
        detail=reason,
        pod_ms=None,
        gone_proven=False,
    )
    result = collect_attempt(AttemptEvidence({ENGINE: unknown.to_bytes(), **found}, expectation))
    kept = {name: digest for name, digest in result.evidence.items() if name in found}
    return replace(result, outcome=Outcome.CANCELLED, reason=reason, answer="", evidence=kept)
