"""Archives of images on real engines: what comes out is what was built, for our program and for an engine by itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from contextlib import closing
from typing import TYPE_CHECKING, Any

import docker
import pytest

from runner.adapters.engine_address import find_engine_address
from tests.docker.conftest import ROOT, Program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.docker, pytest.mark.daemon, pytest.mark.slow]

PRIVATE = {"PAIRBENCH_ENGINE": "private"}
ANSWER_S = 600


@pytest.fixture(scope="module")
def archived(pairbench: Program) -> dict[str, Any]:
    """The gateway's image and the one that runs the program, in parts, and what the command said of them."""
    found: dict[str, Any] = pairbench.json(
        "images", "archive", "gateway", "runner", "--out", pairbench.folder / "images.pairbench", "--split", "40MB"
    )
    return found


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[tuple[str, docker.DockerClient]]:
    """The address of an engine without an image, and a client of it."""
    checkout = tmp_path / "engine"
    for name in ("scripts/engine.sh", "runner/adapters/engine_address.py"):
        (checkout / name).parent.mkdir(parents=True)
        shutil.copy(ROOT / name, checkout / name)
    script = str(checkout / "scripts" / "engine.sh")
    done = subprocess.run([script, "start"], env=os.environ | PRIVATE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    try:
        address = find_engine_address(PRIVATE, checkout / ".cache")
        assert address is not None
        with closing(docker.DockerClient(base_url=address, timeout=ANSWER_S)) as client:
            yield address, client
    finally:
        subprocess.run([script, "remove"], env=os.environ | PRIVATE, capture_output=True, check=True)


def test_an_empty_engine_gets_what_was_built(
    pairbench: Program, archived: dict[str, Any], empty: tuple[str, docker.DockerClient]
) -> None:
    """Out of parts, checked before and held after; one flipped byte, and it gets nothing."""
    address, client = empty
    there = Program(pairbench.folder, address)
    last = archived["files"][-1]
    with open(last, "r+b") as stream:
        stream.seek(-3000, os.SEEK_END)
        byte = stream.read(1)
        stream.seek(-3000, os.SEEK_END)
        stream.write(bytes([byte[0] ^ 1]))
    damaged = there("images", "load", "images.pairbench")
    with open(last, "r+b") as stream:
        stream.seek(-3000, os.SEEK_END)
        stream.write(byte)
    assert (damaged.returncode, client.images.list(all=True)) == (4, []), damaged.stderr
    assert "blobs/sha256/" in damaged.stderr
    loaded = {image["name"]: image for image in there.json("images", "load", "images.pairbench")["images"]}
    assert sorted(loaded) == ["gateway", "runner"]
    for image in loaded.values():
        assert client.images.get(image["id"]).id == image["config_digest"]
    built = {image["name"]: image for image in pairbench.json("images", "list")["images"]}
    assert loaded["gateway"]["config_digest"] == built["gateway"]["config_digest"]


def test_an_engine_by_itself_gets_the_program_which_checks_the_archive(
    pairbench: Program, archived: dict[str, Any], empty: tuple[str, docker.DockerClient]
) -> None:
    """`docker load` and `docker run`, without network and socket, as the archive's README says."""
    _, client = empty
    whole = pairbench.folder / "whole.pairbench"
    with whole.open("wb") as stream:
        for part in archived["files"]:
            with open(part, "rb") as piece:
                shutil.copyfileobj(piece, stream)
    with whole.open("rb") as stream:
        (runner,) = client.images.load(stream)
    assert [tag.partition(":")[0] for image in client.images.list() for tag in image.tags] == ["pairbench/runner"]
    said = client.containers.run(
        runner.tags[0],
        ["verify", "/archive", "--json"],
        network_mode="none",
        volumes={str(whole): {"bind": "/archive", "mode": "ro"}},
        remove=True,
    )
    found = json.loads(said)
    assert (found["holds"], found["content_sha256"]) == (True, archived["content_sha256"])
    assert [image["role"] for image in found["images"]] == ["pod", "runner"]
