"""The gateway reads a script again: it plays what the host wrote, and refuses everything else with its key."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from gateway.config import ConfigError, parse_config
from gateway.script.reading import read_script
from gateway.script.rules import PLAIN, matches

GOOD: dict[str, Any] = json.loads((Path(__file__).parents[3] / "golden/exchange/gateway-script.json").read_text())


def problems(rule: dict[str, Any], **more: Any) -> list[str]:
    """What is wrong with a script of one rule."""
    found: list[str] = []
    document = {"format": "pairbench/model-script", "version": 1, "rules": [rule]} | more
    read_script(document, found)
    return [problem.removeprefix("script.rules[0].") for problem in found]


def test_what_the_host_writes_is_taken() -> None:
    """Nulls stand for keys that were left out."""
    script = parse_config(json.dumps(GOOD)).script
    assert script is not None
    assert script.rules[3].when.exchange is not None
    assert script.rules[3].when.exchange.holds(4)
    assert not script.rules[3].when.exchange.holds(5)


def test_a_rule_without_conditions_applies_to_model_requests() -> None:
    """The short form of a script by hand: everything else has its default."""
    found: list[str] = []
    document = {"format": "pairbench/model-script", "version": 1, "rules": [{"respond": {"policy": "plain-agent"}}]}
    (rule,) = read_script(document, found).rules
    assert found == []
    assert (rule.when.path, rule.times, rule.respond) == (None, None, PLAIN)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (
            {},
            ["respond is missing", "respond needs exactly one of: a reply (thinking, text, calls), policy, error, raw"],
        ),
        (
            [],
            [
                "must be an object",
                "respond is missing",
                "respond needs exactly one of: a reply (thinking, text, calls)",
            ],
        ),
        ({"respond": {"text": "a"}, "when": []}, ["when must be an object"]),
        ({"respond": {"text": "a"}, "times": 0}, ["times must be a whole number from 1 to 9007199254740991"]),
        ({"respond": {"text": "a"}, "when": {"turns": 1}}, ["when.turns unknown key"]),
        ({"respond": {"text": "a"}, "when": {"turn": 1}}, ["when.turn must be an object"]),
        ({"respond": {"text": "a"}, "when": {"stream": 1}}, ["when.stream must be true or false"]),
        ({"respond": {"text": "a"}, "when": {"tools": "Grep"}}, ["when.tools must be a list of texts"]),
        ({"respond": {"text": "a"}, "when": {"owner": "host"}}, ["when.owner must be one of: client, memory"]),
        (
            {"respond": {"text": "a"}, "when": {"text": {"contains": [1]}}},
            ["when.text.contains must be a list of texts"],
        ),
        ({"respond": {"text": 1}}, ["respond.text must be text"]),
        ({"respond": {"calls": [{"tool": "a", "input": []}]}}, ["respond.calls[0].input must be an object"]),
        ({"respond": {"text": "a", "model": "claude"}}, ["respond.model must be text that ends in ' (fixture)'"]),
        ({"respond": {"text": "a", "usage": "some"}}, ["respond.usage must be one of: computed, none, empty"]),
        ({"respond": {"text": "a", "tokens": {"in": 1}}}, ["respond.tokens.in unknown key"]),
        ({"respond": {"error": {"status": 200}}}, ["respond.error.status must be a whole number from 400 to 599"]),
        (
            {"respond": {"error": {"status": 500, "headers": {"content-length": "1", "X": "é"}}}},
            [
                "respond.error.headers.content-length is no header that a script may set",
                "respond.error.headers.X is no header that a script may set",
                "respond.error.headers.X must be printable ASCII text",
            ],
        ),
        ({"respond": {"raw": {}}}, ["respond.raw needs exactly one of: text, base64"]),
        ({"respond": {"raw": {"base64": "*"}}}, ["respond.raw.base64 must be base64"]),
        (
            {"respond": {"text": "a", "cut": {}}},
            ["respond.cut needs exactly one of: before_headers, after_events, after_bytes"],
        ),
        (
            {"respond": {"text": "a", "cut": {"after_events": 1, "by": "magic"}}},
            ["respond.cut.by must be one of: reset, close, end"],
        ),
        (
            {"respond": {"text": "a", "cut": {"after_events": 1}, "stall": {"after_events": 1}}},
            ["respond takes only one of: stall, cut"],
        ),
        ({"respond": {"text": "a", "delay_ms": {"headers": -1}}}, ["respond.delay_ms.headers must be a whole number"]),
    ],
)
def test_everything_else_is_refused_with_its_key(rule: Any, expected: list[str]) -> None:
    """A gateway never plays something else than what it was given."""
    found = problems(rule)
    assert len(found) == len(expected)
    assert all(problem.endswith(end) or problem.startswith(end) for problem, end in zip(found, expected, strict=True))


def test_the_document_itself_is_checked() -> None:
    """Another format, and a rule list that is none."""
    assert problems({"respond": {"text": "a"}}, version=2) == ["script must be pairbench/model-script 1"]
    assert problems({"respond": {"text": "a"}}, rules={}, otherwise="no", extra=1) == [
        "script.extra unknown key",
        "script.otherwise must be one of: policy, error",
        "script.rules must be a list",
    ]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"script": None}, "script must be there for the policy of that name, and for no other"),
        (
            {"policy": {"name": "plain-agent", "version": 1}},
            "script must be there for the policy of that name, and for no other",
        ),
        ({"policy": {"name": "script", "version": 2}}, "policy must be one of: plain-agent 1, script 1"),
    ],
)
def test_script_and_policy_belong_together(change: dict[str, Any], problem: str) -> None:
    """Neither a script that nobody plays, nor a policy without one."""
    with pytest.raises(ConfigError) as caught:
        parse_config(json.dumps(GOOD | change))
    assert caught.value.problems == [problem]


def test_problems_of_the_script_are_told_with_those_of_the_rest() -> None:
    """One run of the gateway tells everything."""
    wrong = deepcopy(GOOD)
    wrong["request_limit"] = 0
    wrong["script"]["rules"][0]["times"] = "once"
    with pytest.raises(ConfigError) as caught:
        parse_config(json.dumps(wrong))
    assert caught.value.problems == [
        "request_limit must be a positive integer",
        "script.rules[0].times must be a whole number from 1 to 9007199254740991",
    ]


def test_text_that_is_no_unicode_is_refused() -> None:
    """A lone surrogate can neither be sent nor be written down."""
    wrong = deepcopy(GOOD)
    wrong["script"]["rules"][1]["respond"]["text"] = "\ud800"
    with pytest.raises(ConfigError, match="not JSON"):
        parse_config(json.dumps(wrong))


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("", "", True),
        ("", "a", False),
        ("a", "a", True),
        ("a", "aa", False),
        ("*", "", True),
        ("*", "anything\nat all", True),
        ("a*", "ab", True),
        ("a*", "ba", False),
        ("*a", "ba", True),
        ("a*a", "a", False),
        ("a*a", "aa", True),
        ("*b*", "abc", True),
        ("a*b*c", "a-b-b-c", True),
        ("a*b*c", "a-c-b", False),
        ("a*bc*c", "abc", False),
        ("ab*ba", "aba", False),
        ("a.c", "abc", False),
        ("[a]", "a", False),
    ],
)
def test_a_star_stands_for_any_text(pattern: str, text: str, *, fits: bool) -> None:
    """And nothing else stands for anything."""
    assert matches(pattern, text) is fits
