"""The plan's trials joined with what is known of them, as a table, and what makes that join refuse."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from runner.core.errors import EvidenceError, Problem
from runner.core.outcomes import CONSEQUENCES, Outcome
from runner.core.quantities import Unavailable
from runner.core.records import Record, Score
from runner.summarize.facts import Facts, facts_of
from runner.summarize.folds import Folds
from runner.summarize.measures import MEASURES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from runner.core.plan import Plan, PlannedTrial
    from runner.summarize.context import SummaryContext
    from runner.summarize.measures import Measure

D = TypeVar("D", Record, Score)

KNOWN: Final = 0
"""The reason of a reading that has a value."""
_SHARES: Final = tuple(row for row, measure in enumerate(MEASURES) if measure.kind == "share")
_OUTCOMES: Final = tuple(Outcome)
_NUMBERS: Final = {outcome: number for number, outcome in enumerate(_OUTCOMES)}


@dataclass(frozen=True)
class Table:
    """Every planned trial, column by column, and the blocks that trials form.

    What is held of a trial is some hundred bytes; what a summary says of all of them together is in `folds`.
    """

    plan: Plan
    arms: tuple[str, ...]
    """The control first."""
    outcomes: tuple[Outcome, ...]
    """Of each trial, in the order of the plan."""
    reasons: tuple[str, ...]
    attempts: tuple[int, ...]
    values: NDArray[np.int64]
    """Shape (measures, trials); 0 where there is none."""
    out_of: NDArray[np.int64]
    """What each is out of, shape (shares, trials), shares in their order in the table of measures; an amount is out of
    one trial."""
    whys: NDArray[np.int32]
    """Why there is no value, as an index of `texts`; `KNOWN` where there is one."""
    texts: tuple[str, ...]
    grid: NDArray[np.int64]
    """Shape (arms, blocks): which trial it is, blocks in the order of the plan."""
    block_names: tuple[str, ...]
    tasks: tuple[str, ...]
    """Of each block."""
    folds: Folds
    same_blocks: dict[bytes, tuple[NDArray[np.int64], tuple[str, ...], NDArray[np.int64]]] = field(default_factory=dict)

    def stands(self, *, counted: bool) -> NDArray[np.bool_]:
        """Shape (arms, blocks): the trial ended so that it may stand in a pair, or as a failure where those count."""
        fit = [CONSEQUENCES[outcome].in_pairs or (counted and CONSEQUENCES[outcome].failure) for outcome in _OUTCOMES]
        return np.array(fit)[self.outcome_numbers()]

    def in_pairs(self) -> NDArray[np.bool_]:
        """Of each trial, whether it ended so that it may stand in a pair."""
        return np.array([CONSEQUENCES[outcome].in_pairs for outcome in self.outcomes])

    def of_arm(self, arm: str) -> NDArray[np.bool_]:
        """Of each trial, whether it is of `arm`."""
        found = np.zeros(len(self.outcomes), dtype=np.bool_)
        found[self.grid[self.arms.index(arm)]] = True
        return found

    def outcome_numbers(self) -> NDArray[np.int64]:
        """Shape (arms, blocks): the place of each trial's outcome in `Outcome`."""
        return np.array([_NUMBERS[outcome] for outcome in self.outcomes], dtype=np.int64)[self.grid]

    def out_of_grid(self, measure: Measure) -> NDArray[np.int64]:
        """Shape (arms, blocks): what each trial's value of `measure` is out of."""
        if measure.kind == "amount":
            return np.broadcast_to(np.int64(1), self.grid.shape)
        return np.asarray(self.out_of[_SHARES.index(MEASURES.index(measure))][self.grid])

    def named(self, blocks: NDArray[np.int64]) -> tuple[NDArray[np.int64], tuple[str, ...], NDArray[np.int64]]:
        """`blocks`, the names of their tasks, sorted, and which of these each block is of.

        Most measures have the same blocks: those share what is returned.
        """
        key = blocks.tobytes()
        if key not in self.same_blocks:
            tasks, numbers = np.unique(
                np.array([self.tasks[block] for block in blocks], dtype=object), return_inverse=True
            )
            self.same_blocks[key] = blocks, tuple(tasks.tolist()), numbers.astype(np.int64)
        return self.same_blocks[key]

    def complete(self) -> NDArray[np.bool_]:
        """Of each block, whether every arm of it ended so that it may stand in a pair."""
        return np.asarray(self.stands(counted=False).all(axis=0))


def join_facts(
    context: SummaryContext, plan: Plan, records: Iterable[Record], scores: Iterable[Score]
) -> Iterator[Facts]:
    """The facts of every planned trial, in the order of the plan, whatever the order of records and scores.

    Raises:
        EvidenceError: a record or score is of no planned trial, stands twice, or contradicts the plan, the price table
            or the kind of evidence; all of them at once.
    """
    planned = {trial.trial: trial for trial in plan.trials}
    problems: list[Problem] = []
    by_trial = _unique(records, planned, "records.jsonl", problems)
    scored = _unique(scores, planned, "scores.jsonl", problems)
    nothing = Unavailable("the trial has no score")
    for name, place in planned.items():
        facts = facts_of(place, by_trial.pop(name, None), scored.pop(name, nothing), context.prices, context.model)
        problems.extend(facts.problems)
        yield facts
    if problems:
        raise EvidenceError.of(problems)


