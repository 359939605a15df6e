"""How a trial can end: a closed union, and one table that says what follows from each end."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final


class Outcome(enum.StrEnum):
    """The end of an attempt or of a trial."""

    COMPLETED = "completed"
    CLIENT_ERROR = "client_error"
    PROVIDER_ERROR = "provider_error"
    TIMEOUT = "timeout"
    CAP_EXCEEDED = "cap_exceeded"
    OUT_OF_MEMORY = "out_of_memory"
    OUTPUT_LIMIT = "output_limit"
    SIDECAR_FAILED = "sidecar_failed"
    GATEWAY_FAILED = "gateway_failed"
    INFRASTRUCTURE = "infrastructure"
    EVIDENCE_INVALID = "evidence_invalid"
    CANCELLED = "cancelled"
    NOT_RUN = "not_run"


@dataclass(frozen=True)
class Consequence:
    """What follows from an outcome."""

    retried: bool
    """Another attempt may be made: the treatment had no part in the end."""
    in_pairs: bool
    """The trial may stand in a complete block."""
    failure: bool
    """It counts against the treatment when failures are counted."""
    meaning: str
    """One sentence for a person."""


CONSEQUENCES: Final[dict[Outcome, Consequence]] = {
    Outcome.COMPLETED: Consequence(False, True, False, "The client ended by itself with an answer."),
    Outcome.CLIENT_ERROR: Consequence(False, False, True, "The client ended with an error of its own."),
    Outcome.PROVIDER_ERROR: Consequence(
        False, False, True, "The model's provider answered with errors until the client gave up."
    ),
    Outcome.TIMEOUT: Consequence(False, False, True, "The deadline passed and the client was ended."),
    Outcome.CAP_EXCEEDED: Consequence(False, False, True, "A cap on requests, turns or spend was reached."),
    Outcome.OUT_OF_MEMORY: Consequence(False, False, True, "The kernel ended the client at the memory limit."),
    Outcome.OUTPUT_LIMIT: Consequence(False, False, True, "The client wrote more than the study allows."),
    Outcome.SIDECAR_FAILED: Consequence(True, False, False, "The Qdrant sidecar didn't start, or ended early."),
    Outcome.GATEWAY_FAILED: Consequence(True, False, False, "The model gateway didn't start, or ended early."),
    Outcome.INFRASTRUCTURE: Consequence(
        True, False, False, "The engine, the pod or a required server failed before the client could do its work."
    ),
    Outcome.EVIDENCE_INVALID: Consequence(
        False, False, True, "What the trial left behind is missing, damaged or contradicts itself."
    ),
    Outcome.CANCELLED: Consequence(False, False, False, "The run was interrupted before the trial had ended."),
    Outcome.NOT_RUN: Consequence(False, False, False, "The trial was planned and never started."),
}
