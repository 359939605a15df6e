"""What pushing and pulling rely on, of a registry in memory and of a real one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from runner.core.canonical import canonical_bytes, sha256_digest
from runner.core.errors import EnvironmentNotReady

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.core.canonical import Digest
    from runner.ports.registry import Repository

LAYER = b"a layer " * 300_000
CONFIG = b'{"architecture":"amd64","os":"linux"}'


def put(repository: Repository, data: bytes) -> Digest:
    digest = sha256_digest(data)
    halves = (data[: len(data) // 2], data[len(data) // 2 :])
    repository.put_blob(digest, len(data), lambda: iter(halves))
    return digest


def manifest_of(*layers: bytes) -> bytes:
    """A manifest as images of ours have them."""
    return canonical_bytes(
        {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": {
                "mediaType": "application/vnd.oci.image.config.v1+json",
                "digest": sha256_digest(CONFIG),
                "size": len(CONFIG),
            },
            "layers": [
                {
                    "mediaType": "application/vnd.oci.image.layer.v1.tar",
                    "digest": sha256_digest(layer),
                    "size": len(layer),
                }
                for layer in layers
            ],
        }
    )


def test_a_blob_is_there_once_it_was_put(repositories: Callable[[str], Repository]) -> None:
    """It comes back as it was given, in whatever pieces."""
    repository, digest = repositories("one"), sha256_digest(LAYER)
    assert not repository.has_blob(digest, len(LAYER))
    assert put(repository, LAYER) == digest
    assert repository.has_blob(digest, len(LAYER))
    assert b"".join(repository.blob(digest, len(LAYER))) == LAYER


def test_an_empty_blob_is_one_too(repositories: Callable[[str], Repository]) -> None:
    """A blob may have no byte."""
    repository = repositories("empty")
    assert b"".join(repository.blob(put(repository, b""), 0)) == b""


def test_a_blob_is_taken_over_from_another_repository(repositories: Callable[[str], Repository]) -> None:
    """It isn't sent again; from where it isn't, it can't be taken."""
    first, second, digest = repositories("first"), repositories("second"), sha256_digest(LAYER)
    assert not second.mount_blob(digest, first.place)
    put(first, LAYER)
    assert second.mount_blob(digest, first.place)
    assert second.has_blob(digest, len(LAYER))


def test_other_bytes_than_the_digest_says_are_refused(repositories: Callable[[str], Repository]) -> None:
    """A registry holds what it takes to its digest."""
    repository, digest = repositories("other"), sha256_digest(b"these")
    with pytest.raises(EnvironmentNotReady, match="DIGEST_INVALID"):
        repository.put_blob(digest, 5, lambda: iter((b"those",)))
    assert not repository.has_blob(digest, 5)


def test_a_manifest_comes_back_by_its_digest(repositories: Callable[[str], Repository]) -> None:
    """Byte for byte, with layers that are plain tars, so that its digest stays that of the lock."""
    repository = repositories("image")
    put(repository, LAYER)
    put(repository, CONFIG)
    manifest = manifest_of(LAYER)
    repository.put_manifest(manifest, "f" * 64)
    assert repository.manifest(sha256_digest(manifest)) == manifest


def test_what_is_not_there_is_told(repositories: Callable[[str], Repository]) -> None:
    """With the registry's own words."""
    repository = repositories("nothing")
    with pytest.raises(EnvironmentNotReady, match="404: MANIFEST_UNKNOWN"):
        repository.manifest(sha256_digest(b"{}"))
    with pytest.raises(EnvironmentNotReady, match="404: BLOB_UNKNOWN"):
        list(repository.blob(sha256_digest(b"none"), 4))
