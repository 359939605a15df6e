"""The typed result of one trial, derived from its raw evidence only, and the scores that labels give it."""

from __future__ import annotations

from typing import ClassVar, Final

from runner.core.documents import Document, Part, QuantityField
from runner.core.outcomes import Outcome
from runner.core.quantities import Unavailable
from runner.core.usage import ModelUsage

NOT_CAPPED: Final = Unavailable("nothing is capped")
"""In place of what counts against the caps, where there are none."""


class Finding(Part):
    """Something that a reader of the numbers must know; it never changes a number by itself."""

    kind: str
    detail: str


class ToolCalls(Part):
    """How often the client called one tool, and how often the tool answered with an error."""

    name: str
    calls: int
    errors: int


class AttemptRecord(Part):
    """One attempt of a trial; every attempt is kept, and its usage counts as spend."""

    number: int
    outcome: Outcome
    reason: str
    observed: tuple[ModelUsage, ...]
    """By the gateway, for requests of the client."""
    evidence: dict[str, str]
    """Name of each raw file -> its digest."""
    observed_memory: tuple[ModelUsage, ...] = ()
    """By the gateway, for requests that the memory itself made."""
    charged_microusd: QuantityField = NOT_CAPPED
    """What the attempt counts against the caps."""


class Timing(Part):
    """Where the time of the last attempt went."""

    wall_ms: QuantityField
    """From the client's start to its end: start-up included, as a fresh session pays it."""
    startup_ms: QuantityField
    """From the client's start to its first model request."""
    model_ms: QuantityField
    """Sum over the client's model requests, first byte received to last byte sent."""
    working_ms: QuantityField
    """The client's wall time in which none of its model requests was under way: its own work, tools and start-up."""
    pod_ms: QuantityField
    """From the first engine call of the attempt to the trial container proven gone."""
    user_cpu_ms: QuantityField
    system_cpu_ms: QuantityField
    peak_rss_bytes: QuantityField


class Record(Document):
    """One planned trial: where it stands in the plan, how it ended, and what was observed in its last attempt."""

    FORMAT: ClassVar[str] = "pairbench/record"
    EXACT: ClassVar[bool] = True

    trial: str
    block: str
    task: str
    arm: str
    repetition: int
    position: int
    """0 for the arm that ran first in its block, 1 for the next, …"""
    sequence: int
    """The trial's place in the whole plan, from 0."""
    outcome: Outcome
    reason: str
    attempts: tuple[AttemptRecord, ...]
    answer: str
    """The client's final answer; "" when there was none."""
    observed: tuple[ModelUsage, ...]
    """By the gateway, for requests of the client."""
    observed_memory: tuple[ModelUsage, ...]
    """By the gateway, for requests that the memory itself made."""
    reported: tuple[ModelUsage, ...]
    """By the client's last result event."""
    reported_cost_microusd: QuantityField
    turns: QuantityField
    tool_calls: tuple[ToolCalls, ...]
    memory_calls: int
    """Calls of tools that the arm's declared MCP servers offer; 0 in an arm that has none."""
    sidecar_requests: int
    """Requests in the sidecar's access log."""
    timing: Timing
    client_versions: tuple[str, ...]
    """What the client calls its version when it starts, each once, sorted; empty for one that doesn't say."""
    findings: tuple[Finding, ...]

    def without_bulk(self) -> Record:
        """The record without what no figure is made of: the answer's text, and the names of raw files."""
        attempts = tuple(attempt.model_copy(update={"evidence": {}}) for attempt in self.attempts)
        return self.model_copy(update={"answer": "", "attempts": attempts})


class Score(Document):
    """What labels and prices say of one record; labels never enter a trial."""

    FORMAT: ClassVar[str] = "pairbench/score"
    EXACT: ClassVar[bool] = True

    trial: str
    cost_microusd: QuantityField
    """List price of the observed usage, from the dated table named by the lock."""
    references_found: QuantityField
    """Labelled reference sources (byte ranges) that a citation of the answer overlaps."""
    references_total: int
    reference_files_found: QuantityField
    reference_files_total: int
    diagnostic_found: QuantityField
    """Lexical reference checks that the answer passes: diagnostic coverage, not quality."""
    diagnostic_total: int
