"""Images go to Debian's docker-registry and come back, into a real engine, by the digests of their locks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.registry.conftest import RealRegistry, real_registry

if TYPE_CHECKING:
    from pathlib import Path

    import docker

    from tests.docker.conftest import Program

__all__ = ["real_registry"]

pytestmark = [pytest.mark.docker, pytest.mark.registry, pytest.mark.slow]


@pytest.fixture(scope="module")
def images(pairbench: Program) -> dict[str, dict[str, Any]]:
    """What the images of this checkout are."""
    return {image["name"]: image for image in pairbench.json("images", "list")["images"]}


@pytest.fixture(scope="module")
def gateway(pairbench: Program, real_registry: RealRegistry) -> str:
    """The gateway's image in the registry, by digest."""
    done = pairbench("images", "push", "gateway", "--to", f"{real_registry.host}/pairbench")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_digest_is_that_of_the_lock(
    gateway: str, images: dict[str, dict[str, Any]], pairbench: Program, real_registry: RealRegistry
) -> None:
    """And a second push finds everything there."""
    assert gateway == f"{real_registry.host}/pairbench/gateway@{images['gateway']['manifest_digest']}"
    (again,) = pairbench.json("images", "push", "gateway", "--to", f"{real_registry.host}/pairbench")["images"]
    assert (again["reference"], again["sent_blobs"]) == (gateway, 0)


def test_it_comes_back_into_a_cache_and_an_engine_that_lack_it(
    gateway: str,
    images: dict[str, dict[str, Any]],
    pairbench: Program,
    engine: docker.DockerClient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Under a name of its own here, so that nobody else's image is touched."""
    monkeypatch.setenv("PAIRBENCH_CACHE", str(tmp_path / "cache"))
    name = f"pulled-{os.getpid()}"
    done = pairbench("images", "pull", gateway, "--name", name)
    assert done.returncode == 0, done.stderr
    tag = done.stdout.strip()
    try:
        assert tag == f"pairbench/{name}:{images['gateway']['config_digest'].removeprefix('sha256:')}"
        assert engine.images.get(tag).attrs["RootFS"]["Layers"] == images["gateway"]["diff_ids"]
    finally:
        engine.images.remove(tag, noprune=True)


def test_the_engine_can_pull_it_itself(
    gateway: str, images: dict[str, dict[str, Any]], engine: docker.DockerClient
) -> None:
    """The registry holds an image like any other; a run elsewhere needs nothing of ours to fetch it."""
    place, _, digest = gateway.partition("@")
    pulled = engine.images.pull(f"{place}@{digest}")
    try:
        assert pulled.attrs["RootFS"]["Layers"] == images["gateway"]["diff_ids"]
    finally:
        engine.images.remove(gateway, noprune=True)


def test_the_images_of_an_archive_are_pushed(
    gateway: str, pairbench: Program, real_registry: RealRegistry, tmp_path: Path
) -> None:
    """The archive's own, under the digest that they have everywhere."""
    file = tmp_path / "images.tar"
    done = pairbench("images", "archive", "gateway", "--out", file)
    assert done.returncode == 0, done.stderr
    done = pairbench("images", "push", file, "--to", f"{real_registry.host}/from-archive")
    assert done.returncode == 0, done.stderr
    assert done.stdout == gateway.replace("/pairbench/", "/from-archive/") + "\n"


def test_a_layer_that_was_tampered_with_is_refused(
    gateway: str,
    images: dict[str, dict[str, Any]],
    pairbench: Program,
    real_registry: RealRegistry,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One flipped byte in the registry's storage: the blob is named, and no file of it is left."""
    layer = images["gateway"]["diff_ids"][0]
    file = real_registry.blob_file(layer)
    whole = file.read_bytes()
    file.write_bytes(whole[:1_000_000] + bytes([whole[1_000_000] ^ 1]) + whole[1_000_001:])
    monkeypatch.setenv("PAIRBENCH_CACHE", str(tmp_path / "cache"))
    try:
        done = pairbench("images", "pull", gateway, "--no-load")
    finally:
        file.write_bytes(whole)
    assert done.returncode == 4, done.stderr
    assert f"the bytes that came for blob {layer} are sha256:" in done.stderr
    assert not (tmp_path / "cache/images/blobs/sha256" / layer.removeprefix("sha256:")).exists()
    assert list((tmp_path / "cache/images/partial").iterdir()) == []
