"""The rule that finds a container engine."""

from __future__ import annotations

import hashlib
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

import pytest

from runner.adapters.engine_address import Candidate, candidates, fault_of, find_engine_address, main

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

DEFAULT = Candidate("unix:///var/run/docker.sock", "default socket")


def answering(*addresses: str) -> Callable[[str, Mapping[str, str]], str]:
    return lambda address, _: "" if address in addresses else "no such file"


def private(cache: Path, address: str = "unix:///c/engine/docker.sock") -> None:
    (cache / "engine").mkdir(parents=True)
    (cache / "engine" / "docker-host").write_text(address + "\n", encoding="utf-8")


def context(folder: Path, name: str, host: str) -> None:
    meta = folder / "contexts" / "meta" / hashlib.sha256(name.encode()).hexdigest()
    meta.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"currentContext": name}), encoding="utf-8")
    (meta / "meta.json").write_text(json.dumps({"Endpoints": {"docker": {"Host": host}}}), encoding="utf-8")


def test_docker_host_is_taken_without_asking_it(tmp_path: Path) -> None:
    """Whoever sets DOCKER_HOST is never sent to another engine, even when theirs is down."""
    private(tmp_path)
    environ = {"DOCKER_HOST": "tcp://10.0.0.9:2375"}
    assert find_engine_address(environ, tmp_path, answering(DEFAULT.address)) == "tcp://10.0.0.9:2375"


def test_an_empty_docker_host_is_none(tmp_path: Path) -> None:
    """Docker's own programs read an empty variable as an absent one."""
    environ = {"DOCKER_HOST": ""}
    assert find_engine_address(environ, tmp_path, answering(DEFAULT.address)) == "unix:///var/run/docker.sock"


def test_the_default_socket_comes_before_the_private_engine(tmp_path: Path) -> None:
    """An engine of the machine is preferred to a private one."""
    private(tmp_path)
    probe = answering(DEFAULT.address, "unix:///c/engine/docker.sock")
    assert find_engine_address({}, tmp_path, probe) == "unix:///var/run/docker.sock"


def test_the_private_engine_serves_where_no_other_answers(tmp_path: Path) -> None:
    """The address that `make engine` wrote is used when the default socket is dead."""
    private(tmp_path)
    assert find_engine_address({}, tmp_path, answering("unix:///c/engine/docker.sock")) == (
        "unix:///c/engine/docker.sock"
    )


def test_no_engine_is_none(tmp_path: Path) -> None:
    """A private engine that died leaves its address behind; it isn't handed out."""
    private(tmp_path)
    assert find_engine_address({}, tmp_path, answering()) is None


def test_private_only_passes_over_every_other_engine(tmp_path: Path) -> None:
    """PAIRBENCH_ENGINE=private isolates a checkout from the engines of its machine."""
    private(tmp_path)
    environ = {"PAIRBENCH_ENGINE": "private", "DOCKER_HOST": "unix:///other.sock"}
    assert list(candidates(environ, tmp_path)) == [
        Candidate("unix:///c/engine/docker.sock", str(tmp_path / "engine" / "docker-host"))
    ]
    probe = answering("unix:///other.sock", DEFAULT.address)
    assert find_engine_address(environ, tmp_path, probe) is None


def test_the_docker_context_comes_first(tmp_path: Path) -> None:
    """The context that the Docker client would use is asked before the default socket, the rootless one after it."""
    context(tmp_path, "lab", "unix:///lab.sock")
    environ = {"DOCKER_CONFIG": str(tmp_path), "XDG_RUNTIME_DIR": "/run/user/7"}
    assert list(candidates(environ, tmp_path)) == [
        Candidate("unix:///lab.sock", "Docker context 'lab'"),
        DEFAULT,
        Candidate("unix:///run/user/7/docker.sock", "rootless socket"),
    ]


def test_docker_context_variable_wins_over_the_configuration(tmp_path: Path) -> None:
    """DOCKER_CONTEXT=default leads back to the default socket."""
    context(tmp_path, "lab", "unix:///lab.sock")
    environ = {"DOCKER_CONFIG": str(tmp_path), "DOCKER_CONTEXT": "default"}
    assert list(candidates(environ, tmp_path)) == [DEFAULT]


@pytest.mark.parametrize("content", ["{", "[]", '{"currentContext": 3}', '{"currentContext": "gone"}'])
def test_a_broken_docker_configuration_is_passed_over(tmp_path: Path, content: str) -> None:
    """Docker's configuration isn't ours to judge: unreadable, it only names no engine."""
    (tmp_path / "config.json").write_text(content, encoding="utf-8")
    assert list(candidates({"DOCKER_CONFIG": str(tmp_path)}, tmp_path)) == [DEFAULT]


class _Server(BaseHTTPRequestHandler):
    headers_of_engine = True

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/_ping" else 404)
        if self.headers_of_engine:
            self.send_header("Api-Version", "1.41")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"OK")

    def log_message(self, *args: object) -> None:
        del args


class _Foreign(_Server):
    headers_of_engine = False


class _UnixServer(HTTPServer):
    address_family = socket.AF_UNIX

    def server_bind(self) -> None:
        self.socket.bind(self.server_address)

    def get_request(self) -> tuple[socket.socket, tuple[str, int]]:
        connection, _ = self.socket.accept()
        return connection, ("local", 0)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[[type[BaseHTTPRequestHandler]], str]]:
    servers: list[tuple[_UnixServer, threading.Thread]] = []

    def start(handler: type[BaseHTTPRequestHandler]) -> str:
        path = str(tmp_path / f"s{len(servers)}")
        server = _UnixServer(path, handler)  # type: ignore[arg-type]  # typeshed knows of TCP addresses only
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        servers.append((server, thread))
        return f"unix://{path}"

    yield start
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()


def test_an_engine_is_known_by_its_ping(serve: Callable[[type[BaseHTTPRequestHandler]], str]) -> None:
    """Something that answers without naming an API version is no engine."""
    assert fault_of(serve(_Server), {}) == ""
    assert fault_of(serve(_Foreign), {}) == "answers 200, not as a container engine"


@pytest.mark.parametrize(
    ("address", "fault"),
    [
        ("unix:///nowhere/docker.sock", "No such file or directory"),
        ("tcp://127.0.0.1:1", "Connection refused"),
        ("/var/run/docker.sock", "not an address of a container engine: '/var/run/docker.sock'"),
        ("npipe:////./pipe/docker", "not an address of a container engine: 'npipe:////./pipe/docker'"),
    ],
)
def test_a_fault_says_what_is_wrong(address: str, fault: str) -> None:
    """The reason is short enough to stand beside the address."""
    assert fault_of(address, {}) == fault


def test_tls_without_certificates_is_a_fault(tmp_path: Path) -> None:
    """Missing certificates are a reason, not a crash."""
    environ = {"DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": str(tmp_path)}
    assert "No such file" in fault_of("tcp://127.0.0.1:1", environ)


def test_the_program_prints_the_address_that_answers(
    serve: Callable[[type[BaseHTTPRequestHandler]], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`make engine` reads the address from standard output."""
    address = serve(_Server)
    monkeypatch.setenv("DOCKER_HOST", address)
    assert main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{address}\n"


def test_the_program_says_what_it_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without an engine it ends 3, prints no address, and gives a reason for each candidate."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    assert main([str(tmp_path)]) == 3
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "  unix:///nowhere/docker.sock (DOCKER_HOST): No such file or directory\n"
