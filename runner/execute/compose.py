"""How does a container's specification read in a Compose file? For docker-compose 1.29 and Compose v2 alike.

Says of each container what the engine was asked for; the one thing that it leaves out are the labels of its owner, by
which whatever a dead run left is removed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from runner.core.visible import visible
from runner.execute.yaml_text import Alias, Anchor, Node, yaml_text

if TYPE_CHECKING:
    from runner.ports.engine import ContainerSpec, Tmpfs, TmpfsVolume

FROM: Final = "/from"
"""Where a service that fills volumes finds files of the run."""

_BYTES_A_FILE: Final = 1024
_WALL: Final = "wall"
_OWN_DIGEST: Final = re.compile(r"(?::|@sha256:)[0-9a-f]{64}$")


class Interpolated(str):
    """A text in which Compose is to replace variables; in any other, `$` stands for itself."""

    __slots__ = ()


def service(
    spec: ContainerSpec, volumes: Mapping[str, str], image: str, network: Mapping[str, Node]
) -> dict[str, Node]:
    """The service of a container; `volumes` gives the file's own name for each of its volumes."""
    found: dict[str, Node] = {
        **walled(image),
        **network,
        "user": spec.user,
        "cap_add": list(spec.capabilities),
        "group_add": [str(group) for group in spec.groups],
        "mem_limit": spec.memory_bytes,
        "memswap_limit": spec.memory_bytes,
        "pids_limit": spec.pids,
        "cpus": spec.cpus,
        "entrypoint": list(spec.entrypoint or ()),
        "command": list(spec.command or ()),
        "environment": dict(spec.environment),
        "tmpfs": [_tmpfs(place) for place in spec.tmpfs],
        "volumes": [
            f"{volumes[mount.volume]}:{mount.destination}:{'ro,' if mount.read_only else ''}nocopy"
            for mount in spec.mounts
        ],
    }
    return {key: value for key, value in found.items() if value not in ([], {})}


def walled(image: str) -> dict[str, Node]:
    """What every service has: a read-only root, and no privilege that it doesn't name."""
    return {"<<": Alias(_WALL), "image": image}


def bind(source: str, name: str) -> dict[str, Node]:
    """A file of the run, seen from the Compose file's folder, as `/from/<name>`."""
    return {"type": "bind", "source": source, "target": f"{FROM}/{name}", "read_only": True}


def volume(name: str, tmpfs: TmpfsVolume | None) -> dict[str, Node]:
    """A volume; None: an ordinary one."""
    if tmpfs is None:
        return {"name": name}
    place = f"size={tmpfs.size_bytes},uid={tmpfs.uid},gid={tmpfs.gid},mode={tmpfs.mode}"
    return {"name": name, "driver_opts": {"type": "tmpfs", "device": "tmpfs", "o": place}}


def pinned(reference: str, identity: str) -> str:
    """A name of the image that can't come to mean another: its own if that holds a digest, else the engine's id."""
    return reference if _OWN_DIGEST.search(reference) or not identity else identity


def named(reference: str) -> str:
    """What people call the image, less a digest in its name."""
    return _OWN_DIGEST.sub("", reference)


def rendered(comments: Sequence[str], document: Mapping[str, Node]) -> bytes:
    """The file: comments, then the document, in its order."""
    wall: Node = Anchor(_WALL, {"read_only": True, "cap_drop": ["ALL"], "security_opt": ["no-new-privileges"]})
    body = yaml_text({"x-wall": wall, **{name: _escaped(held) for name, held in document.items()}})
    return f"{''.join(f'# {_shown(line)}'.rstrip() + chr(10) for line in comments)}\n{body}".encode()


def _shown(line: str) -> str:
    """A comment that ends where its line does, whoever gave it a name or an address."""
    return line if line.isascii() and line.isprintable() else visible(line)


def _tmpfs(place: Tmpfs) -> str:
    return (
        f"{place.destination}:rw,nosuid,nodev,size={place.size_bytes},nr_inodes={place.size_bytes // _BYTES_A_FILE},"
        f"uid={place.uid},gid={place.gid},mode={place.mode}"
    )


def _escaped(node: Node) -> Node:
    """The same, with texts as Compose is to find them."""
    match node:
        case Interpolated():
            return node
        case str():
            return node.replace("$", "$$")
        case Mapping():
            return {name: _escaped(held) for name, held in node.items()}
        case Sequence():
            return [_escaped(held) for held in node]
    return node
