"""The golden files of the gateway are fresh, and both sides of the formats read them."""

from __future__ import annotations

import hashlib
import json

import pytest
from gateway.config import parse_config

from runner.core.evidence import Exchange
from runner.core.gateway import GatewayConfig
from tests.golden.exchange.make import BROKEN, FILES, HERE, made

LINES = (HERE / "exchanges.jsonl").read_text().splitlines()


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


@pytest.mark.parametrize("line", LINES, ids=range(1, len(LINES) + 1))
def test_the_host_reads_every_exchange(line: str) -> None:
    """Each line is an exchange as the runner knows it, and holds no key that it doesn't know."""
    exchange = Exchange.model_validate_json(line)
    assert exchange.model_dump(mode="json") == json.loads(line)


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


def test_digests_are_those_of_the_bodies() -> None:
    """Whoever has both files can check one with the other."""
    bodies = [json.loads(line) for line in (HERE / "bodies.jsonl").read_text().splitlines()]
    for line, kept in zip(LINES, bodies, strict=True):
        exchange = json.loads(line)
        for part in ("request", "response"):
            assert exchange[f"{part}_sha256"] == "sha256:" + hashlib.sha256(kept[part].encode()).hexdigest()


def test_the_broken_specimen_is_broken_in_its_last_line_only() -> None:
    """A reader has one line to refuse and all others to keep."""
    lines = (HERE / BROKEN).read_text().splitlines()
    assert lines[:-1] == LINES[:-1]
    with pytest.raises(json.JSONDecodeError):
        json.loads(lines[-1])
    assert set(FILES) <= {file.name for file in HERE.iterdir()}
