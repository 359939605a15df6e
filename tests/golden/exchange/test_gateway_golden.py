"""The golden files of the gateway are fresh, and both sides of the formats read them."""

from __future__ import annotations

import base64
import hashlib
import json

import pytest
from gateway.config import parse_config
from gateway.exchange import Usage
from gateway.script.rules import Interruption, Place, Span
from gateway.scripted import MODEL

from runner.core.errors import StudyError
from runner.core.evidence import Exchange
from runner.core.gateway import GatewayConfig
from runner.core.model_script import ModelScript, parse_model_script
from tests.golden.exchange.make import BROKEN, FILES, HERE, SCRIPT, SCRIPTED_CONFIG, made

LINES = (HERE / "exchanges.jsonl").read_text().splitlines()
SCRIPTED_LINES = (HERE / "exchanges-script.jsonl").read_text().splitlines()


def test_the_files_are_what_today_s_gateway_writes() -> None:
    """Whoever changes the gateway sees the change here, and makes the files again with `make.py`."""
    for name, content in made().items():
        assert (HERE / name).read_bytes() == content, name


def test_both_sides_read_the_configuration() -> None:
    """Host and gateway agree on the configuration's keys and types."""
    text = (HERE / "gateway.json").read_text()
    host, program = GatewayConfig.model_validate_json(text), parse_config(text)
    assert (host.request_limit, host.tokens.memory) == (4, "golden-memory")
    assert (program.request_limit, program.tokens["memory"].value) == (4, b"golden-memory")


@pytest.mark.parametrize("line", [*LINES, *SCRIPTED_LINES], ids=range(1, len(LINES) + len(SCRIPTED_LINES) + 1))
def test_the_host_reads_every_exchange(line: str) -> None:
    """Each line is an exchange as the runner knows it, and holds no key that it doesn't know."""
    exchange = Exchange.model_validate_json(line)
    assert exchange.model_dump(mode="json", exclude_unset=True) == json.loads(line)


def test_one_exchange_of_each_kind_is_there() -> None:
    """The sample shows answers, a re-send, and every refusal that requests alone can provoke."""
    exchanges = [json.loads(line) for line in LINES]
    assert [(one["status"], one["refused"], one["resend_of"], one["stop_reason"]) for one in exchanges] == [
        (200, None, None, "tool_use"),
        (200, None, None, "end_turn"),
        (200, None, 2, "end_turn"),
        (200, None, None, None),
        (200, None, None, "end_turn"),
        (404, "not_served", None, None),
        (400, "bad_request", None, None),
        (401, "unauthorized", None, None),
        (402, "request_limit", 8, None),
    ]


@pytest.mark.parametrize("suffix", ["", "-script"])
def test_digests_are_those_of_the_bodies(suffix: str) -> None:
    """Whoever has both files can check one with the other."""
    lines, bodies = (
        [json.loads(line) for line in (HERE / f"{name}{suffix}.jsonl").read_text().splitlines()]
        for name in ("exchanges", "bodies")
    )
    for exchange, kept in zip(lines, bodies, strict=True):
        for part in ("request", "response"):
            body = base64.b64decode(kept[part]["base64"]) if isinstance(kept[part], dict) else kept[part].encode()
            assert exchange[f"{part}_sha256"] == "sha256:" + hashlib.sha256(body).hexdigest()
            assert exchange[f"{part}_bytes"] == len(body)


