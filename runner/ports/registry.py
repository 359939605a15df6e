"""A repository of a registry, as the OCI distribution specification has it: blobs and manifests, each by its digest.

What a registry answers isn't believed here or by an adapter: whoever takes bytes from it holds them to their digest.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from runner.core.canonical import Digest
from runner.core.errors import StudyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MANIFEST_TYPE: Final = "application/vnd.oci.image.manifest.v1+json"
MANIFEST_LIMIT_BYTES: Final = 4 << 20
"""No manifest is larger: so much a registry has to take (distribution specification 1.0)."""
# Names of the distribution specification 1.0, "Pulling manifests"; a host as Docker tells it from a name.
_HOST: Final = re.compile(
    r"(?:\[[0-9a-fA-F:]+\]|[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*)"
    r"(?::[0-9]{1,5})?"
)
_PART: Final = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_NAME: Final = re.compile(rf"{_PART}(?:/{_PART})*")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_LONGEST_NAME: Final = 255
_PORT: Final = re.compile(r":[0-9]*$")


@dataclass(frozen=True)
class Place:
    """A repository: the registry's host, with its port where that isn't the usual one, and the name on it."""

    host: str
    name: str

    def __str__(self) -> str:
        """As it is written."""
        return f"{self.host}/{self.name}"

    @property
    def last(self) -> str:
        """The last part of its name."""
        return self.name.rpartition("/")[2]

    @property
    def is_loopback(self) -> bool:
        """Whether the registry is on this machine, where nobody listens in."""
        return is_loopback(self.host)

    def below(self, part: str) -> Place:
        """The repository called `part` below this one.

        Raises:
            StudyError: there can be none of that name.
        """
        return parse_place(f"{self}/{part}")


class Repository(Protocol):
    """One repository of a registry.

    Every method raises `EnvironmentNotReady` when the registry can't be reached, refuses, or answers what no registry
    answers; `EvidenceError` when it says itself that it holds something else.
    """

    @property
    def place(self) -> Place:
        """Which one it is."""
        ...

    def close(self) -> None:
        """Nothing is kept open for it any more."""
        ...

    def has_blob(self, digest: Digest, size_bytes: int) -> bool:
        """Whether the blob is there."""
        ...

    def mount_blob(self, digest: Digest, source: Place) -> bool:
        """Whether the blob is there now, taken from another repository of the same registry; False: it must be sent."""
        ...

    def put_blob(self, digest: Digest, size_bytes: int, chunks: Callable[[], Iterator[bytes]]) -> None:
        """The blob is there; `chunks` may be asked for more than once, when the registry wants it sent again."""
        ...

    def blob(self, digest: Digest, size_bytes: int) -> Iterator[bytes]:
        """The bytes that the registry gives for the blob, as they come."""
        ...

    def put_manifest(self, data: bytes, tag: str) -> None:
        """The manifest is there, under its digest and under `tag`."""
        ...

    def manifest(self, digest: Digest) -> bytes:
        """The bytes that the registry gives for the manifest of `digest`."""
        ...


def parse_place(text: str) -> Place:
    """The repository that `HOST[:PORT]/NAME` names.

    Raises:
        StudyError: it names none.
    """
    host, slash, name = text.partition("/")
    is_host = _HOST.fullmatch(host) and ("." in host or ":" in host or host == "localhost")
    if not slash or not is_host or not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        hint = "write it as HOST[:PORT]/NAME, in small letters, without a tag"
        raise StudyError(f"{text!r} names no repository of a registry", hint=hint)
    return Place(host, name)


def parse_pinned(text: str) -> tuple[Place, Digest]:
    """The repository and the digest that `HOST[:PORT]/NAME@sha256:...` names.

    Raises:
        StudyError: it names none; a tag is no name, since what it means may change.
    """
    place, _, digest = text.partition("@")
    if not _DIGEST.fullmatch(digest):
        hint = "write it as HOST[:PORT]/NAME@sha256:..., with all 64 digits"
        raise StudyError(f"{text!r} doesn't name an image by digest", hint=hint)
    return parse_place(place), Digest(digest)


def is_loopback(host: str) -> bool:
    """Whether `host`, with or without a port, is written as this machine itself; what a name leads to isn't asked."""
    name = host if host.endswith("]") else _PORT.sub("", host)
    if name.lower() == "localhost":
        return True
    try:
        address = ipaddress.ip_address(name[1:-1] if name.startswith("[") and name.endswith("]") else name)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        # In an address of the web, and in the name of a repository, such a one stands in brackets.
        return name.startswith("[") and (address.ipv4_mapped or address).is_loopback
    return address.is_loopback
