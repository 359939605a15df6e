"""What an engine is, from its two answers to `version` and `info`: Docker's own, or Podman behind Docker's API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_PODMAN: Final = "Podman Engine"
# Podman calls architectures as Go does, Docker as the kernel does.
_KERNEL_NAMES: Final = {"amd64": "x86_64", "arm64": "aarch64"}


def bounds_tmpfs(version: Mapping[str, Any]) -> bool:
    """Whether a private file system in memory can be given an owner and a largest number of files.

    Podman refuses `uid`, `gid` and `nr_inodes` as unknown mount options: seen with 4.3, and so in the sources of 6.0.
    """
    return all(part.get("Name") != _PODMAN for part in version.get("Components") or ())


def architecture_of(info: Mapping[str, Any]) -> str:
    """The engine's architecture, as the kernel calls it.

    Raises:
        KeyError: the engine doesn't say.
    """
    name = str(info["Architecture"])
    return _KERNEL_NAMES.get(name, name)
