"""How does a container's specification read in a Compose file? For docker-compose 1.29 and Compose v2 alike.

Says of each container what the engine was asked for; the one thing that it leaves out are the labels of its owner, by
which whatever a dead run left is removed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import yaml

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runner.ports.engine import ContainerSpec, Tmpfs, TmpfsVolume

FROM: Final = "/from"
"""Where a service that fills volumes finds files of the run."""

_WIDTH: Final = 120
_BYTES_A_FILE: Final = 1024
_NUMERIC: Final = re.compile(r"[-+0-9:._]+")
_OWN_DIGEST: Final = re.compile(r"[:@][0-9a-f]{64}$")


class Interpolated(str):
    """A text in which Compose is to replace variables; in any other, `$` stands for itself."""

    __slots__ = ()


def service(spec: ContainerSpec, volumes: Mapping[str, str], image: str, network: Mapping[str, Any]) -> dict[str, Any]:
    """The service of a container; `volumes` gives the file's own name for each of its volumes."""
    found: dict[str, Any] = {
        "image": image,
        **network,
        "user": spec.user,
        "read_only": True,
        "cap_drop": ["ALL"],
        "cap_add": list(spec.capabilities),
        "security_opt": ["no-new-privileges"],
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


def bind(source: str, name: str) -> dict[str, Any]:
    """A file of the run, seen from the Compose file's folder, as `/from/<name>`."""
    return {"type": "bind", "source": source, "target": f"{FROM}/{name}", "read_only": True}


def volume(name: str, tmpfs: TmpfsVolume | None) -> dict[str, Any]:
    """A volume; None: an ordinary one."""
    if tmpfs is None:
        return {"name": name}
    place = f"size={tmpfs.size_bytes},uid={tmpfs.uid},gid={tmpfs.gid},mode={tmpfs.mode}"
    return {"name": name, "driver_opts": {"type": "tmpfs", "device": "tmpfs", "o": place}}


def pinned(reference: str, identity: str) -> str:
    """A name of the image that can't come to mean another: its own if that holds a digest, else the engine's id."""
    return reference if _OWN_DIGEST.search(reference) or not identity else identity


def rendered(comments: Sequence[str], document: Mapping[str, Any]) -> bytes:
    """The file: comments, then the document, in its order."""
    body = yaml.dump(
        document, Dumper=_Writer, sort_keys=False, default_flow_style=None, width=_WIDTH, allow_unicode=True
    )
    return f"{''.join(f'# {line}'.rstrip() + chr(10) for line in comments)}\n{body}".encode()


def _tmpfs(place: Tmpfs) -> str:
    return (
        f"{place.destination}:rw,nosuid,nodev,size={place.size_bytes},nr_inodes={place.size_bytes // _BYTES_A_FILE},"
        f"uid={place.uid},gid={place.gid},mode={place.mode}"
    )


# PyYAML says nothing of its types.
class _Writer(yaml.SafeDumper):  # type: ignore[misc]
    """Programs stand as they are, line by line, long lists entry by entry; nothing is referred to from elsewhere."""

    def ignore_aliases(self, data: object) -> bool:
        del data
        return True

    def represent_sequence(self, tag: str, sequence: Sequence[Any], flow_style: bool | None = None) -> Any:  # noqa: FBT001 - PyYAML's
        return super().represent_sequence(tag, sequence, flow_style or (None if len(str(sequence)) < _WIDTH else False))


def _text(writer: _Writer, text: str) -> yaml.ScalarNode:
    written = text if isinstance(text, Interpolated) else text.replace("$", "$$")
    # What looks like a number, a time or a span of minutes is one to some reader of YAML.
    style = "|" if "\n" in text else '"' if _NUMERIC.fullmatch(text) else None
    return writer.represent_scalar("tag:yaml.org,2002:str", written, style=style)


_Writer.add_representer(str, _text)
_Writer.add_representer(Interpolated, _text)
