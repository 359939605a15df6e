"""What classification looks at, and what it says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.clients.client import ClientReport
    from runner.collect.documents import Documents
    from runner.core.evidence import EngineFacts, Expectation
    from runner.core.outcomes import Outcome


@dataclass(frozen=True)
class Verdict:
    """An outcome and why; the reason of a completed attempt is ""."""

    outcome: Outcome
    reason: str


@dataclass(frozen=True)
class Case:
    """Everything that the rules look at, once the engine's facts were read."""

    engine: EngineFacts
    documents: Documents
    said: ClientReport
    expectation: Expectation
    files: Mapping[str, bytes]
