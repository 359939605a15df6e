"""The digests of whole images as version control holds them: `images/locks/images.<arch>.json`.

A lock pins what goes in; this file says what came out, so that a change of an image shows in the commit that made it,
and whoever builds can see that theirs is the same one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from runner.core.canonical import parse_json
from runner.core.documents import Part, validated
from runner.core.errors import EvidenceError, StudyError
from runner.images.locks import Arch, lock_path
from runner.images.spec import DigestText, LayerName

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from runner.images.oci import BuiltImage

_FILE = "images"


class ImageDigest(Part):
    """What one image came to."""

    config: DigestText
    manifest: DigestText


class ImageDigests(Part):
    """What every image of one architecture came to, on the locked base."""

    format: Literal["pairbench/image-digests"] = "pairbench/image-digests"
    version: Literal[1] = 1
    arch: Arch
    images: dict[LayerName, ImageDigest]


@dataclass(frozen=True)
class Moved:
    """An image that isn't what was recorded; "" where there is none, or none was recorded."""

    name: str
    recorded: str
    found: str

    def __str__(self) -> str:
        """The change in words."""
        return f"{self.name}: recorded {self.recorded or 'not at all'}, and it is {self.found or 'gone'}"


def digests_path(arch: str, images_dir: Path) -> Path:
    """Where the digests of one architecture stand."""
    return lock_path(_FILE, arch, images_dir)


def read_digests(arch: str, images_dir: Path) -> ImageDigests | None:
    """What is recorded; None where nothing is.

    Raises:
        StudyError: the file isn't valid.
    """
    path = digests_path(arch, images_dir)
    try:
        return validated(ImageDigests, parse_json(path.read_bytes(), str(path)), str(path), StudyError)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StudyError(f"can't be read: {error.strerror}", document=str(path)) from error
    except EvidenceError as error:
        raise StudyError.of(error.problems) from error


def record_digests(images: Sequence[BuiltImage], arch: str, images_dir: Path, *, others: bool = False) -> Path:
    """The file says what `images` are, and with `others` what it says of any other; raises as `read_digests` does."""
    before = read_digests(arch, images_dir) if others else None
    found = {} if before is None else dict(before.images)
    found |= {image.name: ImageDigest(config=image.config_digest, manifest=image.manifest_digest) for image in images}
    return _write(found, arch, images_dir)


def forget_digests(names: Sequence[str], arch: str, images_dir: Path) -> None:
    """Nothing is recorded of the images `names`, or of any where none is named; raises as `read_digests` does."""
    recorded = read_digests(arch, images_dir) if names else None
    kept = {} if recorded is None else {name: pin for name, pin in recorded.images.items() if name not in names}
    if kept:
        _write(kept, arch, images_dir)
    else:
        digests_path(arch, images_dir).unlink(missing_ok=True)


def moved(images: Sequence[BuiltImage], recorded: ImageDigests) -> tuple[Moved, ...]:
    """Those of all `images` that differ from what is recorded, and what is recorded and isn't among them."""
    before = {name: digest.config for name, digest in recorded.images.items()}
    manifests = {name: digest.manifest for name, digest in recorded.images.items()}
    found = {image.name: image for image in images}
    result: list[Moved] = []
    for name in sorted(before.keys() | found.keys()):
        image = found.get(name)
        if image is None or image.config_digest != before.get(name):
            result.append(Moved(name, before.get(name, ""), "" if image is None else image.config_digest))
        elif image.manifest_digest != manifests[name]:
            result.append(Moved(name, manifests[name], image.manifest_digest))
    return tuple(result)


def _write(images: Mapping[str, ImageDigest], arch: str, images_dir: Path) -> Path:
    """The file holds `images`, one a line, so that a change reads as one."""
    path = digests_path(arch, images_dir)
    lines = [
        f"  {json.dumps(name)}: {json.dumps({'config': pin.config, 'manifest': pin.manifest})}"
        for name, pin in sorted(images.items())
    ]
    head = f'{{\n "format": "pairbench/image-digests",\n "version": 1,\n "arch": {json.dumps(arch)},\n "images": {{\n'
    temporary = path.with_suffix(".new")
    temporary.write_text(head + ",\n".join(lines) + "\n }\n}\n", "utf-8")
    temporary.replace(path)
    return path
