"""How the gateway starts, seals and ends."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import httpx
import pytest

from .conftest import PROGRAM, configuration

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import RunningGateway

BODY = {"model": "m", "max_tokens": 500, "messages": [{"role": "user", "content": "Where is `x_y`?"}]}
HEADERS = {"x-api-key": "client-token"}


def run(*arguments: str) -> tuple[int, dict[str, object]]:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *arguments], capture_output=True, text=True, timeout=20, check=False
    )
    return done.returncode, json.loads(done.stdout)


def test_the_ready_line_says_what_plays_the_model(gateway: RunningGateway) -> None:
    """Whoever follows the log learns that no real model stands behind this gateway."""
    assert gateway.ready == {
        "event": "ready",
        "mode": "scripted",
        "socket": gateway.socket,
        "tcp": gateway.ready["tcp"],
        "model": "scripted-policy (fixture)",
        "policy": "plain-agent 1",
        "usage_rule": "byte-quarter-1",
    }


def test_nobody_else_may_reach_socket_and_evidence(gateway: RunningGateway) -> None:
    """The socket is for owner and group, its directory too, the evidence for the owner alone."""
    modes = {
        name: stat.S_IMODE(os.stat(gateway.folder / name).st_mode)
        for name in ("run/gateway.sock", "run", "gateway", "gateway/exchanges.jsonl", "gateway/bodies.jsonl.zst")
    }
    assert modes == {
        "run/gateway.sock": 0o660,
        "run": 0o750,
        "gateway": 0o700,
        "gateway/exchanges.jsonl": 0o600,
        "gateway/bodies.jsonl.zst": 0o600,
    }


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files to a group that it isn't in")
def test_the_supervisor_s_group_gets_the_socket(gateway: RunningGateway) -> None:
    """The pod's contract names the group."""
    assert os.stat(gateway.socket).st_gid == 10001
    assert os.stat(gateway.folder / "run").st_gid == 10001


def test_a_socket_left_behind_is_replaced(start: Callable[..., RunningGateway], tmp_path: Path) -> None:
    """A gateway that was killed doesn't keep the next one from starting."""
    first = start()
    first.process.kill()
    first.process.wait()
    assert os.path.exists(first.socket)
    assert start(socket=first.socket, evidence_dir=str(tmp_path / "new")).ready["event"] == "ready"


def test_sigterm_ends_it_with_everything_recorded(gateway: RunningGateway) -> None:
    """Exit code 0, no socket left, and idle connections don't hold it up."""
    with httpx.Client(base_url=gateway.url) as kept_alive:
        assert kept_alive.post("/v1/messages", json=BODY, headers=HEADERS).status_code == 200
        assert gateway.end()["exchanges"] == 1
    assert not os.path.exists(gateway.socket)
    assert gateway.exchanges()[0]["status"] == 200


@pytest.mark.slow
def test_a_request_under_way_is_recorded_when_it_ends(gateway: RunningGateway) -> None:
    """A client that never finishes its request leaves a line that says that it got no answer."""
    host, port = gateway.ready["tcp"].split(":")
    with socket.create_connection((host, int(port))) as client:
        client.sendall(b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 100 ")
        client.sendall(b"half")
        assert gateway.end()["exchanges"] == 1
    (line,) = gateway.exchanges()
    assert (line["status"], line["cut"], line["first_byte_ns"]) == (None, True, None)
    assert line["usage"] == {"unavailable": "no answer was made"}


def test_sigusr1_seals_the_evidence_and_keeps_the_volume(gateway: RunningGateway) -> None:
    """After `sealed` nothing is answered or written; the process waits for SIGTERM."""
    with httpx.Client(base_url=gateway.url) as client:
        client.post("/v1/messages", json=BODY, headers=HEADERS)
    gateway.process.send_signal(signal.SIGUSR1)
    assert gateway.next_event() == {
        "event": "sealed",
        "exchanges": 1,
        "unrecorded": 0,
        "record_limit_reached": False,
        "evidence_lost": False,
    }
    host, port = gateway.ready["tcp"].split(":")
    with pytest.raises(ConnectionRefusedError):
        http.client.HTTPConnection(host, int(port)).connect()
    assert gateway.process.poll() is None
    assert gateway.end()["event"] == "stopped"


def test_a_wrong_configuration_is_refused_with_all_problems(tmp_path: Path) -> None:
    """Exit code 2 and one JSON line, before anything is created."""
    config = tmp_path / "gateway.json"
    config.write_text(json.dumps(configuration(tmp_path, mode="dead", request_limit=0)))
    assert run(str(config)) == (
        2,
        {
            "event": "refused",
            "document": str(config),
            "problems": [
                "mode must be one of: scripted, live, record, replay, none",
                "request_limit must be a positive integer",
            ],
        },
    )
    assert not (tmp_path / "gateway").exists()


@pytest.mark.parametrize("arguments", [[], ["a", "b"], ["a", "--tcp", "no-port"], ["a", "--tcp", ":1"], ["/missing"]])
def test_wrong_arguments_are_refused(arguments: list[str]) -> None:
    """Exit code 2 and one line that says why."""
    code, said = run(*arguments)
    assert (code, said["event"]) == (2, "refused")


def test_evidence_of_another_attempt_stops_the_start(gateway: RunningGateway, tmp_path: Path) -> None:
    """A directory that holds evidence is never written again: exit code 3."""
    config = tmp_path / "again.json"
    config.write_text(json.dumps(configuration(gateway.folder, socket=str(tmp_path / "s"))))
    code, said = run(str(config))
    assert (code, said["event"]) == (3, "failed")
