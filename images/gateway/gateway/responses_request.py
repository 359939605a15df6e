"""Is this a request of the Responses API? Reads a body into the conversation that the Messages API would carry.

So one policy, one script and one usage rule serve both: a function call is a tool use, an instruction a system block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateway.messages_request import MessagesRequest, bad, parse_object, strict_json

if TYPE_CHECKING:
    from collections.abc import Mapping

# Tuples: what a client sends in their place may not be hashable.
INSTRUCTING_ROLES = ("developer", "system")
ROLES = (*INSTRUCTING_ROLES, "user", "assistant")
CALLS = ("function_call", "custom_tool_call")
OUTPUTS = ("function_call_output", "custom_tool_call_output")
# Blocks of the conversation; what this API calls so would be taken for one of them.
OWN_KINDS = ("text", "tool_use", "tool_result")
# An item that adds tools to those of the request: Codex 0.163.0 names all of its tools in one to models that know it.
MORE_TOOLS = "additional_tools"
# The provider caches prompts without being asked to; the end of each request is where it may.
CACHED_TO_THE_END = {"type": "ephemeral"}

Block = dict[str, Any]


@dataclass(frozen=True)
class Called:
    """How a tool is called on the wire."""

    namespace: str
    """"" for none."""
    name: str
    takes_text: bool = False
    """It is a custom tool: its input is any text, which stands as `input` in the conversation."""


@dataclass(frozen=True)
class ResponsesRequest:
    """A conversation, and how its tools are called on the wire, by their name in the conversation."""

    conversation: MessagesRequest
    tools: Mapping[str, Called]


def parse_responses(body: bytes) -> ResponsesRequest:
    """The request in `body`.

    Raises:
        RefusedError: naming the first part that is wrong.
    """
    document = parse_object(body)
    model = document.get("model")
    if not isinstance(model, str) or not model:
        bad("model: expected a string")
    stream = document.get("stream") or False
    if not isinstance(stream, bool):
        bad("stream: expected a boolean")
    most = document.get("max_output_tokens")
    if most is not None and not (isinstance(most, int) and not isinstance(most, bool) and most > 0):
        bad("max_output_tokens: expected a positive integer")
    tools = _tools([*_tool_list(document, "tools"), *_added_tools(document.get("input"))])
    system, messages = _items(document.get("input"))
    instructions = document.get("instructions")
    if instructions is not None:
        if not isinstance(instructions, str):
            bad("instructions: expected a string")
        system = ({"type": "text", "text": instructions}, *system)
    conversation = MessagesRequest(
        model=model,
        max_tokens=most,
        stream=stream,
        tools=tuple(tool for tool, _ in tools),
        system=system,
        messages=messages,
        tool_choice="none" if document.get("tool_choice") == "none" else "auto",
        cache_control=CACHED_TO_THE_END,
    )
    return ResponsesRequest(conversation, {tool["name"]: called for tool, called in tools})


def joined_name(namespace: str, name: str) -> str:
    """The name of a tool in the conversation; one of a namespace gets the namespace's before its own."""
    return f"{namespace}__{name}" if namespace else name


def _tool_list(holder: Block, where: str) -> list[Block]:
    tools = holder.get("tools")
    return _list(tools if tools is not None else [], where)


def _added_tools(given: object) -> list[Block]:
    items = given if isinstance(given, list) else []
    return [
        tool
        for index, item in enumerate(items)
        if isinstance(item, dict) and item.get("type") == MORE_TOOLS
        for tool in _tool_list(item, f"input[{index}].tools")
    ]


def _tools(tools: list[Block]) -> list[tuple[Block, Called]]:
    found: list[tuple[Block, Called]] = []
    for index, tool in enumerate(tools):
        where = f"tools[{index}]"
        kind = _text(tool, "type", where)
        if kind == "namespace":
            namespace = _text(tool, "name", where)
            for number, inner in enumerate(_list(tool.get("tools"), f"{where}.tools")):
                found.append(_tool(inner, namespace, f"{where}.tools[{number}]"))
        else:
            found.append(_tool(tool if "name" in tool else tool | {"name": kind}, "", where))
    if len({tool["name"] for tool, _ in found}) != len(found):
        bad("tools: names must be unique")
    return found


