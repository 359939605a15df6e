"""Threat: whoever can write where evidence is kept leaves links, devices, pipes, holes, odd names, very many files or very
large ones, to reach the host, to fill it, or to put words into the ledger.
"""

from __future__ import annotations

import os
import uuid
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from runner.adapters.docker_engine import DockerEngine
from runner.core.ledger import GENESIS, next_line
from runner.execute.pod import Pod
from runner.ports.engine import Entry
from tests.fakes.engine import FakeEngine
from tests.fakes.orders import order, planned, pod_engine
from tests.fakes.pods import Pods, client

if TYPE_CHECKING:
    from collections.abc import Iterator

    import docker

    from runner.execute.pod import Collected

ODD = "pod/out/\udcff\n{}\x1b[2J"


@dataclass
class Hostile(FakeEngine):
    """An engine whose stream of the pod ends with entries of a test's choice."""

    entries: tuple[Entry, ...] = ()

    def read_tree(self, container: str, path: str, limit_bytes: int) -> Iterator[Entry]:
        yield from super().read_tree(container, path, limit_bytes)
        yield from self.entries


def collected(*entries: Entry) -> Collected:
    """What is collected of an attempt that went well, and of `entries` besides."""
    pods = Pods()
    pods.roles["trial"] = client(b"an answer\n")
    engine = pod_engine(pods)
    engine = Hostile(**{**engine.__dict__, "entries": entries})
    pod = Pod(engine, engine.clock, order(planned()))
    pod.prepare()
    pod.run()
    found = pod.collect()
    pod.dispose()
    return found


@pytest.mark.parametrize(
    ("name", "detail"),
    [
        ("pod/out/link", "tar entry type b'2'"),
        ("pod/out/hard", "tar entry type b'1'"),
        ("pod/out/disk", "tar entry type b'4'"),
        ("pod/out/hole", "tar entry type b'S'"),
    ],
)
def test_what_is_no_file_is_refused_and_named(name: str, detail: str) -> None:
    """Nothing of it is followed, opened or kept."""
    found = collected(Entry(name, "other", None, detail))
    assert found.refused == (f"{name}: {detail}",)
    assert b"an answer\n" in found.files.values()


@pytest.mark.parametrize("name", ["/etc/passwd", "pod/../../etc/passwd", "../exit.json", "pod/out/../exit.json", ""])
def test_a_name_leads_nowhere(name: str) -> None:
    """Only names of the contract become files, and those under names of ours."""
    found = collected(Entry(name, "file", b"forged"))
    assert b"forged" not in found.files.values()
    assert found.refused == (f"{name}: not a file that the pod's contract knows, or one that stands twice",)
    assert all("/" not in kept for kept in found.files)


@pytest.mark.parametrize("name", ["pod/out/stdout.jsonl", "pod/out/exit.json", "pod/gateway/exchanges.jsonl"])
def test_a_second_file_of_one_name_replaces_nothing(name: str) -> None:
    """The first one stays, and the other is refused by name."""
    found = collected(Entry(name, "file", b"forged"))
    assert b"forged" not in found.files.values()
    assert len(found.refused) == 1


def test_very_many_files_are_counted_and_not_listed() -> None:
    """What the ledger keeps of them is bounded."""
    found = collected(*(Entry(f"pod/out/{number}", "file", b"") for number in range(100_000)))
    assert len(found.refused) == 21
    assert found.refused[-1] == "and 99980 further entries"


def test_a_name_is_data_of_any_shape() -> None:
    """Bytes that are no text, control characters and great length stay inside one text that can be written."""
    found = collected(Entry(ODD, "file", b""), Entry("pod/out/" + "n" * 4000, "file", b""))
    assert [len(text) < 300 for text in found.refused] == [True, True]
    detail = {f"refused {number}": text for number, text in enumerate(found.refused, 1)}
    line, _ = next_line(GENESIS, seq=1, at="2026-01-02T03:04:05Z", kind="attempt_ended", detail=detail)
    assert line.count(b"\n") == 1
    assert b"\x1b" not in line


# As root, with every right that a container has by default: worse than any client.
MAKES_EVERYTHING = r"""
import os, socket, stat
os.chdir('/out')
open('file', 'wb').write(b'kept')
os.symlink('/etc/shadow', 'absolute-link')
os.symlink('../../../../etc/passwd', 'relative-link')
os.link('file', 'hard-link')
os.mkfifo('pipe')
os.mknod('disk', stat.S_IFBLK | 0o666, os.makedev(8, 0))
socket.socket(socket.AF_UNIX).bind('socket')
open(b'odd-\xff\n\x1b', 'wb').close()
os.mkdir('deep')
os.mkdir('deep/..hidden')
open('deep/..hidden/...', 'wb').close()
for number in range(2000):
    open(f'many-{number}', 'wb').close()
"""
MAKES_A_HOLE = "f = open('/out/hole', 'wb'); f.truncate(1 << 40); f.close()"


@pytest.mark.docker
def test_a_real_engine_gives_nothing_but_plain_files(
    engine: docker.DockerClient, engine_address: str, image: str
) -> None:
    """Links aren't followed, devices aren't read; odd names come as they are."""
    with ExitStack() as cleanup:
        container = tree(engine, image, MAKES_EVERYTHING, cleanup)
        found = {entry.name: entry for entry in DockerEngine(engine_address).read_tree(container, "/out", 64 << 20)}
    files = {name.removeprefix("out/"): entry.data for name, entry in found.items() if entry.data is not None}
    others = {name.removeprefix("out/") for name, entry in found.items() if entry.kind == "other"}
    assert {name: data for name, data in files.items() if data} in ({"file": b"kept"}, {"hard-link": b"kept"})
    assert others >= {"absolute-link", "relative-link", "pipe", "disk"}
    assert len(others & {"file", "hard-link"}) == 1
    assert sum(name.startswith("many-") for name in files) == 2000
    assert any(name.startswith("odd-") for name in files)


@pytest.mark.docker
def test_a_hole_of_a_terabyte_ends_at_the_limit(engine: docker.DockerClient, engine_address: str, image: str) -> None:
    """What was read before it is kept, and nobody waits for zeros."""
    with ExitStack() as cleanup:
        container = tree(engine, image, MAKES_A_HOLE, cleanup)
        *_, last = DockerEngine(engine_address).read_tree(container, "/out", 1 << 20)
    assert last == Entry("/out", "other", None, "more than 1048576 bytes: nothing further was read")


@pytest.fixture
def image() -> str:
    """An image with Python."""
    name = os.environ.get("PAIRBENCH_GATEWAY_IMAGE", "")
    if not name:
        pytest.skip("PAIRBENCH_GATEWAY_IMAGE doesn't name an image")
    return name


def tree(engine: docker.DockerClient, image: str, script: str, cleanup: ExitStack) -> str:
    """The id of a container in whose `/out` the script has run."""
    labels = {"pairbench.test": uuid.uuid4().hex}
    volume = engine.volumes.create(f"pairbench-test-{uuid.uuid4().hex}", labels=labels)
    cleanup.callback(volume.remove)
    container = engine.containers.create(
        image,
        command=[],
        entrypoint=["python3", "-c", script],
        user="0",
        network_mode="none",
        labels=labels,
        volumes={str(volume.name): {"bind": "/out"}},
    )
    cleanup.callback(container.remove, force=True)
    container.start()
    assert container.wait(timeout=60)["StatusCode"] == 0, container.logs()
    return str(container.id)
