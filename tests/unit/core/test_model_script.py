"""Scripts are read strictly: what is unclear, can't be, or can never apply is refused with its key."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from runner.core.errors import ExitCode, StudyError
from runner.core.model_script import (
    Call,
    Cut,
    Delay,
    ErrorAnswer,
    ErrorEvent,
    ModelScript,
    RawAnswer,
    Respond,
    Rule,
    Span,
    Stall,
    Tokens,
    ToolResult,
    When,
    Words,
    parse_model_script,
)

if TYPE_CHECKING:
    from runner.core.documents import Part

HEAD = "format: pairbench/model-script\nversion: 1\n"
REFERENCE = (Path(__file__).parents[3] / "docs/reference/model-script.md").read_text("utf-8")
PROSE = re.sub(r"```.*?```", "", REFERENCE, flags=re.DOTALL)
ANSWER = "respond: {text: a}"


def parsed(rules: str) -> ModelScript:
    return parse_model_script(f"{HEAD}rules:\n{rules}".encode(), "m.yaml")


def problems(rules: str) -> list[str]:
    with pytest.raises(StudyError) as caught:
        parsed(rules)
    assert caught.value.exit_code is ExitCode.USAGE
    return [str(problem) for problem in caught.value.problems]


def test_defaults_are_written_out() -> None:
    """What the gateway gets holds every key."""
    script = parsed(f"  - {ANSWER}")
    assert (script.otherwise, script.description) == ("policy", "")
    (rule,) = script.rules
    assert (rule.times, rule.when) == (None, When(path=None))
    assert set(rule.json_value()) == {"when", "times", "respond"}
    assert set(rule.respond.json_value()) == set(Respond.model_fields)


def test_numbers_and_texts_stand_for_spans_and_lists() -> None:
    """The short forms mean what the long ones say, and are written out long."""
    short = parsed(f"  - {{when: {{turn: 2, resends: {{at_least: 1}}, tools: Grep, text: {{contains: x}}}}, {ANSWER}}}")
    when = short.rules[0].when
    assert when.turn == Span(at_least=2, at_most=2)
    assert when.resends == Span(at_least=1, at_most=2**53 - 1)
    assert (when.tools, when.text) == (("Grep",), Words(contains=("x",)))
    assert when.json_value()["turn"] == {"at_least": 2, "at_most": 2}


def test_a_script_reads_back_from_its_canonical_bytes() -> None:
    """The resolved study holds it and is read again."""
    script = parsed(f"  - {{when: {{turn: 2, tools: [A, B]}}, times: 3, {ANSWER}}}\n  - {ANSWER}")
    assert ModelScript.from_bytes(script.to_bytes(), "script.json") == script


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("{}", "{}"),
        ("{}", "{turn: 1}"),
        ("{turn: {at_least: 2}}", "{turn: {at_least: 3, at_most: 4}}"),
        ("{stream: true, model: a*}", "{stream: true, model: a*, retry_count: 1}"),
        ("{tools: [A]}", "{tools: [B, A]}"),
        ("{text: {contains: [a]}}", "{text: {contains: [b, a], matches: x*}}"),
        ("{tool_result: {}}", "{tool_result: {contains: a, failed: true}}"),
        ("{tool_result: {tool: A, failed: true}}", "{tool_result: {tool: A, failed: true, matches: a}}"),
        ("{path: /v1/models}", "{path: /v1/models, owner: memory}"),
        ("{}", "{path: /v1/responses}"),
    ],
)
def test_rules_that_never_apply_are_refused(first: str, second: str) -> None:
    """A rule behind one that answers all that it is for is a mistake; behind one that wears out it isn't."""
    answer = "respond: {error: {status: 500}}"
    message = "m.yaml: rules[1]: never applies: rules[0] answers every request that it is for"
    rules = f"  - {{when: {first}, TIMES{answer}}}\n  - {{when: {second}, {answer}}}"
    assert problems(rules.replace("TIMES", "")) == [f"{message} (put it before that one, or narrow that one)"]
    assert len(parsed(rules.replace("TIMES", "times: 1, ")).rules) == 2


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("{turn: 1}", "{}"),
        ("{turn: {at_most: 3}}", "{turn: {at_least: 3, at_most: 4}}"),
        ("{stream: true}", "{stream: false}"),
        ("{tools: [A, B]}", "{tools: [A]}"),
        ("{text: {matches: a*}}", "{text: {matches: ab*}}"),
        ("{text: {contains: a}}", "{tool_result: {contains: a}}"),
        ("{tool_result: {tool: A}}", "{tool_result: {tool: B}}"),
        ("{tool_result: {failed: true}}", "{tool_result: {failed: false}}"),
        ("{path: /v1/models}", "{}"),
        ("{path: /v1/responses}", "{}"),
        ("{}", "{path: /v1/models}"),
    ],
)
def test_rules_that_may_apply_are_taken(first: str, second: str) -> None:
    """Only what certainly never applies is refused."""
    error = "respond: {error: {status: 500}}"
    assert len(parsed(f"  - {{when: {first}, {error}}}\n  - {{when: {second}, {error}}}").rules) == 2


