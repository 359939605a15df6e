"""What a summary needs beside the plan, the records and the scores: facts of the lock, the run and the code."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runner.core.prices import FIXTURE_MODEL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.core.canonical import Digest
    from runner.core.gates import Gate
    from runner.core.prices import PriceTable
    from runner.core.summary import Check, ClientIdentity, HarnessIdentity, NotChecked, Pin, ScheduleIdentity


@dataclass(frozen=True)
class ArmFacts:
    """One arm as the study declares it."""

    name: str
    description: str
    memory: bool
    """It declares an MCP server or the sidecar."""


@dataclass(frozen=True)
class ModelFacts:
    """Who played the model."""

    mode: str
    policy: str
    """Name and version of the scripted policy, "" in other modes."""
    asked: str
    """The model that the client was told to use; its list price is the price of a scripted policy too."""
    fixture: bool = False
    """What answered came from a policy at first, as in a replay of a scripted run."""

    @property
    def exists(self) -> bool:
        """There is somebody to play it: a retrieval study has nobody."""
        return self.mode != "none"

    @property
    def scripted(self) -> bool:
        """A deterministic policy of ours played the model."""
        return self.mode == "scripted" or self.fixture

    @property
    def shown(self) -> str:
        """The only name under which figures may stand."""
        return FIXTURE_MODEL if self.scripted else self.asked or "none"


@dataclass(frozen=True)
class SourceDigests:
    """Digests of the documents that the summarizer doesn't make itself."""

    plan: Digest
    lock: Digest
    prices: Digest
    ledger_head: Digest
    records: Digest
    scores: Digest


@dataclass(frozen=True)
class SummaryContext:
    """Everything that isn't in the plan, the records or the scores."""

    description: str
    protocol_version: str
    arms: tuple[ArmFacts, ...]
    differences: tuple[str, ...]
    model: ModelFacts
    client: ClientIdentity
    harness: HarnessIdentity
    schedule: ScheduleIdentity
    prices: PriceTable
    sources: SourceDigests
    gates: tuple[Gate, ...] = ()
    ceilings: Mapping[str, int] = field(default_factory=dict)
    """Measure -> the most that one trial may have of it, where the study limits it."""
    control_first: bool = False
    """The control ran before any other arm: what order does can't be told."""
    pins: tuple[Pin, ...] = ()
    checks: tuple[Check, ...] = ()
    """Checks that other stages executed."""
    not_checked: tuple[NotChecked, ...] = ()
    """Checks that weren't executed, with reasons; the summarizer adds its own."""
