"""Whole images have their digests under version control, and one that moved is told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from runner.core.errors import StudyError
from runner.images.build import build_images
from runner.images.digests import Moved, digests_path, moved, read_digests
from runner.images.relock import record_layers, relock

if TYPE_CHECKING:
    from runner.images.digests import ImageDigests
    from tests.unit.images_builder.conftest import World


def recorded(world: World) -> ImageDigests:
    found = read_digests("amd64", world.images)
    assert found is not None
    return found


def test_relocking_records_what_images_came_to(world: World) -> None:
    """One image a line, by configuration and manifest; only for the architecture that was built."""
    (image,) = build_images(["tool"], world.build())
    assert digests_path("amd64", world.images).read_text("utf-8") == (
        '{\n "format": "pairbench/image-digests",\n "version": 1,\n "arch": "amd64",\n "images": {\n'
        f'  "tool": {{"config": "{image.config_digest}", "manifest": "{image.manifest_digest}"}}\n }}\n}}\n'
    )
    assert moved([image], recorded(world)) == ()
    assert read_digests("arm64", world.images) is None


def test_a_changed_program_moves_the_image(world: World) -> None:
    """Until it is recorded in the same commit."""
    before = recorded(world).images["tool"].config
    (world.images / "tool/tool/main.py").write_text("import inner  # changed\n", "utf-8")
    (image,) = build_images(["tool"], world.build())
    assert moved([image], recorded(world)) == (Moved("tool", before, image.config_digest),)
    record_layers(world.build())
    assert moved([image], recorded(world)) == ()


def test_another_manifest_alone_is_a_move(world: World) -> None:
    """The engines that name images by it would name another."""
    path = digests_path("amd64", world.images)
    (image,) = build_images(["tool"], world.build())
    path.write_text(path.read_text("utf-8").replace(image.manifest_digest, "sha256:" + "0" * 64), "utf-8")
    assert moved([image], recorded(world)) == (Moved("tool", "sha256:" + "0" * 64, image.manifest_digest),)


def test_an_image_that_came_or_went_is_a_move(world: World) -> None:
    """What isn't recorded, and what is recorded and isn't declared."""
    images = build_images(["tool"], world.build())
    path = digests_path("amd64", world.images)
    path.write_text(path.read_text("utf-8").replace('"tool"', '"gone"'), "utf-8")
    assert [(item.name, bool(item.recorded), bool(item.found)) for item in moved(images, recorded(world))] == [
        ("gone", True, False),
        ("tool", False, True),
    ]
    assert str(moved([], recorded(world))[0]) == f"gone: recorded {images[0].config_digest}, and it is gone"


@pytest.mark.parametrize("change", [{"version": 2}, {"more": 1}, {"images": {"tool": {"config": "sha256:0"}}}])
def test_a_damaged_file_is_refused(world: World, change: dict[str, object]) -> None:
    """As locks are."""
    path = digests_path("amd64", world.images)
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **change}), "utf-8")
    with pytest.raises(StudyError, match=r"images\.amd64\.json"):
        read_digests("amd64", world.images)


def test_relocking_one_image_leaves_what_is_recorded_of_others(world: World) -> None:
    """Named images are recorded anew, and another architecture's digests of them are forgotten."""
    text = digests_path("amd64", world.images).read_text("utf-8")
    other = text.replace('"tool"', '"other"')
    digests_path("amd64", world.images).write_text(other, "utf-8")
    digests_path("arm64", world.images).write_text(text.replace('"amd64"', '"arm64"'), "utf-8")
    relock(world.build("relock"), names=["tool"])
    assert sorted(recorded(world).images) == ["other", "tool"]
    assert read_digests("arm64", world.images) is None