def tabulate(plan: Plan, facts: Iterable[Facts]) -> Table:
    """The table of `plan`'s trials, whose `facts` come in its order.

    Raises:
        EvidenceError: the facts contradict the plan, the price table, the kind of evidence or one another, or the plan
            has a block without one of its arms; all of them at once.
    """
    arms = (plan.control, *(arm for arm in plan.arms if arm != plan.control))
    gathered = _Gathered(plan, arms)
    refused: tuple[Problem, ...] = ()
    try:
        for item in facts:
            gathered.take(item)
    except EvidenceError as error:
        refused = error.problems
    problems = (*(refused or gathered.problems), *gathered.labels.problems)
    if problems:
        raise EvidenceError.of(problems)
    return gathered.table()


@dataclass
class _Labels:
    """Trials of one task have the same labels, so what a share is out of can't differ between them."""

    first: dict[str, tuple[int, ...]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def take(self, task: str, facts: Facts) -> None:
        """Hold what the trial's measures are out of against those of the task's first trial."""
        if not facts.scored:
            return
        meant = self.first.setdefault(task, facts.out_of)
        if meant == facts.out_of:
            return
        for measure, out_of, expected in zip(MEASURES, facts.out_of, meant, strict=True):
            if out_of != expected:
                said = f"{measure.name} is out of {out_of}; another trial of the task says {expected}"
                self.problems.append(Problem(said, "scores.jsonl", facts.trial))


class _Gathered:
    """What was taken so far, and what it will become."""

    def __init__(self, plan: Plan, arms: tuple[str, ...]) -> None:
        self.problems: list[Problem] = []
        self.labels = _Labels()
        self._plan = plan
        self._places = {trial.trial: trial for trial in plan.trials}
        self._arms = {arm: number for number, arm in enumerate(arms)}
        self._folds = Folds(arms)
        self._outcomes: list[Outcome] = []
        self._reasons: list[str] = []
        self._attempts: list[int] = []
        self._values, self._out_of, self._whys = array("q"), array("q"), array("i")
        self._texts = [""]
        self._numbers: dict[str, int] = {}
        self._same: dict[str, str] = {}
        self._blocks: dict[str, int] = {}
        self._tasks: list[str] = []
        self._members: list[list[int]] = []
        self._open: dict[str, list[tuple[PlannedTrial, Facts]]] = {}

    def take(self, facts: Facts) -> None:
        """Add one trial."""
        place = self._places[facts.trial]
        self.problems.extend(facts.problems)
        self.labels.take(place.task, facts)
        known = [value if isinstance(value, int) else 0 for value in facts.figures]
        if not facts.problems:
            self._values.extend(known)
            self._out_of.extend(facts.out_of[row] for row in _SHARES)
        self._whys.extend(KNOWN if isinstance(value, int) else self._text(value) for value in facts.figures)
        self._join_block(place, facts, len(self._outcomes))
        self._outcomes.append(facts.outcome)
        self._reasons.append(self._same.setdefault(facts.reason, facts.reason))
        self._attempts.append(facts.attempts)
        self._folds.take(place, facts)

    def _join_block(self, place: PlannedTrial, facts: Facts, index: int) -> None:
        """What counts in complete blocks only waits until all arms of its own are there."""
        number = self._blocks.setdefault(place.block, len(self._blocks))
        if number == len(self._tasks):
            self._tasks.append(place.task)
            self._members.append([-1] * len(self._arms))
        self._members[number][self._arms[place.arm]] = index
        waiting = self._open.setdefault(place.block, [])
        waiting.append((place, facts))
        if -1 not in self._members[number]:
            del self._open[place.block]
            if all(other.consequence.in_pairs for _, other in waiting):
                self._folds.take_complete(number, waiting)

    def _text(self, reason: str) -> int:
        if reason not in self._numbers:
            self._numbers[reason] = len(self._texts)
            self._texts.append(reason)
        return self._numbers[reason]

    def table(self) -> Table:
        """All that was taken.

        Raises:
            EvidenceError: a block lacks an arm.
        """
        if self._open:
            lacking = sorted(self._open)
            raise EvidenceError(f"block {lacking[0]!r} lacks one of the arms", document="plan.json", key="trials")
        trials = len(self._outcomes)
        return Table(
            plan=self._plan,
            arms=tuple(self._arms),
            outcomes=tuple(self._outcomes),
            reasons=tuple(self._reasons),
            attempts=tuple(self._attempts),
            values=_columns(self._values, np.int64, trials),
            out_of=_columns(self._out_of, np.int64, trials),
            whys=_columns(self._whys, np.int32, trials),
            texts=tuple(self._texts),
            grid=np.array(self._members, dtype=np.int64).reshape(len(self._members), len(self._arms)).T,
            block_names=tuple(self._blocks),
            tasks=tuple(self._tasks),
            folds=self._folds,
        )


def _columns(rows: array[int], kind: type[np.signedinteger[Any]], trials: int) -> NDArray[Any]:
    """What was taken row by row, column by column; the rows are given up."""
    columns = len(rows) // max(1, trials)
    found = np.ascontiguousarray(np.frombuffer(rows.tobytes(), dtype=kind).reshape(trials, columns).T)
    del rows[:]
    return found


def _unique(
    documents: Iterable[D], planned: Mapping[str, PlannedTrial], document: str, problems: list[Problem]
) -> dict[str, D]:
    found: dict[str, D] = {}
    for item in documents:
        if item.trial not in planned:
            problems.append(Problem("the plan has no such trial", document, item.trial))
        elif item.trial in found:
            problems.append(Problem("stands twice", document, item.trial))
        else:
            found[item.trial] = item
    return found
