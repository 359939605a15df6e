"""The registries that the contract is checked with: one in memory, and Debian's docker-registry on loopback.

The real one is the machine's own program, or the one that `scripts/registry.sh` unpacked below the cache; it stores in a
folder of the test's, listens on a port that was free, and is ended by its process.
"""

from __future__ import annotations

import http.client
import socket
import subprocess
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from runner.adapters.registry import HttpRepository
from runner.ports.registry import Place
from tests.fakes.registry import MemoryRegistry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from runner.ports.registry import Repository

START_S = 30.0


@dataclass(frozen=True)
class RealRegistry:
    """A running docker-registry, and the folder that it stores in."""

    host: str
    folder: Path

    def blob_file(self, digest: str) -> Path:
        """Where it keeps a blob or a manifest."""
        hexadecimal = digest.removeprefix("sha256:")
        return self.folder / f"docker/registry/v2/blobs/sha256/{hexadecimal[:2]}/{hexadecimal}/data"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
    return port


def answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/v2/")
        return connection.getresponse().status == http.HTTPStatus.OK
    except OSError:
        return False
    finally:
        connection.close()


@pytest.fixture(scope="session")
def real_registry(registry_program: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealRegistry]:
    """A docker-registry of this session. For tests marked `registry`."""
    folder, port = tmp_path_factory.mktemp("registry"), free_port()
    configuration = folder / "config.yml"
    configuration.write_text(
        "version: 0.1\nlog: {level: warn}\n"
        f"storage: {{filesystem: {{rootdirectory: {folder / 'data'}}}}}\n"
        f'http: {{addr: "127.0.0.1:{port}"}}\n',
        encoding="utf-8",
    )
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [registry_program, "serve", str(configuration)], stdout=log, stderr=log, stdin=subprocess.DEVNULL
        )
        try:
            deadline = time.monotonic() + START_S
            while not answers(port):
                if process.poll() is not None or time.monotonic() > deadline:
                    pytest.fail(f"docker-registry didn't start: {(folder / 'log').read_text('utf-8')}")
            yield RealRegistry(f"127.0.0.1:{port}", folder / "data")
        finally:
            process.terminate()
            process.wait()


@pytest.fixture(params=["memory", pytest.param("docker-registry", marks=pytest.mark.registry)])
def repositories(request: pytest.FixtureRequest) -> Iterator[Callable[[str], Repository]]:
    """Repositories of one registry by their names, below a name of the test's own."""
    with ExitStack() as opened:
        if request.param == "memory":
            registry = MemoryRegistry()
            yield lambda name: registry.repository(Place("127.0.0.1:5000", name))
            return
        real: RealRegistry = request.getfixturevalue("real_registry")
        own = request.node.name.partition("[")[0].replace("_", "-")

        def repository(name: str) -> Repository:
            place = Place(real.host, f"{own}/{name}")
            return opened.enter_context(closing(HttpRepository(place, lambda _host: None, plain_http=False)))

        yield repository
