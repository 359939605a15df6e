"""Locks written anew: what archive and index have today, for every architecture, and the layers that it gives here."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from runner.images.build import build_images
from runner.images.digests import forget_digests, record_digests
from runner.images.inputs import host_arch
from runner.images.locks import (
    BaseLock,
    ImageLock,
    LockedPackage,
    LockedWheel,
    lock_bytes,
    lock_path,
    read_base_lock,
    read_image_lock,
)
from runner.images.packages import resolved
from runner.images.spec import BASE_FOLDER, image_names, read_base, read_image
from runner.ports.fetching import Requirement

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from runner.images.inputs import Build
    from runner.images.spec import BaseSpec, ImageSpec
    from runner.ports.fetching import Wheel


def relock(build: Build, archs: Sequence[str] = ("amd64", "arm64"), names: Sequence[str] = ()) -> tuple[Path, ...]:
    """The lock files, written: packages and wheels for each architecture; layers' diff ids for this machine's own.

    Where images are named, theirs are, and the base with all others stays as it is locked.

    Raises:
        StudyError: a declaration is missing or invalid.
        EnvironmentNotReady: an archive or an index can't be asked.
        EvidenceError: a download isn't what was just resolved.
    """
    base = read_base(build.images_dir)
    images = {name: read_image(name, build.images_dir) for name in names or image_names(build.images_dir)}
    written: list[Path] = []
    for arch in archs:
        there = replace(build, arch=arch)
        build.say(f"resolving for {arch}")
        written += [] if names else [_write(BASE_FOLDER, _base_lock(base, there), build)]
        written += [_write(name, _image_lock(spec, base, there), build) for name, spec in images.items()]
        # What other inputs came to says nothing of these.
        forget_digests(names, arch, build.images_dir)
    if host_arch() in archs:
        written.append(record_layers(replace(build, arch=host_arch()), names))
    return tuple(written)


def record_layers(build: Build, only: Sequence[str] = ()) -> Path:
    """The locks of `build.arch` name the diff ids that their own contents give, and the file returned whole images.

    Where images are named, theirs do, and the base with all others stays as it is locked. Raises as `build_images`
    does.
    """
    base_spec = read_base(build.images_dir)
    names = tuple(only) or image_names(build.images_dir)
    built = build_images(names, replace(build, check_layers=False, frozen=True))
    for name, image in zip(names, built, strict=True):
        lock = read_image_lock(name, read_image(name, build.images_dir), build.arch, build.images_dir)
        found = {layer.name: layer.diff_id for layer in image.layers if layer.name not in {"base", "programs"}}
        _write(name, lock.model_copy(update={"layers": dict(found)}), build)
    if not only:
        base_lock = read_base_lock(base_spec, build.arch, build.images_dir)
        _write(BASE_FOLDER, base_lock.model_copy(update={"layer": built[0].layers[0].diff_id}), build)
    return record_digests(built, build.arch, build.images_dir, others=bool(only))


def _base_lock(spec: BaseSpec, build: Build) -> BaseLock:
    packages = resolved(spec, build)
    locked = tuple(
        LockedPackage.model_validate({"name": p.name, "version": p.version, "arch": p.arch, "sha256": p.sha256})
        for p in sorted(packages)
    )
    return BaseLock.model_validate({"arch": build.arch, "packages": locked})


def _image_lock(spec: ImageSpec, base: BaseSpec, build: Build) -> ImageLock:
    wanted = [
        Requirement(item.name, item.version, item.dependencies) for item in spec.wheels if item.is_for(build.arch)
    ]
    lent = [Requirement(name, version) for name, version in sorted({(file.wheel, file.version) for file in spec.files})]
    wheels = build.tools.wheels.closure(wanted, python=base.python_version, arch=build.arch) if wanted else ()
    sources = build.tools.wheels.closure(lent, python=base.python_version, arch=build.arch) if lent else ()
    return ImageLock.model_validate(
        {"arch": build.arch, "wheels": tuple(map(_locked, wheels)), "sources": tuple(map(_locked, sources))}
    )


def _locked(wheel: Wheel) -> LockedWheel:
    return LockedWheel(name=wheel.name, version=wheel.version, file=wheel.file, sha256=wheel.sha256)


def _write(name: str, lock: BaseLock | ImageLock, build: Build) -> Path:
    path = lock_path(name, lock.arch, build.images_dir)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".new")
    temporary.write_bytes(lock_bytes(lock))
    temporary.replace(path)
    return path
