"""What every client adapter offers: a launch made from a request, and a report made from its output."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.core.events import ClientReady
    from runner.core.launch import LaunchRequest, McpServer, PodLaunch
    from runner.core.quantities import Quantity
    from runner.core.records import Finding, ToolCalls
    from runner.core.usage import ModelUsage


class Ending(enum.StrEnum):
    """How a client says that it ended."""

    OK = "ok"
    CLIENT_ERROR = "client_error"
    PROVIDER_ERROR = "provider_error"
    CAP = "cap"
    """A limit of its own: turns, spend or output tokens."""
    UNSAID = "unsaid"
    """Its output holds no result although the client writes one when it ends."""
    CONTRADICTORY = "contradictory"
    """It says that it ended well after it had said that it didn't: one of the two isn't its own word."""
    BY_EXIT_CODE = "by_exit_code"
    """It writes no result; its exit code decides."""


@dataclass(frozen=True)
class ClientReport:
    """What a client's own output says of one attempt; none of it is more than the client's word."""

    starts: tuple[ClientReady, ...]
    """What it said at its start; more than one when it said something else later."""
    answer: str
    """"" when there was none."""
    ending: Ending
    reason: str
    """Why it ended so; "" when it ended well."""
    reported: tuple[ModelUsage, ...]
    cost_microusd: Quantity
    turns: Quantity
    tool_calls: tuple[ToolCalls, ...]
    """By name."""
    models: tuple[str, ...]
    """Every model that it says it worked with, by name."""
    retries: int
    denied: tuple[str, ...]
    """Tools whose calls it refused for lack of permission, by name."""
    corrupt_lines: int
    findings: tuple[Finding, ...]


class Client(Protocol):
    """An agent program that a study can name as its `client.kind`."""

    @property
    def kind(self) -> str:
        """The name in a study."""

    def launch(self, request: LaunchRequest) -> PodLaunch:
        """What starts the client in a pod.

        Raises:
            StudyError: the request can't be launched by this client.
        """

    def parse(self, stdout: bytes, stderr: bytes) -> ClientReport:
        """What the client's output says; damaged lines are counted, never fatal."""

    def start_of(self, tools: Sequence[str], servers: Sequence[McpServer]) -> ClientReady | None:
        """What it started with, as the tools show that its first model request offers, in an arm with `servers`.

        None where its output says so itself, or where nothing can tell.
        """
