"""Images from their declarations and locks: what is in the cache already is only named, everything else is made."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

from runner.images.additions import file_layers, programs_layer, wheels_layer
from runner.images.base import debian_base
from runner.images.foreign import foreign_base
from runner.images.locks import read_image_lock
from runner.images.oci import assembled
from runner.images.spec import read_base, read_image

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Future

    from runner.images.base import Base
    from runner.images.inputs import Build
    from runner.images.layer import Layer
    from runner.images.locks import ImageLock
    from runner.images.oci import BuiltImage
    from runner.images.spec import BaseSpec, ImageSpec

# Compression, hashing, and compiling run outside the interpreter lock; downloads wait.
_WORKERS = 4


def build_images(names: Sequence[str], build: Build) -> tuple[BuiltImage, ...]:
    """The images `names`, in their order, with all their layers in the store.

    Raises:
        StudyError: a declaration or a lock is missing, invalid or stale.
        EnvironmentNotReady: something can't be downloaded, the image's Python doesn't run on this machine, or (frozen)
            the base drifted.
        EvidenceError: a download or a layer isn't what the lock says.
    """
    spec = read_base(build.images_dir)
    # Declarations first, so that a mistake in one is told before anything is downloaded.
    for name in names:
        _declared(name, build)
    with ThreadPoolExecutor(_WORKERS) as pool:
        # The base is submitted first, so a worker that waits for it never keeps it from running.
        base = pool.submit(_base, spec, build)
        files = [pool.submit(_files, name, spec.python_version, build) for name in names]
        code = [pool.submit(_code, name, base, build) for name in names]
        parts = zip(names, code, files, strict=True)
        return tuple(
            _assembled(name, base.result(), *one.result(), other.result(), build) for name, one, other in parts
        )


def build_image(name: str, build: Build) -> BuiltImage:
    """The image `name`; raises as `build_images` does."""
    return build_images([name], build)[0]


def _base(spec: BaseSpec, build: Build) -> Base:
    if build.tools.packages.available() or spec.image is None:
        return debian_base(spec, build)
    return foreign_base(spec, spec.image, build)


def _files(name: str, python: str, build: Build) -> list[Layer]:
    spec, lock = _declared(name, build)
    return list(file_layers(spec, lock, python, build))


def _code(name: str, base: Future[Base], build: Build) -> tuple[Layer | None, Layer | None]:
    spec, lock = _declared(name, build)
    return wheels_layer(spec, lock, base.result(), build), programs_layer(name, spec, base.result(), build)


def _assembled(
    name: str, base: Base, wheels: Layer | None, programs: Layer | None, files: list[Layer], build: Build
) -> BuiltImage:
    # By rate of change: what changes most often comes last, so that the rest is shared.
    layers = [layer for layer in (*base.layers, wheels, *files, programs) if layer is not None]
    image = assembled(name, build.arch, read_image(name, build.images_dir), layers, base.state)
    if not build.store.blob_path(image.config_digest).exists():
        # Whoever archives the image later finds it by its digest, whatever the declarations say by then.
        build.store.add_blob([image.config])
    return replace(image, drifted=base.drifted)


def _declared(name: str, build: Build) -> tuple[ImageSpec, ImageLock]:
    spec = read_image(name, build.images_dir)
    return spec, read_image_lock(name, spec, build.arch, build.images_dir)
