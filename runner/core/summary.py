"""The summary of a run: every figure with what it was computed from, what it leaves out, and why.

Integers only. A figure named `..._scaled` is in units of 1/`scale` of its measure; ratios are in parts per million.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from runner.core.documents import MANY, Document, Part, QuantityField
from runner.core.outcomes import Outcome
from runner.core.reconsolidation.section import ReconsolidationSection
from runner.core.retrieval.section import RetrievalSection

Evidence = Literal["fixture", "measurement"]
Role = Literal["control", "treatment"]
MeasureKind = Literal["amount", "share"]
Treatment = Literal["complete_blocks", "failures_counted"]


class StudyIdentity(Part):
    """Which study was run, at which size, under which way of measuring."""

    name: str
    description: str
    protocol_version: str
    """Names the way of measuring; summaries of different protocols are never compared as if controlled."""
    seed: str
    control: str
    tasks: int
    repetitions: int
    blocks: int
    trials: int


class ModelIdentity(Part):
    """Who played the model, and what its tokens are priced as."""

    mode: str
    policy: str
    """Name and version of the scripted policy; "" when a provider's model answered."""
    asked: str
    shown: str
    """The only name under which figures of this run may stand."""
    price_model: str
    """Whose list price the usage of a scripted policy is given; the model asked for."""


class ClientIdentity(Part):
    """The agent program."""

    name: str
    version: str


class HarnessIdentity(Part):
    """The code that computed this."""

    version: str
    digest: str


class InputDigests(Part):
    """Digests of everything that the summary was computed from."""

    plan: str
    lock: str
    ledger_head: str
    """The chained digest of the last ledger entry."""
    records: str
    """Of the bytes of `records.jsonl`."""
    scores: str
    """Of the bytes of `scores.jsonl`."""
    price_table: str


class Pin(Part):
    """Something that the lock pins: an image, a corpus, an index."""

    kind: str
    name: str
    digest: str


class ArmIdentity(Part):
    """One arm."""

    name: str
    role: Role
    description: str
    memory: bool
    """The arm declares a memory: an MCP server or the sidecar."""


class ScheduleIdentity(Part):
    """How the trials were run."""

    slots: int
    preparation: str
    attempts: int
    """Attempts that one trial may have."""


class PriceIdentity(Part):
    """Where list prices come from."""

    currency: str
    dated: str
    source: str
    rule: str


class MeasureIdentity(Part):
    """What is measured, in which unit and scale."""

    name: str
    label: str
    unit: str
    kind: MeasureKind
    """An `amount` is summed; a `share` is found out of a labelled total."""
    group: str
    scale: int
    """Figures named `..._scaled` are in units of 1/scale: of `unit` per trial for an amount, of 1 for a share."""


class Resampling(Part):
    """How intervals were made."""

    method: str
    """Of ratios and differences of means."""
    median_method: str
    """Of differences of medians."""
    generator: str
    seed: str
    resamples: int
    level_ppm: int
    minimum_tasks: int
    minimum_pairs: int
    power_ppm: int
    """How likely an effect of the size that is called detectable has an interval without "no effect"."""
    simultaneous: str
    """How intervals of several treatments are made to hold together."""
    quantile_rule: str
    logarithm_rule: str
    rounding_rule: str
    coverage: str
    """What simulation says of these intervals."""


@dataclass(frozen=True, slots=True)
class CensusRow:
    """One planned trial."""

    __pydantic_config__ = MANY

    trial: str
    block: str
    task: str
    arm: str
    repetition: int
    position: int
    outcome: Outcome
    reason: str
    attempts: int
    block_complete: bool
    why_not: str
    """"" in a complete block."""


class OutcomeCount(Part):
    """How many trials of an arm ended in one way."""

    arm: str
    outcome: Outcome
    trials: int


@dataclass(frozen=True, slots=True)
class TaskCount:
    """How the trials of one task ended in one arm."""

    __pydantic_config__ = MANY

    task: str
    arm: str
    planned: int
    completed: int
    failed: int
    """Ended in a way that counts against the arm."""
    other: int
    """Infrastructure, cancelled, not run."""


class Census(Part):
    """Every planned trial, and counts of them."""

    rows: tuple[CensusRow, ...]
    by_arm: tuple[OutcomeCount, ...]
    by_task: tuple[TaskCount, ...]
    blocks: int
    complete_blocks: int


class ArmTotal(Part):
    """The pooled figure of one arm."""

    arm: str
    total: QuantityField
    out_of: QuantityField
    """The labelled total of a share; the number of trials of an amount."""
    mean_scaled: QuantityField
    """total / out_of."""


class Exclusion(Part):
    """Blocks that a measure leaves out for one reason, from every arm."""

    reason: str
    blocks: int


class TotalsRow(Part):
    """Pooled totals of one measure over the blocks that have it in every arm."""

    measure: str
    n_blocks: int
    n_tasks: int
    excluded: tuple[Exclusion, ...]
    arms: tuple[ArmTotal, ...]


