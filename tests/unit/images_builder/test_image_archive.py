"""One tar is a docker archive and an OCI layout, and what an engine loaded is held against it."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from typing import TYPE_CHECKING

import pytest

from runner.core.errors import EvidenceError
from runner.images.archive import archive_chunks, verify_loaded, write_archive
from runner.images.build import build_image

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.images_builder.conftest import World


def members(data: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return {member.name: stream.read() for member in archive if (stream := archive.extractfile(member))}


def test_every_blob_has_the_digest_that_names_it(world: World) -> None:
    """The archive is content-addressed throughout."""
    build = world.build()
    found = members(b"".join(archive_chunks([build_image("tool", build)], build.store)))
    blobs = {name.removeprefix("blobs/sha256/"): data for name, data in found.items() if name.startswith("blobs/")}
    assert len(blobs) == 6
    assert all(hashlib.sha256(data).hexdigest() == name for name, data in blobs.items())


def test_the_layout_leads_to_the_image(world: World) -> None:
    """Index, manifest, configuration and layers lead to one another by digest and size."""
    build = world.build()
    image = build_image("tool", build)
    found = members(b"".join(archive_chunks([image], build.store)))
    assert json.loads(found["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    (entry,) = json.loads(found["index.json"])["manifests"]
    assert entry["digest"] == image.manifest_digest
    manifest = found[f"blobs/sha256/{entry['digest'].removeprefix('sha256:')}"]
    assert (manifest, entry["size"]) == (image.manifest, len(image.manifest))
    described = json.loads(manifest)
    assert described["config"]["digest"] == image.config_digest
    assert [item["digest"] for item in described["layers"]] == list(image.diff_ids)
    assert json.loads(image.config)["rootfs"]["diff_ids"] == list(image.diff_ids)


def test_docker_is_led_to_the_same_blobs(world: World) -> None:
    """The other table of contents names the same files, and a tag that is the image's own digest."""
    build = world.build()
    image = build_image("tool", build)
    found = members(b"".join(archive_chunks([image], build.store)))
    (entry,) = json.loads(found["manifest.json"])
    assert entry["Config"] == f"blobs/sha256/{image.config_digest.removeprefix('sha256:')}"
    assert entry["RepoTags"] == [f"pairbench/tool:{image.config_digest.removeprefix('sha256:')}"]
    assert all(name in found for name in entry["Layers"])


def test_shared_layers_are_in_it_once(world: World) -> None:
    """Two images of one base cost one base; the archive's bytes are the same each time."""
    (world.images / "other").mkdir()
    text = (world.images / "tool/image.toml").read_text("utf-8").replace('user = "10002"', 'user = "0"')
    (world.images / "other/image.toml").write_text(text, "utf-8")
    (world.images / "other/tool").symlink_to(world.images / "tool/tool")
    for arch in ("amd64", "arm64"):
        lock = (world.images / f"locks/tool.{arch}.json").read_bytes()
        (world.images / f"locks/other.{arch}.json").write_bytes(lock)
    build = world.build()
    images = [build_image("tool", build), build_image("other", build)]
    assert images[0].config_digest != images[1].config_digest
    data = b"".join(archive_chunks(images, build.store))
    names = [member.name for member in tarfile.open(fileobj=io.BytesIO(data))]  # noqa: SIM115
    assert len(names) == len(set(names)) == 3 + 4 + 4
    assert data == b"".join(archive_chunks(images, build.store, verify=True))


def test_a_written_archive_is_whole_or_not_there(world: World, tmp_path: Path) -> None:
    """A layer that changed in the cache ends the writing, and no file of the archive's name is left."""
    build = world.build()
    image = build_image("tool", build)
    target = tmp_path / "out/images.tar"
    assert write_archive([image], build.store, target) == target.stat().st_size
    target.unlink()
    blob = build.store.blob_path(image.diff_ids[0])
    blob.write_bytes(blob.read_bytes()[:-1] + b"x")
    with pytest.raises(EvidenceError, match="has changed"):
        write_archive([image], build.store, target)
    assert list(target.parent.iterdir()) == []


def test_a_lost_layer_is_named(world: World) -> None:
    """An archive isn't made of a layer that is gone."""
    build = world.build()
    image = build_image("tool", build)
    build.store.blob_path(image.diff_ids[2]).unlink()
    with pytest.raises(EvidenceError, match=f"blob {image.diff_ids[2]} is gone"):
        b"".join(archive_chunks([image], build.store))


def test_a_loaded_image_is_known_by_either_id(world: World) -> None:
    """Engines report the configuration's digest or the manifest's; both are the image."""
    image = build_image("tool", world.build())
    verify_loaded(image, reported_id=image.config_digest, diff_ids=image.diff_ids)
    verify_loaded(image, reported_id=image.manifest_digest, diff_ids=list(image.diff_ids))


def test_another_id_or_other_layers_are_refused(world: World) -> None:
    """An engine that reports anything else hasn't got the image."""
    image = build_image("tool", world.build())
    with pytest.raises(EvidenceError, match="the engine reports sha256:0000"):
        verify_loaded(image, reported_id="sha256:" + "0" * 64, diff_ids=image.diff_ids)
    with pytest.raises(EvidenceError, match="the engine's layers are"):
        verify_loaded(image, reported_id=image.config_digest, diff_ids=image.diff_ids[:-1])
    with pytest.raises(EvidenceError, match="the engine's layers are"):
        verify_loaded(image, reported_id=image.config_digest, diff_ids=list(reversed(image.diff_ids)))
