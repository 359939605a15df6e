"""What a summary says of all trials together, folded trial by trial, so that none of them has to be kept."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from runner.core.quantities import Measured, Quantity, Unavailable
from runner.core.usage import TOKEN_CLASSES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.core.plan import PlannedTrial
    from runner.summarize.facts import Facts, Figure, UsedModel

Owner: TypeAlias = Literal["client", "memory"]


@dataclass
class Sum:
    """A total of figures; where one is missing, the reason of the one that stands first says why there is none."""

    value: int = 0
    reason: str = ""
    place: int = -1
    """Where the missing one stands; -1 where none is missing."""

    def add(self, figure: Figure, place: int) -> None:
        """Add what stands at `place`; of several at one place the first counts."""
        if isinstance(figure, int):
            self.value += figure
        elif self.place < 0 or place < self.place:
            self.reason, self.place = figure, place

    def quantity(self) -> Quantity:
        """The total, or why there is none."""
        return Measured(self.value) if self.place < 0 else Unavailable(self.reason)


@dataclass
class ModelSums:
    """What one model used in one arm."""

    requests: int = 0
    tokens: tuple[Sum, ...] = field(default_factory=lambda: tuple(Sum() for _ in TOKEN_CLASSES))


@dataclass
class Warmth:
    """The input of completed trials that ran at one place of their blocks."""

    trials: int = 0
    cache_read: Sum = field(default_factory=Sum)
    input_side: Sum = field(default_factory=Sum)


@dataclass
class SpendSums:
    """What all attempts of an arm used."""

    trials: int = 0
    attempts: int = 0
    repeated: int = 0
    tokens: int = 0
    cost_microusd: int = 0
    memory_tokens: int = 0
    memory_cost_microusd: int = 0
    without_tokens: int = 0
    without_cost: int = 0
    charged_microusd: int = 0
    without_charge: int = 0
    capped: int = 0

    def take(self, facts: Facts) -> None:
        """Add one trial."""
        self.trials += 1
        self.attempts += facts.attempts
        self.repeated += max(0, facts.attempts - 1)
        self.tokens += facts.spent.tokens
        self.cost_microusd += facts.spent.cost_microusd
        self.memory_tokens += facts.spent.memory_tokens
        self.memory_cost_microusd += facts.spent.memory_cost_microusd
        self.without_tokens += facts.spent.without_tokens
        self.without_cost += facts.spent.without_cost
        self.charged_microusd += facts.spent.charged_microusd
        self.without_charge += facts.spent.without_charge
        self.capped += facts.spent.capped


@dataclass
class FindingSums:
    """Findings of one kind."""

    example: str
    count: int = 0
    trials: dict[str, None] = field(default_factory=dict)


@dataclass
class ArmSums:
    """What is said of one arm."""

    spend: SpendSums = field(default_factory=SpendSums)
    completed: int = 0
    inert: list[str] = field(default_factory=list)
    """Completed trials that never called a memory."""
    reached: list[str] = field(default_factory=list)
    """Trials that called a memory, or reached a sidecar."""
    models: set[str] = field(default_factory=set)
    """That answered in completed trials."""
    client_versions: set[str] = field(default_factory=set)
    warmth: dict[int, Warmth] = field(default_factory=dict)
    """By place in the block."""
    used: dict[tuple[Owner, str], ModelSums] = field(default_factory=dict)
    """In complete blocks, by who asked and model."""
    calls: Counter[str] = field(default_factory=Counter)
    """In complete blocks, by tool."""
    errors: Counter[str] = field(default_factory=Counter)


class Folds:
    """What was folded so far; trials come in the order of the plan."""

    def __init__(self, arms: Sequence[str]) -> None:
        """Nothing yet of `arms`."""
        self.arms = {arm: ArmSums() for arm in arms}
        self.findings: dict[str, FindingSums] = {}
        self.unrecorded: list[str] = []
        self.priced = 0
        """Trials whose score has a cost."""
        self.reporting = 0
        """Completed trials whose client reports its usage."""
        self.disagreeing: list[str] = []
        """Those of them whose report isn't what was observed."""

    def take(self, place: PlannedTrial, facts: Facts) -> None:
        """Add one trial."""
        arm = self.arms[place.arm]
        arm.spend.take(facts)
        for kind, detail in facts.findings:
            group = self.findings.setdefault(kind, FindingSums(detail))
            group.count += 1
            group.trials[place.trial] = None
        if not facts.recorded:
            self.unrecorded.append(place.trial)
        self.priced += facts.priced
        if facts.memory_calls or facts.sidecar_requests:
            arm.reached.append(place.trial)
        if facts.consequence.in_pairs:
            self._take_completed(arm, place, facts)

    def _take_completed(self, arm: ArmSums, place: PlannedTrial, facts: Facts) -> None:
        arm.completed += 1
        if not facts.memory_calls:
            arm.inert.append(place.trial)
        arm.models.update(used.model for used in facts.client_models)
        arm.client_versions.update(facts.client_versions)
        warmth = arm.warmth.setdefault(place.position, Warmth())
        warmth.trials += 1
        warmth.cache_read.add(facts.cache_read_tokens, place.sequence)
        warmth.input_side.add(facts.input_side_tokens, place.sequence)
        if facts.agrees is not None:
            self.reporting += 1
            if not facts.agrees:
                self.disagreeing.append(place.trial)

    def take_complete(self, number: int, members: Sequence[tuple[PlannedTrial, Facts]]) -> None:
        """Add the trials of block `number`, in which every arm may stand in a pair."""
        for place, facts in members:
            arm = self.arms[place.arm]
            _add_models(arm, "client", facts.client_models, number)
            _add_models(arm, "memory", facts.memory_models, number)
            for tool, calls, errors in facts.tools:
                arm.calls[tool] += calls
                arm.errors[tool] += errors


def _add_models(arm: ArmSums, owner: Owner, models: Sequence[UsedModel], number: int) -> None:
    for used in models:
        sums = arm.used.setdefault((owner, used.model), ModelSums())
        sums.requests += used.requests
        for whole, tokens in zip(sums.tokens, used.tokens, strict=True):
            whole.add(tokens, number)