@dataclass(frozen=True, slots=True)
class ArmMedian:
    """The median of one arm."""

    __pydantic_config__ = MANY

    arm: str
    median_scaled: QuantityField


@dataclass(frozen=True, slots=True)
class MedianRow:
    """Medians over the repetitions of one task."""

    __pydantic_config__ = MANY

    measure: str
    task: str
    n_blocks: int
    arms: tuple[ArmMedian, ...]


class MedianOfMedians(Part):
    """Medians over tasks of the tasks' medians."""

    measure: str
    n_tasks: int
    arms: tuple[ArmMedian, ...]


class ArmDistribution(Part):
    """Trials of one arm by size; quantiles between two trials are interpolated linearly."""

    arm: str
    lowest_scaled: QuantityField
    lower_quartile_scaled: QuantityField
    median_scaled: QuantityField
    upper_quartile_scaled: QuantityField
    highest_scaled: QuantityField


class DistributionRow(Part):
    """How the trials of each arm are distributed in one measure."""

    measure: str
    n_blocks: int
    arms: tuple[ArmDistribution, ...]


class Estimate(Part):
    """A figure and its interval; without an interval, low and high say why."""

    value: QuantityField
    low: QuantityField
    high: QuantityField


class Range(Part):
    """Two figures with a meaning of their own; where there is one reason for both to be missing, both say it."""

    low: QuantityField
    high: QuantityField


class Contrast(Part):
    """One treatment against the control, in one measure."""

    measure: str
    arm: str
    control: str
    n_blocks: int
    n_tasks: int
    levels: int
    """Levels that were resampled: 2, tasks and repetitions; 1, tasks, where no task has a second one; 0, none."""
    effective_tasks_milli: QuantityField
    """Thousandths: the number of equally large tasks that the ratio rests on."""
    ratio_ppm: Estimate
    """Total of the treatment / total of the control."""
    mean_difference_scaled: Estimate
    """Treatment - control: per trial for an amount, of pooled shares for a share."""
    median_difference_scaled: Estimate
    """Treatment - control, of the medians over tasks of the tasks' medians."""
    detectable_ratio_ppm: Range
    """A true ratio at `low` or below, or at `high` or above, would have been seen with the stated power."""
    detectable_mean_difference_scaled: QuantityField
    """A true difference of this size, in either direction, would have been seen with the stated power."""


class Simultaneous(Part):
    """The intervals of one treatment that hold together with those of the other treatments in the measure."""

    measure: str
    arm: str
    ratio_ppm: Range
    mean_difference_scaled: Range


class View(Part):
    """All figures under one treatment of failures."""

    treatment: Treatment
    meaning: str
    totals: tuple[TotalsRow, ...]
    medians: tuple[MedianRow, ...]
    medians_of_medians: tuple[MedianOfMedians, ...]
    distributions: tuple[DistributionRow, ...]
    contrasts: tuple[Contrast, ...]
    simultaneous: tuple[Simultaneous, ...]
    """Empty where there is one treatment: its intervals need no other to hold with."""


class OrderStratum(Part):
    """Complete blocks in which the control ran before, or after, the treatment."""

    measure: str
    arm: str
    control_ran: Literal["before", "after"]
    n_blocks: int
    control_total: QuantityField
    treatment_total: QuantityField
    ratio_ppm: QuantityField


class DriftStratum(Part):
    """The first, or the second, half of the complete blocks, in the order in which they were planned to run."""

    measure: str
    arm: str
    half: Literal["first", "second"]
    n_blocks: int
    control_total: QuantityField
    treatment_total: QuantityField
    ratio_ppm: QuantityField


class CacheWarmth(Part):
    """How much of its input an arm's completed trials had from the provider's cache, by their place in the block."""

    arm: str
    position: int
    trials: int
    cache_read_tokens: QuantityField
    input_side_tokens: QuantityField
    """Uncached, read from the cache and written to it."""
    read_share_ppm: QuantityField


class ColdStarts(Part):
    """Completed trials of an arm whose start-up took more than twice the arm's median."""

    arm: str
    trials: int
    """Whose start-up is known."""
    median_startup_us: QuantityField
    """Microseconds: a median may lie between two milliseconds."""
    cold: tuple[str, ...]


class ArmVersions(Part):
    """Who answered, and which client asked, in the completed trials of an arm."""

    arm: str
    models: tuple[str, ...]
    client_versions: tuple[str, ...]


class WorstCase(Part):
    """Between what a contrast over all planned blocks would lie, whatever the unmeasured trials had come to.

    An unmeasured trial may have had anything from 0 to the most there is: a share's labelled total, a limit of the
    study. Where nothing limits a measure, an end that would need it is unavailable.
    """

    measure: str
    arm: str
    n_blocks: int
    """Planned; of a share, those of tasks with labels."""
    unmeasured_control: int
    unmeasured_treatment: int
    ratio_ppm: Range
    mean_difference_scaled: Range


