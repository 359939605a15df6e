"""How does a conversation go? The model is asked, its tools are run, until it answers or something ends it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from messages.events import Spent, counts_of, say
from messages.replies import Model, ProviderError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from messages.config import Config
    from messages.files import Answer

SYSTEM = (
    "You answer questions about the files of a workspace, which you can only read. Use your tools to find out; paths"
    " are relative to the workspace. Answer as briefly as the question allows, and say so when you don't know."
)


@dataclass(frozen=True)
class End:
    """How a conversation ended."""

    outcome: str
    answer: str
    turns: int
    error: dict[str, Any] | None
    spent: Spent

    def say(self) -> str:
        """The outcome; all of the end is on standard output, as the last event."""
        say(
            "result",
            outcome=self.outcome,
            answer=self.answer,
            turns=self.turns,
            error=self.error,
            usage=self.spent.document(),
        )
        return self.outcome


# Why a model stopped -> how the conversation ended.
_ENDS = {
    "end_turn": "completed",
    "stop_sequence": "completed",
    "max_tokens": "max_output_tokens",
    "refusal": "refusal",
    "model_context_window_exceeded": "context_window",
}


async def converse(
    config: Config,
    model: Model,
    tools: Sequence[dict[str, Any]],
    run: Callable[[str, Mapping[str, Any]], Awaitable[Answer]],
) -> End:
    """The conversation, after its last event but the result was said."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": config.prompt}]
    request: dict[str, Any] = {
        "model": config.model,
        "max_tokens": config.max_output_tokens,
        "system": "\n\n".join(filter(None, (SYSTEM, config.instructions))),
        "messages": messages,
        # The prompt so far is cached from one turn to the next, as the CLIs have it.
        "cache_control": {"type": "ephemeral"},
    }
    if tools:
        request["tools"] = list(tools)
    spent = Spent()
    turns = 0
    while True:
        try:
            reply = await model.ask(request)
        except ProviderError as error:
            return End("provider_error", "", turns, error.document(), spent)
        turns += 1
        counts = counts_of(reply.usage)
        spent.add(reply.model, counts)
        say(
            "assistant",
            turn=turns,
            model=reply.model,
            stop_reason=reply.stop_reason,
            content=reply.content,
            usage=counts,
        )
        messages.append({"role": "assistant", "content": reply.content})
        calls = [block for block in reply.content if block["type"] == "tool_use"]
        if reply.stop_reason == "tool_use" and calls:
            messages.append({"role": "user", "content": [await _run(call, run) for call in calls]})
        elif reply.stop_reason != "pause_turn":
            text = "".join(block["text"] for block in reply.content if block["type"] == "text")
            outcome = _ENDS.get(reply.stop_reason or "", "client_error")
            error = None if outcome == "completed" else _error(outcome, f"the model stopped with {reply.stop_reason}")
            return End(outcome, text if outcome == "completed" else "", turns, error, spent)
        if config.max_turns is not None and turns >= config.max_turns:
            limit = f"the limit of {config.max_turns} turns is reached"
            return End("max_turns", "", turns, _error("max_turns", limit), spent)


async def _run(call: Mapping[str, Any], run: Callable[[str, Mapping[str, Any]], Awaitable[Answer]]) -> dict[str, Any]:
    answer = await run(call["name"], call["input"])
    say("tool_result", id=call["id"], name=call["name"], error=answer.failed, characters=len(answer.text))
    return {
        "type": "tool_result",
        "tool_use_id": call["id"],
        "content": answer.text,
        **({"is_error": True} if answer.failed else {}),
    }


def _error(kind: str, message: str) -> dict[str, Any]:
    return {"status": None, "type": kind, "message": message}
