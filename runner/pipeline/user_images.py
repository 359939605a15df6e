"""Images that a study brings along: taken from the engine by digest, or built there from a Dockerfile, and then pinned.

Whatever brought an image, it ends as ours do: its configuration and its layers are in the cache, the engine has it by a
tag that is made of its id (`pairbench/user:<digest of its configuration>`), and a lock pins it by all its digests. What
an engine's builder makes isn't reproducible; what ran is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.archives.saved import read_saved
from runner.core.canonical import Digest, sha256_digest
from runner.core.errors import EngineError, EngineGoneError, EnvironmentNotReady, Problem, StudyError
from runner.core.lock import USER_IMAGE
from runner.images.layer import Layer
from runner.images.oci import BuiltImage, manifest_of
from runner.images.store import Blob
from runner.pipeline import imaging
from runner.pipeline.image_fitness import SPECIFICATION, image_faults
from runner.plan.contexts import base_argument
from runner.ports.engine import ImageBuild

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.images.store import Store
    from runner.pipeline.world import World
    from runner.plan.contexts import Context
    from runner.plan.load import LoadedStudy
    from runner.ports.engine import Engine, ImageFacts


def user_image_references(loaded: LoadedStudy) -> tuple[str, ...]:
    """The images of arms that aren't ours, as the arms name them."""
    study = loaded.study
    return tuple(sorted({arm.image for arm in study.arms if "@" in arm.image or arm.image in study.images}))


def user_images(
    world: World, engine: Engine, loaded: LoadedStudy, ours: Mapping[str, BuiltImage], labels: Mapping[str, str]
) -> dict[str, BuiltImage]:
    """The images of arms that aren't `ours`, by the arms' names for them: in the engine and in the cache, and fit.

    Raises:
        EnvironmentNotReady: the engine hasn't got one that is named by digest.
        StudyError: a Dockerfile can't be built, or an image isn't what a trial needs; all of them at once.
    """
    found: dict[str, BuiltImage] = {}
    problems: list[Problem] = []
    for reference in user_image_references(loaded):
        try:
            identity = _brought(world, engine, loaded, reference, ours)
            image = _taken(world, engine, identity, reference)
            problems += _unfit(engine, image, ours["trial"], loaded, reference, labels)
            found[reference] = image
        except StudyError as error:
            problems += error.problems
    if problems:
        raise StudyError.of(problems)
    return found


def _brought(world: World, engine: Engine, loaded: LoadedStudy, reference: str, ours: Mapping[str, BuiltImage]) -> str:
    """The engine's id of the image."""
    context = loaded.contexts.get(reference)
    if context is not None:
        return _built(world, engine, loaded, reference, context, ours)
    facts = engine.image(reference)
    if facts is None:
        raise EnvironmentNotReady("the engine hasn't got it", document=reference, hint=f"docker pull {reference}")
    return facts.identity


def _built(
    world: World,
    engine: Engine,
    loaded: LoadedStudy,
    name: str,
    context: Context,
    ours: Mapping[str, BuiltImage],
) -> str:
    world.progress.step(f"building the image {name}")
    tag = f"{USER_IMAGE}:context-{context.sha256.removeprefix('sha256:')}"
    arguments = {base_argument(base): ours[base].tag for base in context.bases}
    try:
        return engine.build_image(ImageBuild(context.tar, context.dockerfile, arguments, tag))
    except EngineGoneError:
        raise
    except EngineError as error:
        said = "; ".join(problem.message for problem in error.problems)
        raise StudyError(
            f"{context.dockerfile} can't be built: {said}", document=loaded.document, key=f"images.{name}"
        ) from error


def _taken(world: World, engine: Engine, identity: str, reference: str) -> BuiltImage:
    """The image with that id, in the cache, and in the engine by its own tag."""
    facts = engine.image(identity)
    if facts is None:
        raise EnvironmentNotReady("the engine hasn't got it any more", document=f"image {reference}")
    store = world.build.store
    image = _kept(facts, store) or _saved(world, engine, facts, reference)
    if engine.image(image.tag) is None and facts.identity == image.config_digest:
        engine.tag_image(identity, image.tag)
    # An engine that names images by a manifest of its own gets ours, so that it knows the image by a pinned digest.
    imaging.load(world, engine, [image])
    return image


def _kept(facts: ImageFacts, store: Store) -> BuiltImage | None:
    """The image out of the cache, if all of it is there; its id is the digest of its configuration then."""
    paths = [store.blob_path(Digest(digest)) for digest in (facts.identity, *facts.diff_ids)]
    if not all(path.exists() for path in paths):
        return None
    config = paths[0].read_bytes()
    if sha256_digest(config) != facts.identity:
        return None
    blobs = [Blob(Digest(digest), path.stat().st_size) for digest, path in zip(facts.diff_ids, paths[1:], strict=True)]
    return _image(config, blobs, facts.architecture)


def _saved(world: World, engine: Engine, facts: ImageFacts, reference: str) -> BuiltImage:
    world.progress.step(f"taking {reference} from the engine")
    saved = read_saved(engine.save_image(facts.identity), world.build.store, f"image {reference}")
    world.build.store.add_blob([saved.config])
    return _image(saved.config, list(saved.layers), facts.architecture)


def _image(config: bytes, blobs: list[Blob], architecture: str) -> BuiltImage:
    layers = tuple(Layer("user", blob, "an image of the study's own") for blob in blobs)
    name = USER_IMAGE.partition("/")[2]
    return BuiltImage(name, architecture, config, manifest_of(config, blobs), layers)


def _unfit(
    engine: Engine,
    image: BuiltImage,
    trial: BuiltImage,
    loaded: LoadedStudy,
    reference: str,
    labels: Mapping[str, str],
) -> Iterator[Problem]:
    """Why no trial can run in `image`."""
    # By what the engine makes of the configuration, and not by our reading of its bytes: the engine starts it.
    for message in image_faults(engine, image.tag, trial.tag, labels):
        arms = [arm.name for arm in loaded.study.arms if arm.image == reference]
        yield Problem(f"{reference}: {message}", loaded.document, f"arms.{arms[0]}.image", SPECIFICATION)
