"""What an image is declared to be: `images/base/base.toml` and `images/<name>/image.toml`, read strictly."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, StringConstraints

from runner.core.documents import Part, validated
from runner.core.errors import StudyError

if TYPE_CHECKING:
    from pathlib import Path

BASE_FOLDER = "base"
LOCKS_FOLDER = "locks"


def _inside(path: str) -> str:
    parts = path.split("/")[1:]
    if not path.startswith("/") or any(part in {"", ".", ".."} for part in parts):
        raise ValueError("must be an absolute path without '.', '..' or doubled slashes")
    return path


def _relative(path: str) -> str:
    if any(part in {"", ".", ".."} for part in path.split("/")):
        raise ValueError("must be a relative path without '.', '..' or doubled slashes")
    return path


def _octal(mode: object) -> object:
    return int(mode, 8) if isinstance(mode, str) and mode.isdigit() and set(mode) <= set("01234567") else mode


ImagePath = Annotated[str, AfterValidator(_inside)]
Mode = Annotated[int, BeforeValidator(_octal), Field(ge=0, le=0o1777)]
DistributionName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Version = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9.+!~:_-]*$")]
PackageName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.+-]+$")]
DigestText = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
LayerName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*$")]
RelativePath = Annotated[str, AfterValidator(_relative)]


class Folder(Part):
    """An empty folder with its owner."""

    path: ImagePath
    mode: Mode = 0o755
    uid: int = 0
    gid: int = 0


class TextFile(Part):
    """A small file written out in the declaration."""

    path: ImagePath
    text: str
    mode: Mode = 0o644


class SymbolicLink(Part):
    """A symbolic link, for what a package's scripts would have made."""

    path: ImagePath
    target: str


class User(Part):
    """A user with a group of the same name and number; `groups` are further ones by name."""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*$")]
    id: Annotated[int, Field(ge=0, le=65_534)]
    home: ImagePath
    groups: tuple[str, ...] = ()


class BaseImage(Part):
    """Another image's layers instead of Debian packages, where Debian's tools are absent."""

    reference: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9./_:-]*@sha256:[0-9a-f]{64}$")]
    python: ImagePath
    site: ImagePath


class BaseSpec(Part):
    """The root file system that every image starts from."""

    format: Literal["pairbench/base"]
    version: Literal[1]
    suite: Annotated[str, StringConstraints(pattern=r"^[a-z]+$")]
    packages: tuple[PackageName, ...]
    omit: tuple[PackageName, ...] = ()
    python: ImagePath
    python_version: Annotated[str, StringConstraints(pattern=r"^3\.[0-9]+$")]
    site: ImagePath
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    users: tuple[User, ...]
    folders: tuple[Folder, ...] = ()
    files: tuple[TextFile, ...] = ()
    links: tuple[SymbolicLink, ...] = ()
    image: BaseImage | None = None


class WheelRequirement(Part):
    """A distribution that is installed into the image's Python."""

    name: DistributionName
    version: Version
    dependencies: bool = False
    archs: tuple[Literal["amd64", "arm64"], ...] = ()
    """Architectures that it is to be had for; every one where none is named."""

    def is_for(self, arch: str) -> bool:
        """Whether images of `arch` have it."""
        return not self.archs or arch in self.archs


class WheelFile(Part):
    """One file out of a wheel, put somewhere else; nothing more of that wheel is installed."""

    layer: LayerName
    wheel: DistributionName
    version: Version
    member: RelativePath
    to: ImagePath
    mode: Mode = 0o644
    sha256: dict[str, DigestText]


class Program(Part):
    """A folder of ours beside `image.toml`, or beside that of another image, copied and compiled."""

    source: RelativePath
    to: ImagePath
    image: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*$")] | None = None
    """The image in whose folder the source stands; none: this image's own."""


class ImageSpec(Part):
    """One image: what is added to the base, and how it is started."""

    format: Literal["pairbench/image"]
    version: Literal[1]
    user: Annotated[str, StringConstraints(pattern=r"^[0-9]+(:[0-9]+)?$")]
    entrypoint: tuple[str, ...]
    working_dir: ImagePath | Literal["/"] = "/"
    environment: dict[str, str] = Field(default_factory=dict)
    drop: tuple[str, ...] = ()
    wheels: tuple[WheelRequirement, ...] = ()
    files: tuple[WheelFile, ...] = ()
    programs: tuple[Program, ...] = ()
    folders: tuple[Folder, ...] = ()
    pod: bool = True
    """Pods are made of it; any other image is built only where it is named."""


S = TypeVar("S", bound=BaseModel)


def image_names(images_dir: Path) -> tuple[str, ...]:
    """The images that `images_dir` declares, by name."""
    return tuple(sorted(path.parent.name for path in images_dir.glob("*/image.toml")))


def pod_image_names(images_dir: Path) -> tuple[str, ...]:
    """The images that pods are made of, by name.

    Raises:
        StudyError: a declaration isn't valid.
    """
    return tuple(name for name in image_names(images_dir) if read_image(name, images_dir).pod)


def read_base(images_dir: Path) -> BaseSpec:
    """The base that `images_dir` declares.

    Raises:
        StudyError: it isn't there or isn't valid; every problem at once.
    """
    return _read(images_dir / BASE_FOLDER / "base.toml", BaseSpec)


def read_image(name: str, images_dir: Path) -> ImageSpec:
    """The image `name` that `images_dir` declares.

    Raises:
        StudyError: there is no such image, or it isn't valid; every problem at once.
    """
    known = image_names(images_dir)
    if name not in known:
        raise StudyError(f"there is no image {name!r}", document=str(images_dir), hint=f"known: {', '.join(known)}")
    return _read(images_dir / name / "image.toml", ImageSpec)


def _read(path: Path, model: type[S]) -> S:
    try:
        value = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise StudyError(f"can't be read: {error.strerror}", document=str(path)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise StudyError(f"not TOML: {error}", document=str(path)) from error
    return validated(model, value, str(path), StudyError)
