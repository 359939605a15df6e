"""One layer of an image, and the rule that locked inputs give the locked layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.core.errors import EvidenceError
from runner.images.locks import RELOCK_HINT

if TYPE_CHECKING:
    from runner.core.canonical import Digest
    from runner.images.inputs import Build
    from runner.images.store import Blob


@dataclass(frozen=True)
class Layer:
    """A layer in the store: an uncompressed tar, so that its digest is its diff id too; `made_of` is for people."""

    name: str
    blob: Blob
    made_of: str
    key: Digest | None = None
    """The name of its inputs, by which the store finds what its files came out of; None for a layer of another's."""

    @property
    def diff_id(self) -> Digest:
        """The digest of the layer's tar."""
        return self.blob.digest


def held_to_lock(name: str, blob: Blob, locked: str | None, build: Build) -> None:
    """The layer is what the lock says, where the lock says something.

    Raises:
        EvidenceError: it isn't.
    """
    if build.check_layers and locked is not None and locked != blob.digest:
        raise EvidenceError(
            f"layer {name!r} came out as {blob.digest} where the lock has {locked}, from the same locked inputs",
            document="images/locks",
            hint=f"if its declaration or the builder was changed on purpose, {RELOCK_HINT}",
        )
