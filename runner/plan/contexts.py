"""What an engine's builder is to make an image of: a Dockerfile and the folder around it, as one deterministic tar.

Times, owners and modes of the machine don't enter it, and neither does what `.dockerignore` leaves out: its digest is
that of paths, contents and who may execute what.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.core.canonical import sha256_digest
from runner.core.errors import Problem, StudyError
from runner.core.tars import TreeFile, tar_of
from runner.plan.dockerignore import Ignored

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from runner.core.canonical import Digest
    from runner.core.study import UserImage
    from runner.ports.files import Files

MOST_BYTES = 256 << 20
_IGNORE = ".dockerignore"
_COPY = "copy what the image needs into the study's folder"
_BASE = re.compile(rb"^[ \t]*ARG[ \t]+PAIRBENCH_([A-Z0-9_]+)[ \t]*$", re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True)
class Context:
    """A context, and what its Dockerfile asks of us."""

    tar: bytes
    dockerfile: str
    """Its path in the tar."""
    files: int
    bases: tuple[str, ...]
    """The images of ours whose tags it takes as `ARG PAIRBENCH_<NAME>`, by name."""

    @property
    def sha256(self) -> Digest:
        """The digest of the tar."""
        return sha256_digest(self.tar)


def base_argument(name: str) -> str:
    """The `ARG` by which a Dockerfile takes the tag of the image `name`."""
    return f"PAIRBENCH_{name.upper().replace('-', '_')}"


def read_context(image: UserImage, root: Path, files: Files, place: tuple[str, str]) -> Context:
    """The context that a study in the folder `root` declares; `place` is its document and key.

    Raises:
        StudyError: it isn't there, or leads out of that folder, or something in it can't be sent.
    """
    document, key = place
    inner, around = _within(image, place)
    folder = root / around
    for name, told in (("context", around), ("dockerfile", image.dockerfile)):
        path = folder if name == "context" else folder / inner
        # A folder is given away whole: what lies behind a link may be anybody's, and may be another thing tomorrow.
        if files.real(path) != files.real(root) / path.relative_to(root):
            raise StudyError(f"{told} lies behind a link", document=document, key=f"{key}.{name}", hint=_COPY)
    dockerfile = files.read(folder / inner)
    if dockerfile is None:
        raise StudyError(f"there is no file {folder / inner}", document=document, key=f"{key}.dockerfile")
    found = _tree(folder, inner, files, place)
    bases = tuple(sorted({name.decode().lower().replace("_", "-") for name in _BASE.findall(dockerfile)}))
    return Context(tar_of(found), inner, len(found), bases)


def _within(image: UserImage, place: tuple[str, str]) -> tuple[str, str]:
    """The Dockerfile's path in the context, and the context's in the study's folder."""
    document, key = place
    named = {"dockerfile": image.dockerfile} | ({} if image.context is None else {"context": image.context})
    problems = [
        Problem(f"{path} is outside the study's folder", document, f"{key}.{name}", _COPY)
        for name, path in named.items()
        if posixpath.normpath(path).split("/")[0] == ".."
    ]
    if problems:
        raise StudyError.of(problems)
    dockerfile = posixpath.normpath(image.dockerfile)
    context = posixpath.normpath(posixpath.dirname(dockerfile) if image.context is None else image.context)
    if context != "." and not dockerfile.startswith(f"{context}/"):
        raise StudyError(
            f"{image.dockerfile} isn't in the context {image.context}", document=document, key=f"{key}.dockerfile"
        )
    return (dockerfile if context == "." else dockerfile.removeprefix(f"{context}/")), context


def _tree(folder: Path, dockerfile: str, files: Files, place: tuple[str, str]) -> dict[str, TreeFile]:
    document, key = place
    problems: list[Problem] = []
    found: dict[str, TreeFile] = {}
    total = 0
    for path in _kept(folder, dockerfile, files, place):
        if not files.is_regular(folder / path):
            hint = f"copy what it leads to, or name it in {_IGNORE}"
            problems.append(Problem(f"{path} is a link, or no plain file", document, f"{key}.context", hint))
            continue
        data = files.read(folder / path) or b""
        total += len(data)
        if total > MOST_BYTES:
            hint = f"name what the image doesn't need in {_IGNORE}"
            raise StudyError(
                f"{folder} holds more than {MOST_BYTES} bytes", document=document, key=f"{key}.context", hint=hint
            )
        found[path] = TreeFile(data, files.is_executable(folder / path))
    if problems:
        raise StudyError.of(problems)
    return found


def _kept(folder: Path, dockerfile: str, files: Files, place: tuple[str, str]) -> Iterator[str]:
    try:
        ignored = Ignored((files.read(folder / _IGNORE) or b"").decode("utf-8"))
    except ValueError as error:
        raise StudyError(str(error), document=str(folder / _IGNORE), key=place[1]) from error
    for path in files.walk(folder):
        # The builder reads these two itself.
        if path in {dockerfile, _IGNORE} or path not in ignored:
            yield path
