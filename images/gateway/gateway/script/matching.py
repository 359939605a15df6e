"""Which rule answers a request? Looks at the request, whose it is and how often it came; never at a clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateway.exchange import retry_count
from gateway.policy.view import View, last_human_text
from gateway.script.rules import matches
from gateway.wires import MODEL_PATHS

if TYPE_CHECKING:
    from gateway.exchange import Exchange
    from gateway.messages_request import MessagesRequest
    from gateway.script.rules import Rule, Script, ToolResult, When


@dataclass(frozen=True)
class Conversation:
    """What the body of a model request says."""

    model: str
    stream: bool
    turn: int
    view: View
    text: str

    @classmethod
    def of(cls, parsed: MessagesRequest) -> Conversation:
        """The conversation of a request; its next turn is one more than the assistant has had."""
        turns = sum(role == "assistant" for role, _ in parsed.messages)
        return cls(parsed.model, parsed.stream, turns + 1, View.of(parsed), last_human_text(parsed))


class Rules:
    """A script at work: remembers how often each rule was used, and each request was sent."""

    def __init__(self, script: Script) -> None:
        """No rule was used."""
        self._script = script
        self._used = [0] * len(script.rules)

    def rule_for(self, exchange: Exchange, conversation: Conversation | None) -> Rule | None:
        """The first rule that applies, used once more, or None; `conversation` is that of a model request."""
        for number, rule in enumerate(self._script.rules):
            left = rule.times is None or self._used[number] < rule.times
            if left and _applies(rule.when, exchange, conversation):
                self._used[number] += 1
                return rule
        return None


def _applies(when: When, exchange: Exchange, conversation: Conversation | None) -> bool:
    retries = retry_count(exchange.request)
    return (
        (exchange.request.path in MODEL_PATHS if when.path is None else exchange.request.path == when.path)
        and when.owner in {None, exchange.owner}
        and (when.exchange is None or when.exchange.holds(exchange.seq))
        and (when.resends is None or when.resends.holds(exchange.resends))
        and (when.retry_count is None or (retries is not None and when.retry_count.holds(retries)))
        and (_converses(when, conversation) if conversation else not _needs_conversation(when))
    )


def _needs_conversation(when: When) -> bool:
    wanted = (when.turn, when.model, when.stream, when.text, when.tool_result)
    return bool(when.tools) or any(condition is not None for condition in wanted)


def _converses(when: When, conversation: Conversation) -> bool:
    return (
        (when.turn is None or when.turn.holds(conversation.turn))
        and (when.model is None or matches(when.model, conversation.model))
        and when.stream in {None, conversation.stream}
        and all(tool in conversation.view.tools for tool in when.tools)
        and (when.text is None or when.text.found_in(conversation.text))
        and (when.tool_result is None or _has_result(when.tool_result, conversation.view))
    )


def _has_result(wanted: ToolResult, view: View) -> bool:
    steps = view.steps if wanted.tool is None else view.steps_with(wanted.tool)
    if not steps:
        return False
    last = steps[-1]
    return wanted.failed in {None, last.failed} and wanted.words.found_in(last.result)
