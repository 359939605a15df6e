"""Images keep the digests of their locks on the way to a registry and back, and nothing travels twice."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from runner.archives.reading import open_archive
from runner.archives.writing import write_archive
from runner.core.errors import EvidenceError, StudyError
from runner.images.store import Store
from runner.pipeline import imaging, registries
from runner.ports.engine import ImageFacts
from runner.ports.registry import Place
from tests.fakes.archives import contents, image
from tests.fakes.registry import MemoryRegistry

if TYPE_CHECKING:
    from pathlib import Path

    from runner.images.oci import BuiltImage
    from tests.fakes.surroundings import Surroundings

TO = Place("registry.example", "team")


@pytest.fixture
def built(outside: Surroundings) -> tuple[BuiltImage, ...]:
    """Two images that share their base."""
    return imaging.build(outside.world, ("trial", "gateway"))


def pushed(outside: Surroundings, registry: MemoryRegistry, images: tuple[BuiltImage, ...]) -> tuple[str, ...]:
    done = registries.push(registry.repository, TO, images, outside.world.build.store, outside.watcher)
    return tuple(item.reference for item in done)


def test_each_image_keeps_its_manifest(outside: Surroundings, built: tuple[BuiltImage, ...]) -> None:
    """In a repository of its own, tagged by its configuration's digest."""
    registry = MemoryRegistry()
    trial, gateway = built
    assert pushed(outside, registry, built) == (
        f"registry.example/team/trial@{trial.manifest_digest}",
        f"registry.example/team/gateway@{gateway.manifest_digest}",
    )
    assert registry.manifests["team/trial", trial.manifest_digest] == trial.manifest
    assert registry.tags["team/trial", trial.tag.partition(":")[2]] == trial.manifest_digest


def test_what_is_shared_is_sent_once(outside: Surroundings, built: tuple[BuiltImage, ...]) -> None:
    """The base of the second image is taken over from the first; a second push sends nothing."""
    registry = MemoryRegistry()
    pushed(outside, registry, built)
    assert registry.calls == ["put trial"] * 3 + ["mount gateway from trial"] + ["put gateway"] * 2
    registry.calls.clear()
    done = registries.push(registry.repository, TO, built, outside.world.build.store, outside.watcher)
    assert registry.calls == []
    assert [(item.sent_bytes, item.sent_blobs, item.present_blobs) for item in done] == [(0, 0, 3), (0, 0, 3)]


def test_a_registry_that_mounts_nothing_gets_all_of_it(outside: Surroundings, built: tuple[BuiltImage, ...]) -> None:
    """To mount is a favour."""
    registry = MemoryRegistry(mounts=False)
    pushed(outside, registry, built)
    assert registry.calls == ["put trial"] * 3 + ["put gateway"] * 3


def test_a_registry_that_rewrites_manifests_is_found_out(
    outside: Surroundings, built: tuple[BuiltImage, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The digest of the lock must lead to the image afterwards."""
    registry = MemoryRegistry()
    repository = type(registry.repository(TO))
    monkeypatch.setattr(repository, "manifest", lambda _self, _digest: b"{}")
    with pytest.raises(EvidenceError, match="the manifest that came is sha256:44136fa355b3678a"):
        pushed(outside, registry, built)


def test_a_layer_that_changed_in_the_store_is_not_sent_as_itself(
    outside: Surroundings, built: tuple[BuiltImage, ...], tmp_path: Path
) -> None:
    """Not even where the registry would take it."""
    store = Store(tmp_path)
    layer = built[0].layers[0].blob
    for one in built:
        for item in one.layers:
            store.add_blob(outside.world.build.store.read_blob(item.diff_id))
    store.blob_path(layer.digest).write_bytes(bytes(layer.size_bytes))
    registry = MemoryRegistry()
    with pytest.raises(EvidenceError, match=f"blob {layer.digest} has changed"):
        registries.push(registry.repository, TO, built, store, outside.watcher)
    assert registry.manifests == {}


def test_an_image_comes_back_as_it_went(outside: Surroundings, built: tuple[BuiltImage, ...], tmp_path: Path) -> None:
    """Elsewhere it has the same configuration, manifest, layers and tag, and the engine is held to them."""
    registry, store = MemoryRegistry(), Store(tmp_path)
    pushed(outside, registry, built)
    sources = [(registry.repository(TO.below(image.name)), image) for image in built]
    pulled = [
        registries.pull(source, image.manifest_digest, image.name, store, outside.watcher) for source, image in sources
    ]
    for came, original in zip(pulled, built, strict=True):
        assert (came.config, came.manifest, came.diff_ids, came.tag, came.arch) == (
            original.config,
            original.manifest,
            original.diff_ids,
            original.tag,
            original.arch,
        )
    # The layers of the trial and the one that the gateway doesn't share; and both configurations.
    assert registry.calls[6:] == ["get trial"] * 3 + ["get gateway"] * 2
    registries.give(outside.engine, pulled, store, outside.watcher)
    assert outside.engine.image(built[0].tag) == ImageFacts(built[0].config_digest, built[0].diff_ids, "amd64")


def test_an_engine_with_another_image_of_that_tag_is_refused(
    outside: Surroundings, built: tuple[BuiltImage, ...]
) -> None:
    """What is there already is looked at too."""
    facts = ImageFacts(built[0].config_digest, built[0].diff_ids, "amd64")
    outside.engine.images[built[0].tag] = replace(facts, diff_ids=("sha256:0",))
    with pytest.raises(EvidenceError, match=built[0].tag):
        registries.give(outside.engine, built[:1], outside.world.build.store, outside.watcher)


def test_a_name_that_no_repository_can_have_is_refused(outside: Surroundings, built: tuple[BuiltImage, ...]) -> None:
    """Before anything is sent."""
    registry = MemoryRegistry()
    with pytest.raises(StudyError, match="names no repository"):
        pushed(outside, registry, (replace(built[0], name="A Name"),))
    assert registry.calls == []


def test_the_images_of_an_archive_are_pushed(outside: Surroundings, tmp_path: Path) -> None:
    """Whatever this checkout would build: under the manifests that the archive pins."""
    made = [image("trial", b"shared", b"trial"), image("gateway", b"shared", b"gateway")]
    written = write_archive(contents({}, made), tmp_path / "images.tar", cache=tmp_path / "cache")
    assert written.size_bytes > 0
    registry = MemoryRegistry()
    with open_archive(tmp_path / "images.tar", tmp_path / "scratch") as archive:
        done = registries.push(registry.repository, TO, archive.built(), archive.store, outside.watcher)
    assert {item.reference for item in done} == {
        f"registry.example/team/{item.pin.name}@{item.pin.manifest_digest}" for item in made
    }
    assert {registry.manifests[f"team/{item.pin.name}", item.pin.manifest_digest] for item in made} == {
        item.manifest for item in made
    }
    assert [call for call in registry.calls if call.startswith("mount")] in (
        ["mount gateway from trial"],
        ["mount trial from gateway"],
    )
