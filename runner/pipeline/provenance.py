"""What images are made of, and whether they still are what version control says that they are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from runner.core.errors import EvidenceError, Problem
from runner.images.base import LOCKED
from runner.images.build import build_images
from runner.images.digests import digests_path, moved, read_digests
from runner.images.facts import image_facts
from runner.images.spdx import spdx_document
from runner.images.spec import image_names, read_base

if TYPE_CHECKING:
    from runner.images.facts import LayerFacts
    from runner.images.oci import BuiltImage
    from runner.pipeline.world import World

_HINT = "if it was changed on purpose, `pairbench images relock --layers-only` records what it is now"


@dataclass(frozen=True)
class Standing:
    """All images of ours, and how they compare with what was recorded."""

    images: tuple[BuiltImage, ...]
    base: str
    """`locked`, or what the base is instead: then nothing was compared."""
    recorded: bool
    """Whether anything is recorded for this architecture; where nothing is, nothing was compared."""

    @property
    def compared(self) -> bool:
        """Whether the images were held against what is recorded."""
        return self.base == LOCKED and self.recorded


def facts_of(world: World, name: str) -> tuple[BuiltImage, tuple[LayerFacts, ...]]:
    """The image `name`, and what each of its layers is made of; raises as `build_images` does."""
    (image,) = build_images([name], replace(world.build, recorded=True))
    return image, image_facts(image, world.build.store)


def bill_of(world: World, name: str) -> bytes:
    """The bill of materials of the image `name`, an SPDX document; raises as `build_images` does."""
    image, layers = facts_of(world, name)
    return spdx_document(image, layers, read_base(world.build.images_dir).suite)


def standing_of(world: World) -> Standing:
    """Every image, built, and held against its recorded digests where its base is the locked one.

    Raises:
        EvidenceError: from the same locked inputs another image came than the one that is recorded.
        EnvironmentNotReady: something can't be downloaded.
    """
    build = world.build
    images = build_images(image_names(build.images_dir), build)
    recorded = read_digests(build.arch, build.images_dir)
    found = Standing(images, images[0].base if images else LOCKED, recorded is not None)
    if recorded is not None and found.compared:
        document = str(digests_path(build.arch, build.images_dir))
        problems = [Problem(str(item), document, f"images.{item.name}", _HINT) for item in moved(images, recorded)]
        if problems:
            raise EvidenceError.of(problems)
    return found
