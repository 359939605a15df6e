"""How is every fault scenario expected to end? `corpora/faults/expected.toml`, and records held against it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from runner.core.documents import Part, validated
from runner.core.errors import StudyError
from runner.core.findings import FindingKind
from runner.core.outcomes import Outcome
from runner.core.quantities import Measured

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from runner.core.records import Record

_MS_PER_S = 1000


class Injection(Part):
    """What is done to a container of the pod from outside, once the client runs."""

    role: Literal["gateway", "sidecar", "trial"]
    signal: Literal["KILL", "STOP"]
    attempts: Annotated[tuple[int, ...], Field(min_length=1)]


class Expectation(Part):
    """How a scenario ends in one arm: the outcome of every attempt, and what must be said of the last."""

    attempts: Annotated[tuple[Outcome, ...], Field(min_length=1)]
    reason: str | None = None
    """Stands in the reason."""
    answer: str | None = None
    """Is the answer."""
    findings: tuple[FindingKind, ...] = ()
    """Are among the findings."""
    perhaps: tuple[FindingKind, ...] = ()
    """May be among them: what decides is no part of the scenario."""
    only: bool = False
    """And nothing else was found."""
    kills: bool = False
    """Something had to be killed that had outlived the client."""


class Scenario(Part):
    """One task of one study, and how it ends: alike in every arm, but for those that `arms` names."""

    study: str
    task: str
    what: str
    expected: Expectation | None = None
    arms: dict[str, Expectation] = Field(default_factory=dict)
    inject: Injection | None = None

    def in_arm(self, arm: str) -> Expectation | None:
        """What is expected in `arm`; None: nobody says."""
        return self.arms.get(arm, self.expected)

    def is_faulty(self) -> bool:
        """Whether a block of it can't be complete: some arm ends as anything but completed."""
        everything = [*self.arms.values(), *([self.expected] if self.expected else [])]
        return any(item.attempts[-1] is not Outcome.COMPLETED for item in everything)


class ExpectedFile(Part):
    """The file: studies in the order in which they run, and scenarios."""

    format: Literal["pairbench/expected-faults"]
    version: Literal[1]
    studies: Annotated[tuple[str, ...], Field(min_length=1)]
    again: tuple[str, ...]
    """Studies that run a second time, without their faulty tasks."""
    scenarios: Annotated[tuple[Scenario, ...], Field(min_length=1)]

    def of_study(self, study: str) -> dict[str, Scenario]:
        """The scenarios of one study, by task."""
        return {scenario.task: scenario for scenario in self.scenarios if scenario.study == study}


@dataclass(frozen=True)
class Row:
    """One line of the table: a scenario in an arm, or a check of the whole."""

    scenario: str
    arm: str
    expected: str
    got: str
    ended_after: str
    killed: str
    faults: tuple[str, ...]
    """What isn't as it was expected; nothing when all is well."""


def read_expected(path: Path) -> ExpectedFile:
    """The file at `path`.

    Raises:
        StudyError: it isn't valid, or names a scenario twice.
    """
    value = tomllib.loads(path.read_text("utf-8"))
    found = validated(ExpectedFile, value, path.name, StudyError)
    names = [(scenario.study, scenario.task) for scenario in found.scenarios]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise StudyError(f"stands twice: {twice}", document=path.name)
    return found


def compare(scenarios: dict[str, Scenario], records: Iterable[Record]) -> Iterator[Row]:
    """A row for every record; one of a task without a scenario, and a scenario without a record, are faults too."""
    seen = set()
    for record in sorted(records, key=lambda record: (record.task, record.arm)):
        seen.add(record.task)
        scenario = scenarios.get(record.task)
        expected = scenario.in_arm(record.arm) if scenario else None
        got = [attempt.outcome for attempt in record.attempts] or [record.outcome]
        yield Row(
            scenario=record.task,
            arm=record.arm,
            expected=_outcomes(expected.attempts) if expected else "",
            got=_outcomes(got),
            ended_after=_seconds(record),
            killed=_killed(record),
            faults=tuple(_faults(expected, record)),
        )
    for task in sorted(set(scenarios) - seen):
        yield Row(task, "", "", "", "", "", ("it didn't run",))


def _faults(expected: Expectation | None, record: Record) -> Iterator[str]:
    if expected is None:
        yield "nobody says what is expected"
        return
    got = tuple(attempt.outcome for attempt in record.attempts)
    if got != expected.attempts:
        yield f"{_outcomes(got)}: {record.reason}" if record.reason else _outcomes(got)
    if expected.reason is not None and expected.reason not in record.reason:
        yield f"the reason is {record.reason!r}"
    if expected.answer is not None and record.answer != expected.answer:
        yield f"the answer is {record.answer[:200]!r}"
    kinds = {finding.kind for finding in record.findings}
    missing = [kind.value for kind in expected.findings if kind.value not in kinds]
    if missing:
        yield f"without {', '.join(missing)}"
    beyond = sorted(kinds - {kind.value for kind in (*expected.findings, *expected.perhaps)})
    if expected.only and beyond:
        yield f"with {', '.join(beyond)}"
    if expected.kills and FindingKind.PROCESSES_KILLED.value not in kinds:
        yield "nothing had to be killed"


def _outcomes(outcomes: Iterable[Outcome]) -> str:
    return ", ".join(outcome.value for outcome in outcomes)


def _seconds(record: Record) -> str:
    for quantity in (record.timing.wall_ms, record.timing.pod_ms):
        if isinstance(quantity, Measured):
            return f"{quantity.value / _MS_PER_S:.2f} s"
    return "?"


def _killed(record: Record) -> str:
    details = [item.detail for item in record.findings if item.kind == FindingKind.PROCESSES_KILLED.value]
    return details[0].replace(" outlived the client", "") if details else ""
