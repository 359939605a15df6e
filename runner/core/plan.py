"""What will run, in which order: blocks and trials, counterbalanced by digest so that every platform agrees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from runner.core.canonical import Digest, digest_of
from runner.core.documents import MANY, Document

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class PlannedTrial:
    """One arm of one block, and its place in the order."""

    __pydantic_config__ = MANY

    trial: str
    block: str
    task: str
    arm: str
    repetition: int
    """From 1."""
    position: int
    """Place within the block, from 0."""
    sequence: int
    """Place within the plan, from 0."""


class Plan(Document):
    """The schedule of a study; blocks stand one after the other, all arms of a block back to back."""

    FORMAT: ClassVar[str] = "pairbench/plan"
    EXACT: ClassVar[bool] = True

    study: str
    seed: str
    control: str
    arms: tuple[str, ...]
    tasks: tuple[str, ...]
    repetitions: int
    trials: tuple[PlannedTrial, ...]

    def model_post_init(self, context: object, /) -> None:
        """One text for all trials of a block, a task or an arm: a plan may have very many of them."""
        super().model_post_init(context)
        same: dict[str, str] = {}
        for trial in self.trials:
            for name in ("block", "task", "arm"):
                text = getattr(trial, name)
                object.__setattr__(trial, name, same.setdefault(text, text))


def phases_of(trials: Sequence[PlannedTrial], control: str) -> tuple[tuple[PlannedTrial, ...], ...]:
    """`trials` of a plan whose control goes first: its trials, then the others; what there is none of is left out."""
    first = tuple(planned for planned in trials if planned.arm == control)
    return tuple(part for part in (first, tuple(planned for planned in trials if planned.arm != control)) if part)


def balanced_orders(count: int) -> tuple[tuple[int, ...], ...]:
    """Orders of `count` treatments in which each stands in each place, and follows each other one, equally often.

    For two treatments these are AB and BA; beyond, a Williams design (Williams 1949, Aust. J. Sci. Res. 2:149), of
    `count` rows when `count` is even and of twice as many when it is odd.
    """
    if count == 1:
        return ((0,),)
    first = [0, *((step + 1) // 2 if step % 2 else count - step // 2 for step in range(1, count))]
    rows = [tuple((item + shift) % count for item in first) for shift in range(count)]
    if count % 2:
        rows += [tuple(reversed(row)) for row in rows]
    return tuple(rows)


def by_digest(seed: str, scope: str, names: Sequence[str]) -> tuple[str, ...]:
    """`names` in the order of the digests of (seed, scope, name)."""

    def key(name: str) -> Digest:
        return digest_of([seed, scope, name])

    return tuple(sorted(names, key=key))


def make_plan(  # noqa: PLR0913 - what a study says of its order
    *,
    study: str,
    seed: str,
    control: str,
    arms: Sequence[str],
    tasks: Sequence[str],
    repetitions: int,
    control_first: bool = False,
) -> Plan:
    """The plan of a study.

    Repetitions are the outer loop, so that a run that stops early leaves tasks and arms balanced. Within a task the
    order of the arms walks through the balanced orders from one repetition to the next (AB, BA for two arms: ABBA),
    and the tasks start at different rows, so that every repetition is balanced over tasks too.

    With `control_first` every trial of the control comes before any other, in the same order of tasks and repetitions,
    and the orders of the other arms are balanced among themselves: no block is back to back then.
    """
    ordered = [arm for arm in arms if not (control_first and arm == control)]
    orders = balanced_orders(len(ordered))
    # Which arm is row 0 depends on the seed as well: no arm is favoured when there are few tasks.
    lettered = by_digest(seed, "arms", ordered)
    ranks = {task: rank for rank, task in enumerate(by_digest(seed, "tasks", tasks))}
    controls: list[tuple[int, str, int, str]] = []
    others: list[tuple[int, str, int, str]] = []
    for repetition in range(1, repetitions + 1):
        for task in by_digest(seed, f"repetition {repetition}", tasks):
            order = orders[(ranks[task] + repetition - 1) % len(orders)]
            if control_first:
                controls.append((repetition, task, 0, control))
            others += [
                (repetition, task, position, lettered[letter])
                for position, letter in enumerate(order, int(control_first))
            ]
    return Plan(
        study=study,
        seed=seed,
        control=control,
        arms=tuple(arms),
        tasks=tuple(tasks),
        repetitions=repetitions,
        trials=tuple(
            PlannedTrial(
                trial=f"{task}.r{repetition}.{arm}",
                block=f"{task}.r{repetition}",
                task=task,
                arm=arm,
                repetition=repetition,
                position=position,
                sequence=sequence,
            )
            for sequence, (repetition, task, position, arm) in enumerate((*controls, *others))
        ),
    )
