"""Whatever JSON comes as the body of a model request, the gateway answers or refuses it: it never fails at it.

Bodies are ones that clients send, with a few places exchanged for anything, above all for what stands elsewhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from copy import deepcopy
from typing import Any

from gateway.asked import asked_of
from gateway.canonical_request import Mask, canonical_request
from gateway.exchange import Exchange, Request
from gateway.provider_errors import RefusedError
from gateway.request_facts import facts_of
from gateway.scripted import ScriptedUpstream
from gateway.spending import read_spending
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.core.prices import LIST_PRICES
from runner.core.spending import spending_for
from runner.core.study import Caps
from tests.fakes.orders import capped_study

MASKS = (Mask.of({"name": "session", "path": ["metadata", "user_id"]}), Mask.of({"name": "date", "pattern": r"\d{4}"}))
SPENDING = read_spending(
    json.loads(spending_for(capped_study(Caps(output_tokens=1000)), LIST_PRICES, 10**15, "trial").model_dump_json())
)
HIT = "a/x.py:3:def x_y():\n"
PASSAGE = "[1] id=p1 source=docs/a.md bytes=0-20\nx_y is here"
WRAPPED = json.dumps({"result": PASSAGE})


def used(number: int, tool: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"t{number}", "name": tool, "input": arguments}


def gave(number: int, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": f"t{number}", "content": content, **more}


def tool(name: str, *keys: str) -> dict[str, Any]:
    return {"name": name, "input_schema": {"type": "object", "properties": {key: {"maximum": 9} for key in keys}}}


def messages(tools: list[dict[str, Any]], *steps: tuple[dict[str, Any], dict[str, Any]]) -> dict[str, Any]:
    """A body of the Messages API in which these calls were made."""
    told = [{"type": "text", "text": "Where is `x_y` of the parser?", "cache_control": {"type": "ephemeral"}}]
    turns = [
        {"role": role, "content": [block]}
        for step in steps
        for role, block in zip(("assistant", "user"), step, strict=True)
    ]
    return {
        "model": "claude-sonnet-4-5",
        "max_tokens": 500,
        "system": [{"type": "text", "text": "Working directory: /w"}],
        "messages": [{"role": "user", "content": told}, *turns],
        "tools": tools,
        "tool_choice": {"type": "auto"},
        "metadata": {"user_id": "u"},
    }


def item_of(block: dict[str, Any]) -> dict[str, Any]:
    if block["type"] == "tool_use":
        arguments = json.dumps(block["input"])
        return {"type": "function_call", "call_id": block["id"], "name": block["name"], "arguments": arguments}
    return {"type": "function_call_output", "call_id": block["tool_use_id"], "output": block["content"]}


def responses(body: dict[str, Any]) -> dict[str, Any]:
    """The same conversation as a body of the Responses API."""
    first, *turns = body["messages"]
    question = {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": first["content"][0]["text"]}],
    }
    tools = [
        {"type": "function", "name": item["name"], "parameters": item["input_schema"], "strict": False}
        for item in body["tools"]
    ]
    return {
        "model": "gpt-6.1-sol",
        "instructions": "Be brief.",
        "input": [question, *(item_of(turn["content"][0]) for turn in turns)],
        "tools": tools,
        "tool_choice": "auto",
        "service_tier": "auto",
    }


CLAUDE = [tool("Grep", "pattern", "-i"), tool("Read", "file_path"), tool("mcp__m__memory_search", "query", "k")]
FILES = [tool("grep", "pattern"), tool("read_file", "path")]
SHELL = [tool("exec_command", "cmd")]
COMMAND = r"grep -rnIE -e '\bx_y\b' . | LC_ALL=C sort -t: -k1,1 -k2,2n | head -n 60"
SHOWN = "awk 'NR >= 1 && NR < 61 { printf \"%d\\t%s\\n\", NR, $0 }' a/x.py"
SPOKEN = [
    messages(CLAUDE, (used(1, "mcp__m__memory_search", query="x"), gave(1, [{"type": "text", "text": WRAPPED}]))),
    messages(
        CLAUDE[:2],
        (used(1, "Grep", pattern=r"\bx_y\b"), gave(1, HIT, is_error=False)),
        (used(2, "Read", file_path="/w/a/x.py", offset=1), gave(2, "3\tdef x_y():")),
    ),
    messages(
        FILES,
        (used(1, "grep", pattern=r"\bx_y\b"), gave(1, HIT)),
        (used(2, "read_file", path="a/x.py", offset=1), gave(2, "3\tdef x_y():")),
    ),
    messages(
        SHELL,
        (used(1, "exec_command", cmd=COMMAND), gave(1, "Output:\n./" + HIT)),
        (used(2, "exec_command", cmd=SHOWN), gave(2, "Output:\n3\tdef x_y():")),
    ),
]
# What Codex says to models that call tools from programs.
PROGRAM = f"const done = await tools.exec_command({json.dumps({'cmd': COMMAND})}); text(done.output);"
CODED: dict[str, Any] = {
    "model": "gpt-6.1-sol",
    "input": [
        {
            "type": "additional_tools",
            "role": "developer",
            "tools": [{"type": "namespace", "name": "functions", "tools": [{"type": "custom", "name": "exec"}]}],
        },
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Where is `x_y`?"}]},
        {"type": "custom_tool_call", "call_id": "t1", "namespace": "functions", "name": "exec", "input": PROGRAM},
        {"type": "custom_tool_call_output", "call_id": "t1", "output": [{"type": "input_text", "text": HIT}]},
    ],
}
BODIES = [("/v1/messages", body) for body in SPOKEN] + [("/v1/responses", responses(body)) for body in SPOKEN]
BODIES.append(("/v1/responses", CODED))

# Words that mean something in some place.
NAMES = (
    "type role content text id tool_use_id name input messages system tools tool_choice cache_control ttl call_id "
    "arguments output namespace is_error source service_tier speed max_uses parameters input_schema properties query "
    "maxLength k maximum user assistant developer tool_use tool_result image document input_text output_text message "
    "function_call function_call_output custom_tool_call custom_tool_call_output additional_tools reasoning function "
    "ephemeral 5m 1h none auto any web_search exec_command Grep Read grep read_file mcp__m__memory_search t1 t2 /w "
    "max_tokens max_output_tokens stream model instructions metadata"
)
WORDS = st.sampled_from(NAMES.split())
# Texts that are read as something else: JSON within JSON, commands, what tools print.
TEXTS = st.sampled_from(
    [
        "",
        "{}",
        "[]",
        "NaN",
        '{"a": NaN}',
        '{"a": "\\ud800"}',
        '{"result": "\\ud800 x_y"}',
        '{"result": "[1] id=p source=\\udfff bytes=0-9\\nx_y"}',
        "[" * 600 + "]" * 600,
        '{"a": ' * 500 + "1" + "}" * 500,
        "x:1:\N{REPLACEMENT CHARACTER}",
        "\N{ARABIC-INDIC DIGIT ONE}:\N{ARABIC-INDIC DIGIT ONE}:x_y",
        "<system-reminder>",
        'const done = await tools.exec_command({"cmd": "\\ud800"}); text(done.output);',
        "grep -rnIE -e ' . | LC_ALL=C sort -t: -k1,1 -k2,2n | head -n 60",
        '`(` or "*[" and `x_y',
        HIT,
        WRAPPED,
        SHOWN,
    ]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | WORDS | TEXTS | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.text(max_size=4), inner, max_size=4),
    max_leaves=8,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path to everything in `value`."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, item in inner for found in places(item, (*path, key)))]


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """`value` with something else at `path`."""
    if not path:
        return new
    at(value, path[:-1])[path[-1]] = new
    return value


@st.composite
def odd_bodies(draw: st.DrawFn) -> tuple[str, Any]:
    """A path, and a body with a few places exchanged, taken away or added to."""
    path, body = draw(st.sampled_from(BODIES))
    body = deepcopy(body)
    for _ in range(draw(st.integers(1, 4))):
        where = draw(st.sampled_from(places(body)))
        holder = at(body, where)
        match draw(st.sampled_from(["exchange", "move", "add", "take"])):
            case "exchange":
                body = put(body, where, draw(ANYTHING))
            case "move":
                body = put(body, where, deepcopy(at(body, draw(st.sampled_from(places(body))))))
            case "add" if isinstance(holder, dict):
                holder[draw(WORDS)] = draw(ANYTHING)
            case "add" if isinstance(holder, list):
                holder.append(draw(ANYTHING))
            case _ if where and isinstance(at(body, where[:-1]), dict):
                del at(body, where[:-1])[where[-1]]
            case _:
                pass
    return path, body


IDS = st.sampled_from(["t1", "t2"])
TOOLS = st.sampled_from(["Grep", "exec_command", "mcp__m__memory_search"])
CACHES = st.fixed_dictionaries(
    {"type": st.just("ephemeral")}, optional={"ttl": st.sampled_from(["5m", "1h"]) | ANYTHING}
)
FIELDS = {
    "text": TEXTS,
    "id": IDS,
    "tool_use_id": IDS,
    "call_id": IDS,
    "name": TOOLS,
    "input": st.dictionaries(st.sampled_from(["pattern", "cmd", "file_path"]), ANYTHING, max_size=2),
    "arguments": TEXTS,
    "output": TEXTS,
    "cache_control": CACHES,
}
KIND_NAMES = (
    "text input_text output_text tool_use tool_result image document function_call function_call_output "
    "custom_tool_call custom_tool_call_output additional_tools reasoning message"
)
KINDS = st.sampled_from(KIND_NAMES.split())
BLOCKS = st.fixed_dictionaries({"type": KINDS}, optional=FIELDS | {"content": ANYTHING, "tools": ANYTHING})
ROLES = st.sampled_from(["user", "assistant", "system", "developer"])
MESSAGES = st.fixed_dictionaries({"role": ROLES, "content": st.lists(BLOCKS, max_size=3) | TEXTS})


@st.composite
def odd_conversations(draw: st.DrawFn) -> tuple[str, Any]:
    """A path, and a body of well-formed blocks in places where they may not belong, with keys that they may lack."""
    path, body = draw(st.sampled_from(BODIES))
    key = "messages" if path == "/v1/messages" else "input"
    said = draw(st.lists(MESSAGES if key == "messages" else MESSAGES | BLOCKS, max_size=4))
    return path, body | {key: [body[key][0], *said]}


async def outcome(request: Request) -> str:
    """`answered`, or how the request was refused; every byte of the answer was written."""
    exchange = Exchange(1, 0, request)
    facts_of(exchange)
    canonical_request(request, MASKS, "client")
    with contextlib.suppress(RefusedError):
        SPENDING.worst_microusd("claude-sonnet-4-5", asked_of(request, SPENDING.bounds))
    try:
        answer = await ScriptedUpstream("seed").answer(exchange, lambda: None)
    except RefusedError as error:
        return error.refused
    if not isinstance(answer.body, bytes):
        async for _ in answer.body:
            pass
    answer.observe()
    return "answered"


@settings(max_examples=500)
@given(odd_bodies() | odd_conversations())
def test_no_body_is_a_fault_of_the_gateway(asked: tuple[str, Any]) -> None:
    """It is answered, or a bad request in the provider's words; what it may cost has a bound, or is refused for want of one."""
    path, body = asked
    request = Request("POST", path, (), json.dumps(body).encode())
    assert asyncio.run(outcome(request)) in {"answered", "bad_request"}


@given(st.sampled_from(["/v1/messages", "/v1/responses"]), ANYTHING)
def test_no_json_at_all_is_a_fault(path: str, body: Any) -> None:
    """Whatever it holds."""
    request = Request("POST", path, (), json.dumps(body).encode())
    assert asyncio.run(outcome(request)) in {"answered", "bad_request"}


def test_what_clients_send_is_answered() -> None:
    """So that what is exchanged in it decides."""
    found = [asyncio.run(outcome(Request("POST", path, (), json.dumps(body).encode()))) for path, body in BODIES]
    assert found == ["answered"] * 9