def _tool(tool: Block, namespace: str, where: str) -> tuple[Block, Called]:
    name = _text(tool, "name", where)
    kept = {key: value for key, value in tool.items() if key not in {"type", "parameters"}}
    schema = tool.get("parameters")
    if isinstance(schema, dict):
        kept["input_schema"] = schema
    return kept | {"name": joined_name(namespace, name)}, Called(namespace, name, tool.get("type") == "custom")


def _items(given: object) -> tuple[tuple[Block, ...], tuple[tuple[str, tuple[Block, ...]], ...]]:
    """System blocks and messages of the input's items; neighbours of one role make one message."""
    items = [{"role": "user", "content": given}] if isinstance(given, str) else _list(given, "input")
    system: list[Block] = []
    messages: list[tuple[str, list[Block]]] = []
    asked: set[str] = set()
    answered: set[str] = set()
    for index, item in enumerate(items):
        where = f"input[{index}]"
        role, blocks = _item(item, where)
        for block in blocks:
            if block["type"] == "tool_use":
                asked.add(block["id"])
            elif block["type"] == "tool_result":
                if block["tool_use_id"] not in asked:
                    bad(f"No tool call found for function call output with call_id {block['tool_use_id']}.")
                answered.add(block["tool_use_id"])
        if role in INSTRUCTING_ROLES:
            system += blocks
        elif messages and messages[-1][0] == role:
            messages[-1][1].extend(blocks)
        else:
            messages.append((role, blocks))
    if asked != answered:
        bad(f"No tool output found for function call {min(asked - answered)}.")
    if not messages or messages[0][0] != "user":
        bad("input: the first message that instructs nobody must be the user's")
    return tuple(system), tuple((role, tuple(blocks)) for role, blocks in messages)


def _item(item: Block, where: str) -> tuple[str, list[Block]]:
    kind = item.get("type", "message")
    if kind == MORE_TOOLS:
        return "developer", []
    if kind == "message":
        role = item.get("role")
        if role not in ROLES:
            bad(f"{where}.role: expected one of {', '.join(ROLES)}")
        return str(role), _content(item.get("content"), f"{where}.content")
    if kind in CALLS:
        name = joined_name(_optional_text(item, "namespace", where), _text(item, "name", where))
        arguments = _arguments(item, where) if kind == "function_call" else {"input": item.get("input")}
        return "assistant", [
            {"type": "tool_use", "id": _text(item, "call_id", where), "name": name, "input": arguments}
        ]
    if kind in OUTPUTS:
        output = item.get("output")
        content = output if isinstance(output, str) else _content(output, f"{where}.output")
        return "user", [{"type": "tool_result", "tool_use_id": _text(item, "call_id", where), "content": content}]
    if not isinstance(kind, str):
        bad(f"{where}.type: expected a string")
    # Reasoning and the provider's own tools: part of the prompt, and nothing that a policy looks at.
    return "assistant", [_foreign(kind, item, where)]


def _foreign(kind: str, item: Block, where: str) -> Block:
    if kind in OWN_KINDS:
        bad(f"{where}.type: {kind!r} is none of this API's")
    return {"type": kind, "item": item}


def _arguments(item: Block, where: str) -> Block:
    try:
        arguments = strict_json((_text(item, "arguments", where) or "{}").encode())
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        bad(f"{where}.arguments: expected a JSON object")
    return arguments


def _content(content: object, where: str) -> list[Block]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    blocks: list[Block] = []
    for index, part in enumerate(_list(content, where)):
        kind = _text(part, "type", f"{where}[{index}]")
        if kind in {"input_text", "output_text", "text"}:
            blocks.append({"type": "text", "text": _text(part, "text", f"{where}[{index}]")})
        else:
            blocks.append(_foreign(kind, part, f"{where}[{index}]"))
    return blocks


def _list(value: object, where: str) -> list[Block]:
    if not isinstance(value, list):
        bad(f"{where}: expected a list")
    for index, item in enumerate(value):
        if not isinstance(item, dict):
            bad(f"{where}[{index}]: expected an object")
    return value


def _text(holder: Block, key: str, where: str) -> str:
    value = holder.get(key)
    if not isinstance(value, str):
        bad(f"{where}.{key}: expected a string")
    return value


def _optional_text(holder: Block, key: str, where: str) -> str:
    return "" if holder.get(key) is None else _text(holder, key, where)
