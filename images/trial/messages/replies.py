"""What does a model's answer come to? Plain values: knows no SDK."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass
class ProviderError(Exception):
    """The provider gave no answer; `status` and `kind` are its own, None where nothing came."""

    status: int | None
    kind: str | None
    message: str

    def document(self) -> dict[str, Any]:
        """As the result event holds it."""
        return {"status": self.status, "type": self.kind, "message": self.message}


@dataclass(frozen=True)
class Reply:
    """One answer of the model, as plain JSON values."""

    model: str
    stop_reason: str | None
    content: list[dict[str, Any]]
    usage: dict[str, Any] | None


class Model(Protocol):
    """Whatever answers a request of the Messages API."""

    async def ask(self, request: Mapping[str, Any]) -> Reply:
        """The whole answer.

        Raises:
            ProviderError: there is none.
        """
