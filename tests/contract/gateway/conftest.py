"""A running gateway: the real program, in a process of its own, on a Unix socket and a TCP port."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.fakes.bodies import lines_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROGRAM = Path(__file__).resolve().parents[3] / "images/gateway/gateway/main.py"


@dataclass
class RunningGateway:
    """A gateway that said that it is ready."""

    process: subprocess.Popen[str]
    folder: Path
    ready: dict[str, Any]

    @property
    def socket(self) -> str:
        return str(self.folder / "run/gateway.sock")

    @property
    def url(self) -> str:
        return f"http://{self.ready['tcp']}"

    def next_event(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        return dict(json.loads(self.process.stdout.readline()))

    def end(self) -> dict[str, Any]:
        """Ended by SIGTERM; returns what it said last."""
        self.process.send_signal(signal.SIGTERM)
        said = self.next_event()
        assert self.process.wait(20) == 0
        return said

    def lines(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "gateway" / name).read_text().splitlines()]

    def bodies(self) -> list[dict[str, Any]]:
        return lines_of((self.folder / "gateway/bodies.jsonl.zst").read_bytes())

    def exchanges(self) -> list[dict[str, Any]]:
        return self.lines("exchanges.jsonl")


def configuration(folder: Path, **changes: object) -> dict[str, object]:
    return {
        "format": "pairbench/gateway-config",
        "version": 1,
        "mode": "scripted",
        "socket": str(folder / "run/gateway.sock"),
        "evidence_dir": str(folder / "gateway"),
        "tokens": {"client": "client-token", "memory": "memory-token"},
        "policy": {"name": "plain-agent", "version": 1},
        "seed": "contract",
        "record_limit_bytes": 20_000_000,
        "request_limit": 100,
    } | changes


@pytest.fixture
def start() -> Iterator[Callable[..., RunningGateway]]:
    """Starts gateways, and ends those that still run."""
    started: list[RunningGateway] = []
    # A socket's path is short, and pytest's folders aren't.
    with tempfile.TemporaryDirectory(prefix="gw") as folder:

        def start_one(**changes: object) -> RunningGateway:
            place = Path(folder) / str(len(started))
            place.mkdir()
            config = place / "gateway.json"
            config.write_text(json.dumps(configuration(place, **changes)))
            process = subprocess.Popen(
                [sys.executable, str(PROGRAM), str(config), "--tcp", "127.0.0.1:0"],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            running = RunningGateway(process, place, {})
            running.ready = running.next_event()
            started.append(running)
            return running

        yield start_one
        for running in started:
            running.process.kill()
            running.process.communicate()


@pytest.fixture
def gateway(start: Callable[..., RunningGateway]) -> RunningGateway:
    """One gateway with ample limits."""
    return start()
