"""Layers and downloads, kept by digest: `blobs/sha256/<hex>`; `layers/<hex>.json` leads from inputs to what came out.

The folder is a cache: any part of it may be deleted, and several processes may work in it at once, since every file
appears whole under its final name.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.core.canonical import Digest, canonical_bytes, parse_digest, parse_json
from runner.core.errors import EnvironmentNotReady, EvidenceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from typing import IO

_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class Blob:
    """Bytes in the store."""

    digest: Digest
    size_bytes: int


@dataclass(frozen=True)
class Store:
    """The cache folder of image building."""

    folder: Path

    def blob_path(self, digest: Digest) -> Path:
        """Where the blob of `digest` stands, or would."""
        return self.folder / "blobs" / "sha256" / _hex(digest)

    def interpreter_folder(self, base_key: Digest) -> Path:
        """Where the unpacked interpreter of a base stands, or would."""
        return self.folder / "interpreters" / _hex(base_key)

    def downloads(self, kind: str) -> Path:
        """The folder of downloads of one kind, which exists then."""
        return _made(self.folder / "downloads" / kind)

    def add_blob(self, chunks: Iterable[bytes]) -> Blob:
        """The store holds what `chunks` give."""
        digest, size = hashlib.sha256(), 0
        with self.new_file() as (stream, temporary):
            for chunk in chunks:
                digest.update(chunk)
                size += len(chunk)
                stream.write(chunk)
            stream.flush()
            blob = Blob(Digest(f"sha256:{digest.hexdigest()}"), size)
            path = self.blob_path(blob.digest)
            _made(path.parent)
            temporary.replace(path)
        return blob

    def layer(self, key: Digest) -> Blob | None:
        """The layer that was made of the inputs `key`, if it is still there and whole in length."""
        record = self.folder / "layers" / f"{_hex(key)}.json"
        try:
            value = parse_json(record.read_bytes(), str(record))
            if not isinstance(value, dict):
                return None
            blob = Blob(parse_digest(str(value.get("diff_id"))), int(str(value.get("size_bytes"))))
            present = self.blob_path(blob.digest).stat().st_size == blob.size_bytes
        except (OSError, EvidenceError, ValueError):
            return None
        return blob if present else None

    def add_layer(self, key: Digest, chunks: Iterable[bytes]) -> Blob:
        """The store holds the layer of `chunks`, to be found by `key`."""
        blob = self.add_blob(chunks)
        self.write(
            "layers", f"{_hex(key)}.json", canonical_bytes({"diff_id": blob.digest, "size_bytes": blob.size_bytes})
        )
        return blob

    def write(self, kind: str, name: str, data: bytes) -> Path:
        """The file `name` among those of `kind` holds `data`, whole."""
        path = _made(self.folder / kind) / name
        with self.new_file() as (stream, temporary):
            stream.write(data)
            stream.flush()
            temporary.replace(path)
        return path

    def read_blob(self, digest: Digest, *, verify: bool = False) -> Iterator[bytes]:
        """The blob's bytes in chunks.

        Raises:
            EvidenceError: it is gone; with `verify`, at its end, that its bytes have another digest.
        """
        hasher = hashlib.sha256()
        try:
            with self.blob_path(digest).open("rb") as stream:
                while chunk := stream.read(_CHUNK_BYTES):
                    if verify:
                        hasher.update(chunk)
                    yield chunk
        except OSError as error:
            raise EvidenceError(f"blob {digest} is gone", hint="build the image again") from error
        if verify and f"sha256:{hasher.hexdigest()}" != digest:
            raise EvidenceError(f"blob {digest} has changed", hint="delete the cache folder and build again")

    @contextmanager
    def new_file(self) -> Iterator[tuple[IO[bytes], Path]]:
        """A file beside the final places, gone at the end unless it was renamed.

        Raises:
            EnvironmentNotReady: the folder can't be written.
        """
        try:
            handle, name = tempfile.mkstemp(dir=_made(self.folder / "partial"))
        except OSError as error:
            raise EnvironmentNotReady(f"the cache can't be written: {error}", document=str(self.folder)) from error
        temporary = self.folder / "partial" / name
        try:
            with os.fdopen(handle, "wb") as stream:
                yield stream, temporary
        except OSError as error:
            raise EnvironmentNotReady(f"the cache can't be written: {error}", document=str(self.folder)) from error
        finally:
            temporary.unlink(missing_ok=True)


def file_digest(path: Path) -> Digest:
    """The digest of the file's bytes."""
    with path.open("rb") as stream:
        return Digest(f"sha256:{hashlib.file_digest(stream, 'sha256').hexdigest()}")


def _hex(digest: Digest) -> str:
    return digest.removeprefix("sha256:")


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
