"""The clients that the Qdrant contract is checked with: the client library's own store, the sidecar, its container.

A test asks for `client` and gets each in turn. The container is tried where PAIRBENCH_QDRANT_IMAGE names its image.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from qdrant_client import QdrantClient
from testcontainers.core.container import DockerContainer

if TYPE_CHECKING:
    from collections.abc import Iterator

MAIN = Path(__file__).parents[3] / "images" / "qdrant" / "sidecar" / "main.py"
PORT = 6333


@contextmanager
def _memory(_request: pytest.FixtureRequest) -> Iterator[QdrantClient]:
    with closing(QdrantClient(":memory:")) as client:
        yield client


@contextmanager
def _sidecar(request: pytest.FixtureRequest) -> Iterator[QdrantClient]:
    factory: pytest.TempPathFactory = request.getfixturevalue("tmp_path_factory")
    log = factory.mktemp("sidecar-log") / "stdout"
    storage = factory.mktemp("sidecar-storage")
    command = [sys.executable, str(MAIN), "serve", "--storage", str(storage), "--port", "0"]
    # The log goes to a file: a pipe that nobody reads would block the sidecar after some hundred requests.
    with log.open("w+") as out, subprocess.Popen(command, stdout=out) as process:
        try:
            with closing(QdrantClient(url=f"http://127.0.0.1:{_announced_port(process, log)}")) as client:
                yield client
        finally:
            process.kill()


def _announced_port(process: subprocess.Popen[bytes], log: Path) -> int:
    while process.poll() is None:
        first, newline, _ = log.read_text().partition("\n")
        if newline:
            return int(json.loads(first)["port"])
    raise AssertionError(f"the sidecar ended with {process.returncode}")


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
            tmpfs={"/qdrant/storage": "size=256m,uid=10003,gid=10003,mode=0700"},
        )
    )
    with container:
        process = container.get_wrapped_container()
        for line in process.logs(stream=True, follow=True):
            if b'"ready"' in line:
                break
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
