"""Images: built from locked inputs, given to the engine, and held against what was built."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from runner.archives.harness import installed_files
from runner.core.errors import EnvironmentNotReady
from runner.core.harness import NAME
from runner.core.lock import ImagePin
from runner.core.tars import files_of
from runner.images.archive import archive_chunks, verify_loaded
from runner.images.build import build_images
from runner.images.harness_layer import RUNNER_IMAGE, with_harness
from runner.images.relock import record_layers, relock
from runner.images.spec import pod_image_names

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from runner.archives.harness import HarnessFiles
    from runner.images.oci import BuiltImage
    from runner.pipeline.world import World
    from runner.ports.engine import Engine, ImageFacts


def build(world: World, names: Sequence[str] = (), *, frozen: bool = False) -> tuple[BuiltImage, ...]:
    """The images `names`, or all that pods are made of, built or taken from the cache; raises as `build_images`."""
    wanted = tuple(names) or pod_image_names(world.build.images_dir)
    return build_images(wanted, replace(world.build, frozen=frozen))


def load(world: World, engine: Engine, images: Sequence[BuiltImage]) -> None:
    """The engine holds `images`, and says of each what was built.

    Raises:
        EvidenceError: the engine reports another id or other layers.
    """
    missing = [image for image in images if engine.image(image.tag) is None]
    if missing:
        world.progress.step(f"loading {', '.join(image.name for image in missing)} into the engine")
        engine.load_images(archive_chunks(missing, world.build.store))
    hold(engine, images)


def hold(engine: Engine, images: Sequence[BuiltImage]) -> None:
    """The engine has every one of `images`, as it was built.

    Raises:
        EnvironmentNotReady: one isn't there.
        EvidenceError: the engine reports another id or other layers.
    """
    for image in images:
        facts = _present(engine, image.tag)
        verify_loaded(image, reported_id=facts.identity, diff_ids=facts.diff_ids)


def relock_images(world: World, names: Sequence[str] = (), *, layers_only: bool) -> tuple[Path, ...]:
    """The locks say what their declarations give today; the files written are returned.

    Those of the images `names`, or where none is named those of all images and of their base.

    With `layers_only`, packages and wheels stay as they are, and only what their layers come to is recorded.
    """
    if layers_only:
        record_layers(world.build, names)
        return ()
    return relock(world.build, names=names)


def runner_image(world: World, code: HarnessFiles | None = None) -> BuiltImage:
    """The image of this program, built or taken from the cache, with `code` or the code at hand in it."""
    (image,) = build(world, [RUNNER_IMAGE])
    harness = code or world.code()
    made_of = f"{NAME} {harness.pin.version}, {harness.pin.source_sha256}"
    return with_harness(image, installed_files(harness), world.build.store, made_of)


def pin_of(image: BuiltImage) -> ImagePin:
    """What a lock says of `image`."""
    return ImagePin(
        name=image.name,
        tag=image.tag,
        config_digest=image.config_digest,
        manifest_digest=image.manifest_digest,
        diff_ids=image.diff_ids,
        drifted=tuple(str(drift) for drift in image.drifted),
    )


def _present(engine: Engine, reference: str) -> ImageFacts:
    facts = engine.image(reference)
    if facts is None:
        raise EnvironmentNotReady(
            "the engine has no such image", document=reference, hint="run `pairbench images build`"
        )
    return facts


def model_folder(world: World, built: Sequence[BuiltImage]) -> Path | None:
    """A folder of the cache that holds the embedding model, for whoever embeds here; None if no image has one."""
    layer = next((layer for image in built for layer in image.layers if layer.name == "model"), None)
    if layer is None:
        return None
    place = world.places.cache / "model" / layer.diff_id.removeprefix("sha256:")
    wanted = {f"opt/model/{name}": place / name for name in ("model.onnx", "tokenizer.json")}
    if any(world.files.read(path) is None for path in wanted.values()):
        found = files_of(b"".join(world.build.store.read_blob(layer.diff_id)), layer.name)
        for name, path in wanted.items():
            world.files.write(path, found[name])
    return place
