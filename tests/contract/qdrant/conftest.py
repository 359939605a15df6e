"""The clients that the Qdrant contract is checked with: the client library's own store, the sidecar, its container.

A test asks for `client` and gets each in turn. The container is tried where PAIRBENCH_QDRANT_IMAGE names its image.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from qdrant_client import QdrantClient
from testcontainers.core.container import DockerContainer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

MAIN = Path(__file__).parents[3] / "images" / "qdrant" / "sidecar" / "main.py"
PORT = 6333


@dataclass(frozen=True)
class Sidecar:
    """A sidecar that was started, and the file that its standard output goes to.

    A file and no pipe: a pipe that nobody reads would block the sidecar after some hundred requests.
    """

    process: subprocess.Popen[bytes]
    log: Path

    def events(self, kind: str) -> list[dict[str, Any]]:
        """The logged events of one kind, in order."""
        events = [json.loads(line) for line in self.log.read_text().splitlines(keepends=True) if line.endswith("\n")]
        return [event for event in events if event["event"] == kind]

    def ready(self) -> dict[str, Any]:
        """The event of readiness, once it is there.

        Raises:
            AssertionError: when the sidecar ended before.
        """
        while True:
            ended = self.process.poll()
            events = self.events("ready")
            if events:
                return events[0]
            assert ended is None, f"the sidecar ended with {ended}"

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """The status and JSON of one request's answer."""
        with closing(HTTPConnection("127.0.0.1", self.ready()["port"], timeout=30)) as connection:
            connection.request(method, path, None if body is None else json.dumps(body).encode())
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def stop(self) -> int:
        """The exit code after SIGTERM."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=30)


@contextmanager
def start_sidecar(storage: Path, log: Path, *more: str) -> Iterator[Sidecar]:
    """Yield a sidecar on a free port, which is killed if it hasn't ended by then."""
    port = () if "--port" in more else ("--port", "0")
    command = [sys.executable, str(MAIN), "serve", "--storage", str(storage), *port, *more]
    # Blocked signals stay pending in what is started, as they do for the first process of a container.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    with log.open("wb") as out, subprocess.Popen(command, stdout=out) as process:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        try:
            yield Sidecar(process, log)
        finally:
            process.kill()


@pytest.fixture
def sidecar(tmp_path: Path) -> Callable[..., AbstractContextManager[Sidecar]]:
    """Starts sidecars on the one storage of the test, each with a log of its own; takes further options."""
    numbers = count()

    def start(*more: str) -> AbstractContextManager[Sidecar]:
        return start_sidecar(tmp_path / "storage", tmp_path / f"log-{next(numbers)}", *more)

    return start


@contextmanager
def _memory(_request: pytest.FixtureRequest) -> Iterator[QdrantClient]:
    with closing(QdrantClient(":memory:")) as client:
        yield client


@contextmanager
def _sidecar(request: pytest.FixtureRequest) -> Iterator[QdrantClient]:
    folder = request.getfixturevalue("tmp_path_factory").mktemp("sidecar")
    with start_sidecar(folder / "storage", folder / "log") as sidecar:
        with closing(QdrantClient(url=f"http://127.0.0.1:{sidecar.ready()['port']}")) as client:
            yield client
        assert sidecar.stop() == 0


@contextmanager
def _container(request: pytest.FixtureRequest) -> Iterator[QdrantClient]:
    image = os.environ.get("PAIRBENCH_QDRANT_IMAGE")
    if not image:
        pytest.skip("PAIRBENCH_QDRANT_IMAGE doesn't name an image")
    network = request.getfixturevalue("published_network")
    container = (
        DockerContainer(image)
        .with_command(["--host", "0.0.0.0"])
        .with_exposed_ports(PORT)
        .with_kwargs(
            network=network,
            labels={"pairbench.test": str(os.getpid())},
            read_only=True,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
        )
        .with_tmpfs_mount("/qdrant/storage", "size=256m,uid=10003,gid=10003,mode=0700")
    )
    with container:
        with closing(container.get_wrapped_container().logs(stream=True, follow=True)) as log:
            assert any(b'"event":"ready"' in line for line in log)
        url = f"http://{container.get_container_host_ip()}:{container.get_exposed_port(PORT)}"
        with closing(QdrantClient(url=url)) as client:
            yield client


BACKENDS = {"memory": _memory, "sidecar": _sidecar, "container": _container}


@pytest.fixture(
    scope="session",
    params=["memory", "sidecar", pytest.param("container", marks=pytest.mark.docker)],
)
def client(request: pytest.FixtureRequest) -> Iterator[QdrantClient]:
    """A client of one backend, shared by all tests; each test has a collection of its own."""
    with BACKENDS[request.param](request) as opened:
        yield opened


@pytest.fixture
def name(request: pytest.FixtureRequest, client: QdrantClient) -> Iterator[str]:
    """The name of a collection that doesn't exist yet and is gone after the test."""
    chosen = "".join(character if character.isalnum() else "-" for character in request.node.name)
    yield chosen
    client.delete_collection(chosen)
