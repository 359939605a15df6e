"""How do the events of a stream become one answer? Plain values: knows no SDK, and takes an answer without usage."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from messages.replies import ProviderError, Reply

if TYPE_CHECKING:
    from collections.abc import Mapping

# A piece's type -> where it goes in its block; pieces of a tool's input are JSON when they are together.
_PIECES = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


class Assembly:
    """One answer while it arrives."""

    def __init__(self) -> None:
        """Nothing has arrived."""
        self._model = ""
        self._stop_reason: str | None = None
        self._usage: dict[str, Any] | None = None
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, str] = {}
        self._ended = False

    def take(self, event: Mapping[str, Any]) -> None:
        """The event is part of the answer.

        Raises:
            ProviderError: it doesn't follow from those before it.
        """
        try:
            match event["type"]:
                case "message_start":
                    self._model = str(event["message"]["model"])
                    self._count(event["message"].get("usage"))
                case "content_block_start":
                    self._blocks[event["index"]] = dict(event["content_block"])
                case "content_block_delta":
                    self._piece(event["index"], event["delta"])
                case "message_delta":
                    self._stop_reason = event["delta"].get("stop_reason")
                    self._count(event.get("usage"))
                case "message_stop":
                    self._ended = True
                case _:
                    pass
        except (KeyError, TypeError, AttributeError) as error:
            raise ProviderError(None, "malformed", f"an event of the answer is none: {error!r}") from error

    def reply(self) -> Reply:
        """The whole answer.

        Raises:
            ProviderError: its end is missing, or a tool's input isn't an object.
        """
        if not self._ended:
            raise ProviderError(None, "connection", "the answer broke off")
        content = [self._block(index) for index in sorted(self._blocks)]
        return Reply(self._model, self._stop_reason, content, self._usage)

    def _count(self, usage: Mapping[str, Any] | None) -> None:
        """What the last event says of a class counts; a class that it doesn't name stays as it was."""
        if usage:
            self._usage = {**(self._usage or {}), **{key: value for key, value in usage.items() if value is not None}}

    def _piece(self, index: int, delta: Mapping[str, Any]) -> None:
        block, kind = self._blocks[index], delta["type"]
        if kind == "input_json_delta":
            self._inputs[index] = self._inputs.get(index, "") + delta["partial_json"]
        elif kind == "citations_delta":
            block["citations"] = [*(block.get("citations") or []), delta["citation"]]
        elif kind in _PIECES:
            block[_PIECES[kind]] = (block.get(_PIECES[kind]) or "") + delta[_PIECES[kind]]

    def _block(self, index: int) -> dict[str, Any]:
        block = self._blocks[index]
        if block.get("type") == "text":
            # Only what a request may hold.
            return {key: block[key] for key in ("type", "text", "citations") if block.get(key) is not None}
        if block.get("type") != "tool_use":
            return block
        try:
            given = json.loads(self._inputs.get(index) or "{}")
        except ValueError as error:
            raise ProviderError(None, "malformed", f"the input of a tool call is no JSON: {error}") from error
        if not isinstance(given, dict):
            raise ProviderError(None, "malformed", "the input of a tool call is no object")
        return {"type": "tool_use", "id": block["id"], "name": block["name"], "input": given}
