"""The launch specification is checked whole before anything starts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from supervisor import launch

GOOD: dict[str, Any] = {
    "format": "pairbench/launch",
    "version": 1,
    "argv": ["/opt/claude/claude", "-p", "Wo liegt „x“?\n"],
    "env": {"HOME": "/home/agent", "EMPTY": ""},
    "cwd": "/workspace",
    "uid": 10002,
    "gid": 10002,
    "deadline_ms": 60000,
    "grace_ms": 0,
    "stdout_limit_bytes": 0,
    "stderr_limit_bytes": 1048576,
    "forward": {"listen_port": 8787, "socket": "/pod/run/gateway.sock"},
    "ready": {"timeout_ms": 15000, "http": ["http://127.0.0.1:6333/readyz"]},
}


def parse(**changes: Any) -> launch.Launch:
    return launch.parse(json.dumps({**GOOD, **changes}).encode())


def test_a_specification_is_read_as_it_is_written() -> None:
    """Every key arrives unchanged."""
    assert parse() == launch.Launch(
        argv=("/opt/claude/claude", "-p", "Wo liegt „x“?\n"),
        env={"HOME": "/home/agent", "EMPTY": ""},
        cwd="/workspace",
        uid=10002,
        gid=10002,
        deadline_ms=60000,
        grace_ms=0,
        stdout_limit_bytes=0,
        stderr_limit_bytes=1048576,
        forward=launch.Forward(8787, "/pod/run/gateway.sock"),
        ready=launch.Ready(15000, ("http://127.0.0.1:6333/readyz",)),
    )


def test_standard_input_may_be_a_file_or_nothing() -> None:
    """Null means what leaving it out means."""
    assert parse(stdin="/in/prompt.txt").stdin == "/in/prompt.txt"
    assert parse(stdin=None).stdin is None


def test_forwarding_may_be_left_out_by_null() -> None:
    """Null means that nothing is forwarded."""
    assert parse(forward=None).forward is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 2}, "expected pairbench/launch 1, found 'pairbench/launch' 2"),
        ({"version": True}, "expected pairbench/launch 1"),
        ({"format": "pairbench/exit"}, "expected pairbench/launch 1"),
        ({"color": 1}, "unknown keys ['color']"),
        ({"argv": []}, "argv: expected a command"),
        ({"argv": [""]}, "argv: expected a command"),
        ({"argv": "ls"}, "argv: expected a list"),
        ({"argv": ["a\0b"]}, "argv[0]: expected text without NUL"),
        ({"argv": ["ls", "\ud800"]}, "argv[1]: expected text without NUL"),
        ({"argv": ["ls", 3]}, "argv[1]: expected text without NUL"),
        ({"env": []}, "env: expected an object"),
        ({"env": {"A=B": "c"}}, "env: 'A=B' can't name a variable"),
        ({"env": {"": "c"}}, "env: '' can't name a variable"),
        ({"env": {"A": 1}}, "env.A: expected text without NUL"),
        ({"cwd": "workspace"}, "cwd: expected an absolute path, found 'workspace'"),
        ({"stdin": "prompt.txt"}, "stdin: expected an absolute path, found 'prompt.txt'"),
        ({"uid": 0}, "uid: expected a whole number from 1"),
        ({"gid": True}, "gid: expected a whole number from 1"),
        ({"deadline_ms": 0}, "deadline_ms: expected a whole number from 1"),
        ({"deadline_ms": 1.5}, "deadline_ms: expected a whole number from 1"),
        ({"deadline_ms": 10**400}, "deadline_ms: expected a whole number from 1"),
        ({"grace_ms": -1}, "grace_ms: expected a whole number from 0"),
        ({"stdout_limit_bytes": None}, "stdout_limit_bytes: expected a whole number from 0"),
        ({"forward": {"listen_port": 8787}}, "forward: unknown keys [], missing keys ['socket']"),
        ({"forward": {"listen_port": 65536, "socket": "/s"}}, "forward.listen_port: expected a whole number from 1"),
        ({"forward": {"listen_port": 1, "socket": "s"}}, "forward.socket: expected an absolute path"),
        ({"ready": {"timeout_ms": 1}}, "ready: unknown keys [], missing keys ['http']"),
        ({"ready": {"timeout_ms": 1, "http": ["https://a:1/"]}}, "expected http://host:port/path"),
        ({"ready": {"timeout_ms": 1, "http": ["http://a/"]}}, "expected http://host:port/path"),
        ({"ready": {"timeout_ms": 1, "http": ["http://a:0/"]}}, "expected http://host:port/path"),
        ({"ready": {"timeout_ms": 1, "http": ["http://a:1/ HTTP/1.1"]}}, "expected http://host:port/path"),
        ({"ready": {"timeout_ms": 1, "http": ["http://a:1/\r\nX: y"]}}, "expected http://host:port/path"),
    ],
)
def test_whatever_could_not_be_obeyed_is_refused(changes: dict[str, Any], message: str) -> None:
    """The message names the key."""
    with pytest.raises(launch.LaunchError) as caught:
        parse(**changes)
    assert message in str(caught.value)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_object_is_refused(data: bytes) -> None:
    """Bytes of any kind end in the same kind of error."""
    with pytest.raises(launch.LaunchError):
        launch.parse(data)


def test_a_missing_key_is_named() -> None:
    """No key has a silent default."""
    document = {key: value for key, value in GOOD.items() if key != "grace_ms"}
    with pytest.raises(launch.LaunchError, match=r"missing keys \['grace_ms'\]"):
        launch.parse(json.dumps(document).encode())


def test_an_address_is_split_into_host_port_and_path() -> None:
    """A path that is left out is the root."""
    assert launch.split_url("http://127.0.0.1:6333/readyz?x=1") == ("127.0.0.1", 6333, "/readyz?x=1")
    assert launch.split_url("http://localhost:80") == ("localhost", 80, "/")
