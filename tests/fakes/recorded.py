"""Clients and gateways in memory of a run that is recorded, and of one that plays a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runner.core.prices import FIXTURE_MODEL
from tests.fakes.attempts import exchange, lines
from tests.fakes.bodies import packed
from tests.fakes.engine import Hang
from tests.fakes.pods import leave

if TYPE_CHECKING:
    from tests.fakes.engine import Behaviour, Box, Script

SEEN = {
    "model_asked": "m",
    "model_resolved": "m",
    "stop_reason": "end_turn",
    "streamed": False,
    "usage": {
        "input_tokens": 5,
        "output_tokens": 2,
        "cache_read_input_tokens": 0,
        "cache_write_5m_input_tokens": 0,
        "cache_write_1h_input_tokens": 0,
    },
    "details": None,
}


def recording(seq: int) -> dict[str, Any]:
    """A line of `recording.jsonl` whose answer is `hello`."""
    return {
        "format": "pairbench/recording",
        "version": 1,
        "seq": seq,
        "key": f"sha256:{seq:064x}",
        "parts": {"path": "sha256:0"},
        "status": 200,
        "headers": [["content-type", "text/plain"]],
        "length_bytes": 5,
        "head_us": 10,
        "piece_bytes": [5],
        "piece_us": [3],
        "ended": "whole",
        "seen": SEEN,
    }


def recorded(model: str = FIXTURE_MODEL, *, recording_lost: bool = False) -> Behaviour:
    """A command that asks its model once, which calls itself `model`, and whose exchange is recorded or got lost."""

    def run(box: Box) -> int:
        _asked(box, model)
        box.write("/pod/gateway/recording.jsonl", b"" if recording_lost else lines(recording(1)))
        return 0

    return run


def played(model: str = FIXTURE_MODEL) -> Behaviour:
    """The same command, when a cassette answers."""

    def run(box: Box) -> int:
        _asked(box, model)
        document = {"format": "pairbench/replayed", "version": 1, "entries": 1, "unasked": 0, "first_unasked": []}
        box.write("/pod/gateway/replayed.json", lines(document))
        return 0

    return run


def _asked(box: Box, model: str) -> None:
    box.write("/pod/gateway/exchanges.jsonl", lines(exchange(1, model_resolved=model)))
    box.write("/pod/gateway/bodies.jsonl.zst", packed({"seq": 1, "request": "", "response": "hello"}))
    leave(box, b"hello\n")


def keyed_gateway(box: Box) -> Script:
    """A gateway that takes a provider's key."""
    box.tell("ready")
    while True:
        box.tell("keyed" if (yield Hang()) == "SIGUSR2" else "sealed")
