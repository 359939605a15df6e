"""A base that is another image, pinned by digest, for machines without Debian's tools.

An engine pulls and saves the image; its layers are taken as they are, uncompressed, and one of ours lies over them with
the users and folders of every base, and with what its Python hasn't compiled.
"""

from __future__ import annotations

import gzip
import json
import tarfile
import tempfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from runner.core.canonical import canonical_bytes, parse_digest
from runner.core.errors import EnvironmentNotReady, EvidenceError
from runner.images.base import Base, declared_tree
from runner.images.compiled import unpacked, with_compiled
from runner.images.layer import Layer
from runner.images.origins import Origin
from runner.images.records import add_recorded, record_of
from runner.images.stack import stacked
from runner.images.store import Blob
from runner.images.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import IO

    from runner.core.canonical import Digest, Json
    from runner.images.inputs import Build
    from runner.images.spec import BaseImage, BaseSpec

_GZIP_MAGIC = b"\x1f\x8b"
_CHUNK_BYTES = 1 << 20


def foreign_base(spec: BaseSpec, image: BaseImage, build: Build) -> Base:
    """The base of the pinned image, in the store.

    Raises:
        EnvironmentNotReady: no engine has it or can pull it, its Python doesn't run here, or (frozen) it would not be
            the locked base.
        EvidenceError: the engine's archive isn't an image, or its layers aren't what its configuration says.
    """
    if build.frozen:
        raise EnvironmentNotReady("the locked base needs apt-get, which this machine hasn't got", document="base")
    key = build.key("foreign", {"image": image.reference, "declared": spec.model_dump(mode="json", exclude={"image"})})
    blobs = _remembered(key, build) or _taken(spec, image, key, build)
    *theirs, ours = blobs
    layers = (
        *(Layer("base", blob, image.reference) for blob in theirs),
        Layer("base", ours, f"users and folders over {image.reference}", key),
    )
    return Base(layers, key, image.python, spec.python_version, image.site, f"image {image.reference}")


def _taken(spec: BaseSpec, image: BaseImage, key: Digest, build: Build) -> list[Blob]:
    if build.tools.base_images is None:
        raise EnvironmentNotReady("neither apt-get nor a container engine is here to bring a base", document="base")
    build.say(f"taking {image.reference}")
    with tempfile.TemporaryDirectory(dir=build.store.downloads("images")) as temporary:
        archive = Path(temporary) / "image.tar"
        build.tools.base_images.save(image.reference, archive)
        blobs = _layers(archive, image.reference, build)
    blobs.append(_our_layer(spec, image, key, blobs, build))
    known: list[Json] = [[blob.digest, blob.size_bytes] for blob in blobs]
    build.store.write("foreign", _record(key), canonical_bytes(known))
    return blobs


def _our_layer(spec: BaseSpec, image: BaseImage, key: Digest, blobs: Sequence[Blob], build: Build) -> Blob:
    below = stacked(blobs, build).out_of(image_origin(image.reference))
    interpreter = unpacked(below, image.python, key, build)
    standard_library = str(PurePosixPath(image.site).parent)
    compiled = with_compiled(below, [standard_library], interpreter, build)
    ours = Tree({path: entry for path, entry in compiled.entries.items() if path not in below.entries})
    for path, entry in declared_tree(spec.model_copy(update={"links": ()})).entries.items():
        ours.put(path, entry)
    return add_recorded(key, ours, build.store)


def image_origin(reference: str) -> Origin:
    """Another image, `name@sha256:<hex>`, as what files came out of."""
    name, _, digest = reference.partition("@")
    return Origin("image", name, "", "", digest)


def _layers(archive: Path, origin: str, build: Build) -> list[Blob]:
    try:
        with tarfile.open(archive) as saved:
            (manifest,) = json.loads(_read(saved, "manifest.json"))
            config = json.loads(_read(saved, manifest["Config"]))
            blobs = [build.store.add_blob(_chunks(_member(saved, name))) for name in manifest["Layers"]]
            expected = config["rootfs"]["diff_ids"]
    except (tarfile.TarError, KeyError, ValueError, TypeError) as error:
        raise EvidenceError(f"what the engine saved isn't an image: {error!r}", document=origin) from error
    if [blob.digest for blob in blobs] != expected:
        raise EvidenceError("its layers aren't those of its configuration", document=origin)
    return blobs


def _member(saved: tarfile.TarFile, name: str) -> IO[bytes]:
    stream = saved.extractfile(name)
    if stream is None:
        raise KeyError(name)
    return stream


def _read(saved: tarfile.TarFile, name: str) -> bytes:
    return _member(saved, name).read()


def _chunks(stream: IO[bytes]) -> Iterator[bytes]:
    start = stream.read(len(_GZIP_MAGIC))
    stream.seek(0)
    plain = gzip.GzipFile(fileobj=stream) if start == _GZIP_MAGIC else stream
    while chunk := plain.read(_CHUNK_BYTES):
        yield chunk


def _remembered(key: Digest, build: Build) -> list[Blob] | None:
    try:
        known = json.loads((build.store.folder / "foreign" / _record(key)).read_bytes())
        blobs = [Blob(parse_digest(digest), int(size)) for digest, size in known]
        whole = all(build.store.blob_path(blob.digest).stat().st_size == blob.size_bytes for blob in blobs)
    except (OSError, ValueError, TypeError, EvidenceError):
        return None
    if build.recorded and record_of(key, build.store) is None:
        return None
    return blobs if whole else None


def _record(key: Digest) -> str:
    return f"{key.removeprefix('sha256:')}.json"