@pytest.mark.parametrize(
    ("respond", "message"),
    [
        ("{}", "exactly one of a reply (thinking, text, calls), policy, error and raw is needed"),
        ("{text: a, policy: plain-agent}", "exactly one of a reply (thinking, text, calls), policy, error and raw"),
        ("{error: {status: 500}, stop_reason: refusal}", "stop_reason, usage, tokens and model belong to a message"),
        ("{raw: {text: a}, tokens: {}}", "stop_reason, usage, tokens and model belong to a message"),
        ("{text: a, usage: none, tokens: {}}", "tokens that are declared are sent; leave usage out"),
        ("{text: a, stall: {after_events: 0}, cut: {after_events: 0}}", "only one of stall, cut and error_event can"),
        ("{raw: {text: a, wire: true}, stall: {after_bytes: 0}}", "bytes on the wire are sent whole"),
        ("{error: {status: 500}, error_event: {after_events: 0}}", "an error event needs the events of a message"),
    ],
)
def test_answers_that_contradict_themselves_are_refused(respond: str, message: str) -> None:
    """Each answer is one thing, and what belongs to another isn't silently left out."""
    (problem,) = problems(f"  - {{when: {{stream: true}}, respond: {respond}}}")
    assert problem.startswith(f"m.yaml: rules[0].respond: {message}")


@pytest.mark.parametrize(
    ("respond", "message"),
    [
        ("{text: a, cut: {before_headers: true, by: end}}", "cut: a body can't end before its headers"),
        ("{text: a, cut: {before_headers: false}}", "cut: exactly one of before_headers, after_events and after_bytes"),
        ("{text: a, stall: {}}", "stall: exactly one of before_headers, after_events and after_bytes is needed"),
        ("{raw: {text: a, status: 204}}", "raw: an answer with status 204 has no body"),
        ("{raw: {text: a, wire: true, status: 500}}", "raw: what isn't HTTP has neither status nor headers"),
        ("{raw: {text: a, headers: {request-id: x}}}", "raw.headers: the gateway sets request-id itself"),
        ("{error: {status: 500, headers: {a: 'x\n  y '}}}", "error.headers.a: must match pattern"),
        ("{text: a, tokens: {input_tokens: -1}}", "tokens.input_tokens: must be greater than or equal to 0"),
    ],
)
def test_parts_of_answers_are_checked(respond: str, message: str) -> None:
    """What HTTP or the provider couldn't do isn't asked for by mistake."""
    found = problems(f"  - {{respond: {respond}}}")
    assert found[0].startswith(f"m.yaml: rules[0].respond.{message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "m.yaml: format and version must be pairbench/model-script 1"),
        ("[]", "m.yaml: format and version must be pairbench/model-script 1"),
        ("format: pairbench/model-script\nversion: 2\nrules: []", "m.yaml: format and version must be"),
        (HEAD, "m.yaml: rules: missing"),
        (f"{HEAD}rules: []\nextra: 1", "m.yaml: extra: unknown key"),
        (f"{HEAD}rules: {{}}", "m.yaml: rules: must be a valid array"),
    ],
)
def test_other_documents_are_refused(text: str, message: str) -> None:
    """A file of another format or version isn't half read."""
    with pytest.raises(StudyError) as caught:
        parse_model_script(text.encode(), "m.yaml")
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    "part",
    [
        ModelScript,
        Rule,
        When,
        Span,
        Words,
        ToolResult,
        Respond,
        Call,
        ErrorAnswer,
        RawAnswer,
        Tokens,
        Delay,
        Stall,
        Cut,
        ErrorEvent,
    ],
)
def test_every_key_is_documented(part: type[Part]) -> None:
    """A key that the reader takes stands in the reference."""
    documented = set(re.findall(r"[a-z0-9_]+", " ".join(re.findall(r"`[^`]+`", PROSE))))
    assert set(part.model_fields) - documented == set()


def test_the_reference_s_example_is_a_script() -> None:
    """Whoever copies it has one that plays."""
    (example,) = re.findall(r"```yaml\n(.*?)```", REFERENCE, re.DOTALL)
    script = parse_model_script(example.encode(), "model-script.md")
    assert [rule.times for rule in script.rules] == [2, None, None]


def test_a_number_that_stands_for_a_range_is_told_of_once() -> None:
    """Both of its ends are wrong, and it is one number."""
    assert problems(f"  - when: {{retry_count: -1}}\n    {ANSWER}\n") == [
        "m.yaml: rules[0].when.retry_count: must be greater than or equal to 0"
    ]