class GateVerdict(Part):
    """A threshold that the study froze before it ran, and what came of it."""

    name: str
    measure: str
    arm: str
    figure: str
    end: str
    set: str = ""
    """Of rankings only, as are the next two: the task whose query set is meant; "" for all together."""
    split: str = ""
    kind: str = ""
    comparison: Literal["at_most", "at_least"]
    bound_scaled: int
    """Parts per million for a ratio; in units of 1/scale of the measure for a difference; of rankings, 1e-9."""
    found_scaled: QuantityField
    verdict: Literal["passed", "failed", "not_judged"]


class InertTrials(Part):
    """Completed trials of an arm with a memory that never called it."""

    arm: str
    completed: int
    inert: int
    trials: tuple[str, ...]


class FindingGroup(Part):
    """Findings of one kind."""

    kind: str
    count: int
    trials: tuple[str, ...]
    example: str
    """The detail of the first one, in the order of the plan."""


class ModelTokens(Part):
    """What one resolved model used in one arm, over complete blocks, as the gateway observed it."""

    arm: str
    owner: Literal["client", "memory"]
    model: str
    requests: int
    input_tokens: QuantityField
    output_tokens: QuantityField
    cache_read_input_tokens: QuantityField
    cache_write_5m_input_tokens: QuantityField
    cache_write_1h_input_tokens: QuantityField


class ToolTotal(Part):
    """Calls of one tool in one arm, over complete blocks."""

    arm: str
    tool: str
    calls: int
    errors: int


class Spend(Part):
    """What all attempts of an arm used, failed and repeated ones too: a lower bound where something isn't known."""

    arm: str
    trials: int
    attempts: int
    repeated: int
    """Attempts beyond the first of a trial."""
    tokens: int
    """All classes, as far as they are known: of an answer that was cut, the input."""
    cost_microusd: int
    """Their list price, where there is one."""
    memory_tokens: int
    memory_cost_microusd: int
    """Of the memory's own requests; part of the above."""
    attempts_without_tokens: int
    """Attempts of which some tokens aren't known."""
    attempts_without_cost: int
    """Attempts of which some tokens aren't known, or have no price."""
    charged_microusd: QuantityField
    """What counts against the caps, by the gateways' own account: of answers that nobody can price, the worst case."""
    attempts_without_charge: int
    """Attempts of which nobody knows that: all that they were granted counts."""


class Check(Part):
    """Something that was checked, and what came out."""

    name: str
    claim: str
    """What holds when it passed."""
    passed: bool
    checked: int
    """How many things were looked at."""
    failed: tuple[str, ...]
    """Which of them didn't hold."""


class NotChecked(Part):
    """Something that wasn't checked, and why; it is never shown as passing."""

    name: str
    reason: str


class Summary(Document):
    """What a run found, for people and for programs."""

    FORMAT: ClassVar[str] = "pairbench/summary"
    EXACT: ClassVar[bool] = True
    LEFT_OUT: ClassVar[frozenset[str]] = frozenset({"retrieval", "reconsolidation"})

    study: StudyIdentity
    evidence: Evidence
    model: ModelIdentity
    client: ClientIdentity
    harness: HarnessIdentity
    inputs: InputDigests
    pins: tuple[Pin, ...]
    arms: tuple[ArmIdentity, ...]
    """The control first, then the treatments in the order of the study."""
    differences: tuple[str, ...]
    """What differs between the arms, and nothing else does: lines of the lock."""
    schedule: ScheduleIdentity
    prices: PriceIdentity
    measures: tuple[MeasureIdentity, ...]
    headline: tuple[str, ...]
    """Measures that a reader sees first, in this order; chosen before any run."""
    resampling: Resampling
    census: Census
    views: tuple[View, ...]
    """Complete blocks first; then failures counted, when that moves any figure."""
    failures_line: str
    gates: tuple[GateVerdict, ...]
    """Judged over complete blocks."""
    worst_case: tuple[WorstCase, ...]
    """Of measures that some planned block lacks."""
    obstacles: tuple[str, ...]
    """Why the arms may not be compared; every contrast is unavailable then."""
    order_effect: tuple[OrderStratum, ...]
    drift: tuple[DriftStratum, ...]
    """Of the headline measures."""
    cache_warmth: tuple[CacheWarmth, ...]
    cold_starts: tuple[ColdStarts, ...]
    versions: tuple[ArmVersions, ...]
    inert: tuple[InertTrials, ...]
    findings: tuple[FindingGroup, ...]
    models: tuple[ModelTokens, ...]
    tools: tuple[ToolTotal, ...]
    spend: tuple[Spend, ...]
    checks: tuple[Check, ...]
    not_checked: tuple[NotChecked, ...]
    retrieval: RetrievalSection | None = None
    """Only of a retrieval study."""
    reconsolidation: ReconsolidationSection | None = None
    """Only of a reconsolidation study."""
