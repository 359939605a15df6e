"""What an image is pinned to, in `images/locks/<name>.<arch>.json`: versions and digests, never an address."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

from pydantic import BaseModel, Field, StringConstraints

from runner.core.canonical import Digest, parse_json
from runner.core.documents import Part, validated
from runner.core.errors import EvidenceError, Problem, StudyError
from runner.core.harness import normalized
from runner.images.spec import (
    BASE_FOLDER,
    LOCKS_FOLDER,
    BaseSpec,
    DigestText,
    DistributionName,
    ImageSpec,
    LayerName,
    PackageName,
    Version,
)
from runner.ports.fetching import DebianPackage, Wheel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

WheelFileName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+!-]*\.whl$")]
Arch = Literal["amd64", "arm64"]
RELOCK_HINT = "`pairbench images relock` writes the locks anew"


class LockedPackage(Part):
    """A Debian package at one version."""

    name: PackageName
    version: Version
    arch: Literal["all", "amd64", "arm64"]
    sha256: DigestText

    def package(self) -> DebianPackage:
        """The package as a fetcher takes it."""
        return DebianPackage(self.name, self.version, self.arch, Digest(self.sha256))


class LockedWheel(Part):
    """A wheel by its file."""

    name: DistributionName
    version: Version
    file: WheelFileName
    sha256: DigestText

    def wheel(self) -> Wheel:
        """The wheel as a fetcher takes it."""
        return Wheel(self.name, self.version, self.file, Digest(self.sha256))


class BaseLock(Part):
    """The base of one architecture; `layer` is the diff id that these packages gave, null where none was built yet."""

    format: Literal["pairbench/base-lock"] = "pairbench/base-lock"
    version: Literal[1] = 1
    arch: Arch
    packages: tuple[LockedPackage, ...]
    layer: DigestText | None = None


class ImageLock(Part):
    """An image of one architecture.

    `wheels` are installed, `sources` only lend files; `layers` are the diff ids that they gave on the locked base (none
    where no image of this architecture was built yet).
    """

    format: Literal["pairbench/image-lock"] = "pairbench/image-lock"
    version: Literal[1] = 1
    arch: Arch
    wheels: tuple[LockedWheel, ...]
    sources: tuple[LockedWheel, ...]
    layers: dict[LayerName, DigestText] = Field(default_factory=dict)


L = TypeVar("L", bound=BaseModel)


def lock_path(name: str, arch: str, images_dir: Path) -> Path:
    """Where the lock of the image (or base) `name` stands."""
    return images_dir / LOCKS_FOLDER / f"{name}.{arch}.json"


def read_base_lock(spec: BaseSpec, arch: str, images_dir: Path) -> BaseLock:
    """The lock of the base.

    Raises:
        StudyError: it is missing, invalid, or lacks a package that `spec` asks for.
    """
    path = lock_path(BASE_FOLDER, arch, images_dir)
    lock = _read(path, BaseLock)
    locked = {package.name for package in lock.packages}
    _refuse(
        Problem(f"{name} isn't locked", str(path), hint=RELOCK_HINT) for name in spec.packages if name not in locked
    )
    return lock


def read_image_lock(name: str, spec: ImageSpec, arch: str, images_dir: Path) -> ImageLock:
    """The lock of the image `name`.

    Raises:
        StudyError: it is missing, invalid, or lacks a wheel that `spec` asks for.
    """
    path = lock_path(name, arch, images_dir)
    lock = _read(path, ImageLock)
    _refuse(_unlocked(spec, lock, str(path)))
    return lock


def lock_bytes(lock: BaseLock | ImageLock) -> bytes:
    """The lock as it stands in the repository: one pinned thing a line, so that a change reads as one."""
    lines: list[str] = []
    for key, value in lock.json_value().items():
        if isinstance(value, list) and value:
            items = ",\n".join(f"  {json.dumps(item)}" for item in value)
            lines.append(f' "{key}": [\n{items}\n ]')
        else:
            lines.append(f' "{key}": {json.dumps(value)}')
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def locked_wheel(wheels: Iterable[LockedWheel], name: str) -> LockedWheel | None:
    """The wheel of the distribution `name` among `wheels`, if it is there."""
    return next((wheel for wheel in wheels if normalized(wheel.name) == normalized(name)), None)


def _unlocked(spec: ImageSpec, lock: ImageLock, document: str) -> Iterator[Problem]:
    wanted = [(item.name, item.version, lock.wheels) for item in spec.wheels if item.is_for(lock.arch)]
    wanted += [(item.wheel, item.version, lock.sources) for item in spec.files]
    for name, version, wheels in wanted:
        found = locked_wheel(wheels, name)
        if found is None or found.version != version:
            yield Problem(f"{name} {version} isn't locked", document, hint=RELOCK_HINT)


def _refuse(problems: Iterable[Problem]) -> None:
    if found := tuple(problems):
        raise StudyError.of(found)


def _read(path: Path, model: type[L]) -> L:
    try:
        return validated(model, parse_json(path.read_bytes(), str(path)), str(path), StudyError)
    except OSError as error:
        raise StudyError(f"can't be read: {error.strerror}", document=str(path), hint=RELOCK_HINT) from error
    except EvidenceError as error:
        raise StudyError.of(error.problems) from error
