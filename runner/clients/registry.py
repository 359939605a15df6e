"""Which clients there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runner.clients.claude_code import ClaudeCode
from runner.clients.codex import Codex
from runner.clients.command import Command
from runner.clients.messages import Messages
from runner.clients.reconsolidation import Reconsolidation
from runner.clients.retrieval import Retrieval
from runner.core.errors import StudyError

if TYPE_CHECKING:
    from runner.clients.client import Client

_CLIENTS: Final[dict[str, Client]] = {
    client.kind: client for client in (ClaudeCode(), Codex(), Command(), Messages(), Reconsolidation(), Retrieval())
}

CLIENT_KINDS: Final = tuple(sorted(_CLIENTS))


def client_of(kind: str) -> Client:
    """The client that a study calls `kind`.

    Raises:
        StudyError: there is none.
    """
    if kind not in _CLIENTS:
        raise StudyError(
            f"no client is called {kind!r}", key="client.kind", hint=f"there are {', '.join(CLIENT_KINDS)}"
        )
    return _CLIENTS[kind]
