"""The configuration of a gateway: all problems at once, no secret in a representation."""

from __future__ import annotations

import json
from typing import Any

import pytest
from gateway.config import ConfigError, parse_config

GOOD: dict[str, Any] = {
    "format": "pairbench/gateway-config",
    "version": 1,
    "mode": "scripted",
    "socket": "/pod/run/gateway.sock",
    "evidence_dir": "/pod/gateway",
    "tokens": {"client": "c-1", "memory": "m-1"},
    "policy": {"name": "plain-agent", "version": 1},
    "seed": "seed",
    "record_limit_bytes": 1000,
    "request_limit": 3,
}


def test_a_complete_configuration_is_taken() -> None:
    """Every declared value arrives."""
    config = parse_config(json.dumps(GOOD))
    assert (config.mode, config.socket, config.request_limit) == ("scripted", "/pod/run/gateway.sock", 3)
    assert config.tokens["memory"].value == b"m-1"


def test_tokens_do_not_show() -> None:
    """A configuration that lands in a log gives no secret away."""
    assert "c-1" not in repr(parse_config(json.dumps(GOOD)).tokens)


def test_all_problems_are_named_at_once() -> None:
    """One run of the gateway tells everything that is wrong with its configuration."""
    wrong = GOOD | {"mode": "dead", "socket": "relative", "request_limit": 0, "extra": 1}
    del wrong["seed"]
    with pytest.raises(ConfigError) as caught:
        parse_config(json.dumps(wrong))
    assert caught.value.problems == [
        "missing key seed",
        "unknown key extra",
        "mode must be one of: scripted, live, record, replay, none",
        "socket must be an absolute path",
        "request_limit must be a positive integer",
    ]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"version": 2}, "format and version must be pairbench/gateway-config 1"),
        ({"socket": "/" + "s" * 107}, "socket must be at most 107 bytes long"),
        ({"evidence_dir": "/pod\0"}, "evidence_dir must be an absolute path"),
        ({"tokens": {"client": "c"}}, "tokens must have exactly the keys: client, memory"),
        ({"tokens": {"client": "c", "memory": ""}}, "tokens must be printable ASCII text and not empty"),
        ({"tokens": {"client": "c", "memory": "ü"}}, "tokens must be printable ASCII text and not empty"),
        ({"tokens": {"client": "c", "memory": "c"}}, "tokens must differ from one another"),
        ({"policy": {"name": "plain-agent", "version": 9}}, "policy must be one of: plain-agent 1, script 1"),
        ({"policy": "plain-agent"}, "policy must have exactly the keys: name, version"),
        ({"record_limit_bytes": True}, "record_limit_bytes must be a positive integer"),
        ({"seed": 1}, "seed must be text"),
        ({"bodies": True}, "bodies must be one of: kept, left_out"),
        (
            {"bodies": "left_out", "recording": True},
            "bodies can't be left_out of a recording, which plays them again",
        ),
    ],
)
def test_each_wrong_value_has_its_message(change: dict[str, Any], problem: str) -> None:
    """A message names the key and what it must be."""
    with pytest.raises(ConfigError) as caught:
        parse_config(json.dumps(GOOD | change))
    assert caught.value.problems == [problem]


@pytest.mark.parametrize(
    ("text", "start"), [("{", "not JSON"), ("[]", "not a JSON object"), ("[" * 100_000, "not JSON")]
)
def test_what_is_no_object_is_refused(text: str, start: str) -> None:
    """Text that holds no configuration is one problem, not a traceback."""
    with pytest.raises(ConfigError, match=f"^{start}"):
        parse_config(text)