def test_both_sides_read_the_script() -> None:
    """What the host writes out of a YAML file is what the gateway plays, rule by rule."""
    text = SCRIPTED_CONFIG.read_bytes()
    script = parse_model_script(SCRIPT.read_bytes(), "script.yaml")
    assert GatewayConfig.from_bytes(text, "gateway.json").script == script
    assert ModelScript.from_bytes(script.to_bytes(), "script.json") == script
    played = parse_config(text.decode()).script
    assert played is not None
    assert (len(played.rules), played.refuses_otherwise) == (10, True)
    first, second, third, fourth, *_ = played.rules
    assert (first.times, first.when.model, first.when.tools) == (1, "claude-*", ("Grep",))
    assert first.respond.error is not None
    assert (first.respond.error.status, first.respond.error.headers) == (529, (("retry-after", "1"),))
    assert second.respond.content == (
        {"type": "thinking", "thinking": "Where is it?"},
        {"type": "text", "text": "Let me look."},
        {
            "type": "tool_use",
            "name": "Grep",
            "input": {"pattern": "send_failed", "-n": True, "head_limit": 5, "glob": None, "paths": ["pkg", "tests"]},
        },
    )
    assert third.respond.interruption == Interruption("close", Place(before_headers=False, events=None, bytes=900))
    assert (third.when.exchange, third.respond.usage) == (Span(3, 3), Usage(7, 5, 0, 0, 0))
    assert fourth.respond.interruption == Interruption(
        "error", Place(before_headers=False, events=4, bytes=None), "api_error", "Broken"
    )


def test_each_rule_of_the_script_answered_once() -> None:
    """The sample shows what the evidence says of each kind of answer, and of none."""
    exchanges = [json.loads(line) for line in SCRIPTED_LINES]
    assert [(one["status"], one["cut"], one["refused"], one["stop_reason"]) for one in exchanges] == [
        (529, False, None, None),
        (200, False, None, "tool_use"),
        (200, True, None, None),
        (200, True, None, None),
        (200, False, None, "refusal"),
        (502, False, None, None),
        (None, True, None, None),
        (200, True, None, None),
        (None, False, None, None),
        (402, False, "no_rule", None),
    ]
    assert [one["model_resolved"] for one in exchanges[1:4]] == [MODEL, MODEL, "other (fixture)"]


def test_the_broken_script_is_refused_with_every_fault() -> None:
    """Each problem names its key, and is told in the same run."""
    with pytest.raises(StudyError) as caught:
        parse_model_script((HERE / "script-broken.yaml").read_bytes(), "broken.yaml")
    assert [str(problem).removeprefix("broken.yaml: ") for problem in caught.value.problems] == [
        "rules[0].when: turn counts from 1",
        "rules[1].when: only a request for /v1/messages or /v1/responses has a conversation",
        "rules[2]: only a request for /v1/messages or /v1/responses is answered by a message; use error or raw",
        "rules[3].respond.error.status: must be greater than or equal to 400",
        "rules[4].respond.model: must match pattern '^.+ \\(fixture\\)$'",
        "rules[5].respond.error.headers.Retry-After: must match pattern '^[a-z0-9-]{1,64}$'",
        "rules[6].respond.raw: exactly one of text and base64 is needed",
        "rules[7].respond.raw: base64: Only base64 data is allowed",
        "rules[8]: an error event needs when.stream: true, for an answer as a whole has no events",
        "rules[9].respond.cut: exactly one of before_headers, after_events and after_bytes is needed",
        "rules[10].respond.calls[0].tool: must match pattern '^[A-Za-z0-9_-]{1,128}$'",
        "rules[10].respond.calls[0].input: must be an object",
        "rules[11].times: must be greater than or equal to 1",
        "rules[11].respond.policy: must be 'plain-agent'",
        "rules[11].respond.delay_ms.headers: must be greater than or equal to 0",
        "rules[12].when.exchange: at_least must not be above at_most",
        "rules[12].when.text: contains or matches is needed",
        "rules[12].respond: missing",
        "rules[12].respnd: unknown key",
    ]


def test_the_broken_specimen_is_broken_in_its_last_line_only() -> None:
    """A reader has one line to refuse and all others to keep."""
    lines = (HERE / BROKEN).read_text().splitlines()
    assert lines[:-1] == LINES[:-1]
    with pytest.raises(json.JSONDecodeError):
        json.loads(lines[-1])
    assert set(FILES) <= {file.name for file in HERE.iterdir()}
