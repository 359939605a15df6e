"""What `images list` and `images show` print: within 80 columns, and every digest in one piece."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from runner.cli.image_facts import fact_lines
from runner.cli.images import image_lines
from runner.images.build import build_image
from runner.images.facts import image_facts

if TYPE_CHECKING:
    from runner.images.facts import LayerFacts
    from runner.images.oci import BuiltImage
    from tests.unit.images_builder.conftest import World


def shown(world: World) -> tuple[BuiltImage, tuple[LayerFacts, ...]]:
    build = world.build(recorded=True)
    image = build_image("tool", build)
    return image, tuple(image_facts(image, build.store))


def test_a_list_of_images_fits_80_columns(world: World) -> None:
    """Each digest has a line of its own, and can be copied."""
    image, _ = shown(world)
    other = replace(image, name="other")
    assert list(image_lines((image, other))) == [
        "tool: 0 MB, base as locked",
        f"config   {image.config_digest}",
        f"manifest {image.manifest_digest}",
        "",
        "other: 0 MB, base as locked",
        f"config   {image.config_digest}",
        f"manifest {image.manifest_digest}",
    ]
    assert max(map(len, image_lines((image,)))) == 80


@pytest.mark.parametrize("width", [80, 120])
def test_what_an_image_is_made_of_fits_the_terminal(world: World, width: int) -> None:
    """A licence of many words goes on in the next line; a digest doesn't."""
    image, layers = shown(world)
    first = layers[0].packages[0].origin
    licence = " AND ".join(["BSD-3-Clause"] * 12)
    odd = replace(first, licence=licence)
    files = tuple(replace(file, origin=odd) if file.origin == first else file for file in layers[0].files)
    changed = replace(layers[0], files=files)
    lines = list(fact_lines(image, (changed, *layers[1:]), width, files=False))
    assert max(len(line) for line in lines if line != image.tag) <= width
    assert f"    sha256 {first.sha256.removeprefix('sha256:')}" in lines
    assert licence in " ".join(line.strip() for line in lines)
