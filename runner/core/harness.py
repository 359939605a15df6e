"""Which code a run is of, by digest, and what else it needed: told of sources and installations wherever they are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core.canonical import digest_of, sha256_digest
from runner.core.lock import HarnessPin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.core.canonical import Digest

NAME: Final = "pairbench"
"""Of the distribution, and of its command."""
REQUIREMENTS: Final = "requirements.txt"
_PINNED: Final = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)")


@dataclass(frozen=True)
class Installation:
    """What an installation of this program says of itself."""

    version: str
    python: str
    """The version of the interpreter that runs it."""
    requires_python: str
    licence: str
    requires: tuple[str, ...]
    """`Requires-Dist` of its metadata."""
    scripts: Mapping[str, str]
    """Command -> what it starts."""
    requirements: bytes
    """Every installed distribution that it needs, as pip reads it."""


def pin_of(sources: Mapping[str, bytes], version: str, python: str, requirements: bytes | None = None) -> HarnessPin:
    """What a lock says of `sources`, each by its path from the folder that holds the package, and of what they need."""
    return HarnessPin(
        version=version,
        source_sha256=source_digest(sources),
        python=python,
        requirements_sha256="" if requirements is None else sha256_digest(requirements),
    )


def source_digest(sources: Mapping[str, bytes]) -> Digest:
    """One digest over the names, below the package, and the contents of `sources`."""
    ordered = sorted(sources, key=lambda name: name.split("/"))
    return digest_of([[name.partition("/")[2], sha256_digest(sources[name])] for name in ordered])


def pinned_versions(requirements: bytes) -> dict[str, str]:
    """Distribution -> version, as far as `requirements` pins them; names as indexes compare them (PEP 503)."""
    lines = requirements.decode("utf-8", "replace").splitlines()
    return {normalized(found[1]): found[2] for line in lines if (found := _PINNED.match(line))}


def normalized(name: str) -> str:
    """The name of a distribution as indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def version_differences(wanted: Mapping[str, str], found: Mapping[str, str]) -> tuple[str, ...]:
    """Distributions of `wanted` that are there in another version, one line each."""
    return tuple(
        f"{name} is {found[name]} here, and was {version}"
        for name, version in sorted(wanted.items())
        if name in found and found[name] != version
    )
