"""What does the policy see? The question, the tools on offer and what earlier calls of them gave; never a label."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.messages_request import MessagesRequest

REMINDER_START = "<system-reminder>"
REMINDER_END = "</system-reminder>"
DIRECTORY = re.compile(r"orking directory: (/\S*)")
MEMORY_SEARCH = re.compile(r"mcp__.+__memory_search")
# Longer texts are cut, so that no request makes the policy slow; those of an honest run are far shorter.
QUESTION_CHARACTERS = 4000
RESULT_CHARACTERS = 400_000


@dataclass(frozen=True)
class Step:
    """One call that was made, and what came back."""

    tool: str
    arguments: Mapping[str, Any]
    result: str
    failed: bool


@dataclass(frozen=True)
class View:
    """Everything that a decision may depend on."""

    question: str
    directory: str
    tools: Mapping[str, Mapping[str, Any]]
    steps: tuple[Step, ...]

    @classmethod
    def of(cls, request: MessagesRequest) -> View:
        """The view of a request; tools that the client forbids by `tool_choice` aren't on offer."""
        offered = () if request.tool_choice == "none" else request.tools
        first = [block["text"][:RESULT_CHARACTERS] for block in request.messages[0][1] if block["type"] == "text"]
        human = [text for text in (without_reminders(block) for block in first) if text]
        # Models that know system messages within a conversation are told of their surroundings in one.
        told = [
            block["text"][:RESULT_CHARACTERS] for role, said in request.messages if role == "system" for block in said
        ]
        directory = DIRECTORY.search("\n".join((*first, *told))[:RESULT_CHARACTERS])
        return cls(
            question=human[-1][:QUESTION_CHARACTERS] if human else "",
            directory=directory.group(1).rstrip("/") if directory else "",
            tools={tool["name"]: _properties(tool) for tool in offered},
            steps=_steps(request),
        )

    @property
    def memory_search(self) -> str | None:
        """The name of the memory's search tool, when one is on offer."""
        return next((name for name in sorted(self.tools) if MEMORY_SEARCH.fullmatch(name)), None)

    def steps_with(self, tool: str) -> list[Step]:
        """The calls of one tool, oldest first."""
        return [step for step in self.steps if step.tool == tool]


def last_human_text(request: MessagesRequest) -> str:
    """The last text that a user's message holds besides reminders, "" when there is none."""
    for role, blocks in reversed(request.messages):
        texts = [block["text"][:RESULT_CHARACTERS] for block in blocks if block["type"] == "text"]
        if role == "user" and (found := next(filter(None, map(without_reminders, reversed(texts))), "")):
            return found
    return ""


def without_reminders(text: str) -> str:
    """The text without the blocks that the client, not a human, put into it."""
    kept = []
    position = 0
    while (start := text.find(REMINDER_START, position)) >= 0:
        end = text.find(REMINDER_END, start)
        if end < 0:
            break
        kept.append(text[position:start])
        position = end + len(REMINDER_END)
    return ("".join(kept) + text[position:]).strip()


def _properties(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    schema = tool.get("input_schema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else {}


def _steps(request: MessagesRequest) -> tuple[Step, ...]:
    calls: dict[str, tuple[str, Mapping[str, Any]]] = {}
    steps = []
    for _, blocks in request.messages:
        for block in blocks:
            if block["type"] == "tool_use":
                calls[block["id"]] = (block["name"], block["input"])
            elif block["type"] == "tool_result" and block["tool_use_id"] in calls:
                name, arguments = calls[block["tool_use_id"]]
                result = without_reminders(_text(block.get("content"))[:RESULT_CHARACTERS])
                steps.append(Step(name, arguments, result, failed=block.get("is_error") is True))
    return tuple(steps)


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [block.get("text") for block in content if isinstance(block, dict) and block.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))
