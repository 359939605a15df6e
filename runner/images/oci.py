"""An image's documents as its layers determine them: configuration, manifest, and the indexes of an archive.

OCI image specification 1.0; `manifest.json` is that of `docker save`. Nothing in them depends on where or when they
were made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.core.canonical import Digest, canonical_bytes, sha256_digest
from runner.images.tarball import FIXED_TIME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.core.canonical import Json
    from runner.images.layer import Layer
    from runner.images.packages import Drift
    from runner.images.spec import ImageSpec
    from runner.images.store import Blob

_CONFIG = "application/vnd.oci.image.config.v1+json"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_INDEX = "application/vnd.oci.image.index.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar"
_REPOSITORY = "pairbench"
BASE_LABEL = "org.pairbench.base"


@dataclass(frozen=True)
class BuiltImage:
    """An image whose layers and documents are in the store."""

    name: str
    arch: str
    config: bytes
    manifest: bytes
    layers: tuple[Layer, ...]
    drifted: tuple[Drift, ...] = ()
    base: str = ""
    """What its base is, in words: as locked, or what it is instead."""

    @property
    def config_digest(self) -> Digest:
        """The image's id on an engine that keeps images by their configuration."""
        return sha256_digest(self.config)

    @property
    def manifest_digest(self) -> Digest:
        """The image's id on an engine that keeps images by their manifest (containerd's store)."""
        return sha256_digest(self.manifest)

    @property
    def diff_ids(self) -> tuple[Digest, ...]:
        """The digests of the layers, base first."""
        return tuple(layer.diff_id for layer in self.layers)

    @property
    def tag(self) -> str:
        """A name for the image that never means another: its repository and its configuration's digest."""
        return tag_of(self.name, self.config_digest)

    @property
    def size_bytes(self) -> int:
        """The sum of the layers."""
        return sum(layer.blob.size_bytes for layer in self.layers)


def tag_of(name: str, config_digest: str) -> str:
    """The tag of the image of ours that is called `name` and has that configuration."""
    return f"{_REPOSITORY}/{name}:{config_digest.removeprefix('sha256:')}"


def assembled(name: str, arch: str, spec: ImageSpec, layers: Sequence[Layer], base: str) -> BuiltImage:
    """The image that `layers` make, started as `spec` says; `base` says in words what its base is."""
    config = canonical_bytes(_config(arch, spec, layers, base))
    manifest = manifest_of(config, [layer.blob for layer in layers])
    return BuiltImage(name, arch, config, manifest, tuple(layers), base=base)


def manifest_of(config: bytes, layers: Sequence[Blob]) -> bytes:
    """The manifest of an image with the configuration `config`, whose layers are uncompressed tars."""
    return canonical_bytes(
        {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": _descriptor(_CONFIG, sha256_digest(config), len(config)),
            "layers": [_descriptor(_LAYER, layer.digest, layer.size_bytes) for layer in layers],
        }
    )


def layout_marker() -> bytes:
    """The bytes of `oci-layout`."""
    return canonical_bytes({"imageLayoutVersion": "1.0.0"})


def layout_index(images: Sequence[BuiltImage]) -> bytes:
    """The bytes of `index.json`, which leads to every image by its manifest."""
    return canonical_bytes(
        {
            "schemaVersion": 2,
            "mediaType": _INDEX,
            "manifests": [
                {
                    **_descriptor(_MANIFEST, image.manifest_digest, len(image.manifest)),
                    "platform": {"architecture": image.arch, "os": "linux"},
                    "annotations": {
                        "io.containerd.image.name": f"docker.io/{image.tag}",
                        "org.opencontainers.image.ref.name": image.tag.partition(":")[2],
                    },
                }
                for image in images
            ],
        }
    )


def docker_manifest(images: Sequence[BuiltImage]) -> bytes:
    """The bytes of `manifest.json`, which leads `docker load` to the same blobs."""
    return canonical_bytes(
        [
            {
                "Config": blob_name(image.config_digest),
                "RepoTags": [image.tag],
                "Layers": [blob_name(diff_id) for diff_id in image.diff_ids],
            }
            for image in images
        ]
    )


def blob_name(digest: Digest) -> str:
    """Where a blob stands in a layout."""
    return f"blobs/sha256/{digest.removeprefix('sha256:')}"


def _config(arch: str, spec: ImageSpec, layers: Sequence[Layer], base: str) -> dict[str, Json]:
    return {
        "architecture": arch,
        "os": "linux",
        "created": FIXED_TIME,
        "config": {
            "User": spec.user,
            "Env": [f"{key}={value}" for key, value in sorted(spec.environment.items())],
            "Entrypoint": list(spec.entrypoint),
            "WorkingDir": spec.working_dir,
            "Labels": {BASE_LABEL: base},
        },
        "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in layers]},
        "history": [{"created": FIXED_TIME, "created_by": f"{layer.name}: {layer.made_of}"} for layer in layers],
    }


def _descriptor(media_type: str, digest: Digest, size: int) -> dict[str, Json]:
    return {"mediaType": media_type, "digest": digest, "size": size}
