"""Could this program have written that Compose file? What other code wrote, or a stranger, is held to what it may ask.

A Compose file is a program with the rights of the engine, and the engine's are those of the machine. Whatever isn't
known here is refused: a key, a mount, a privilege, a variable of whoever starts it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import yaml

from runner.execute.by_hand import KEY_PATH, WAY_OUT

_Is: TypeAlias = Callable[[Any], bool]

_MOST_BYTES: Final = 1 << 16
_SERVICES: Final = frozenset({"gateway", "sidecar", "trial", "inputs", "index", "key", "out"})
_RUNNING: Final = ("gateway", "sidecar", "trial")
_LIMITS: Final = ("mem_limit", "memswap_limit", "pids_limit", "cpus")
_CAPABILITIES: Final[Mapping[str, frozenset[str]]] = {
    "trial": frozenset({"SETUID", "SETGID", "KILL", "SETPCAP"}),
    **dict.fromkeys(("inputs", "index", "key", "out"), frozenset({"DAC_OVERRIDE"})),
}
_NETWORK_MODES: Final = frozenset({"none", "service:sidecar"})
_CONDITIONS: Final = frozenset({"service_started", "service_completed_successfully"})
_FILE: Final = r"[A-Za-z0-9][A-Za-z0-9_.-]*"
_SOURCE: Final = re.compile(rf"(?:\.|\.\./\.\./\.\./inputs(?:/{_FILE})*)/{_FILE}")
_TARGET: Final = re.compile(rf"/from/{_FILE}")
_MOUNT: Final = re.compile(r"([a-z-]+):/[A-Za-z0-9/_-]*:(?:ro,)?nocopy")
_TMPFS: Final = re.compile(r"/[A-Za-z0-9/_-]*:rw,nosuid,nodev,[a-z0-9_=,]+")
_SIZED: Final = re.compile(r"size=[0-9]+,uid=[0-9]+,gid=[0-9]+,mode=[0-9]+")
_VOLUME: Final = re.compile(r"pairbench-[0-9a-f]{32}")
_PLAIN: Final = {"type": "tmpfs", "device": "tmpfs", "o": "size=0,uid=0,gid=0,mode=0"}
# `$$` stands for itself; anything else would be filled in with what the environment of its user holds.
_LITERAL: Final = re.compile(r"(?:[^$]|\$\$)*")


# PyYAML says nothing of its types; the parser in C reads the same in a tenth of the time, where it was built.
class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Reads nothing that two readers of YAML take for two things."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - PyYAML's
        keys = [name.value for name, _ in node.value]
        if len({*keys}) != len(keys):
            raise yaml.YAMLError("a key stands twice")
        if any(name.value == "<<" and not isinstance(held, yaml.MappingNode) for name, held in node.value):
            raise yaml.YAMLError("it merges more than one mapping")
        found: dict[Any, Any] = super().construct_mapping(node, deep=deep)
        return found


def breaches(data: bytes) -> Iterator[str]:
    """What the file asks of an engine that no file of this program does, each with its place."""
    if len(data) > _MOST_BYTES:
        yield f"it is longer than {_MOST_BYTES} bytes"
        return
    try:
        document = yaml.load(data.decode("utf-8"), Loader=_Loader)  # noqa: S506 - a safe loader
    except (yaml.YAMLError, ValueError, TypeError, RecursionError):
        yield "it is not plain YAML"
        return
    if not _is_table(document, {"x-wall", "services", "volumes", "networks"}):
        yield "it is not made of services, volumes and networks"
        return
    services, volumes = document.get("services"), document.get("volumes")
    if not _is_table(services, _SERVICES) or not isinstance(volumes, dict):
        yield "services or volumes: other ones than an attempt has"
        return
    if document.get("networks", WAY_OUT) != WAY_OUT:
        yield "networks"
    yield from (f"volumes.{name}" for name, held in volumes.items() if not _is_volume(held))
    for name, held in services.items():
        yield from (f"services.{name}{place}" for place in _service_breaches(name, held, volumes))


def _service_breaches(name: str, held: object, volumes: Mapping[str, object]) -> Iterator[str]:
    if not isinstance(held, dict):
        yield ""
        return
    if held.get("read_only") is not True or held.get("cap_drop") != ["ALL"]:
        yield ": without its walls"
    if held.get("security_opt") != ["no-new-privileges"]:
        yield ".security_opt"
    if ("network_mode" in held) == ("networks" in held) or ("networks" in held and name != "gateway"):
        yield ".network_mode"
    yield from (f".{limit}" for limit in _LIMITS if name in _RUNNING and limit not in held)
    for key, value in held.items():
        if key == "volumes":
            yield from _mount_breaches(name, value, volumes)
        elif key == "cap_add":
            if not _all(_is_one(_CAPABILITIES.get(name, ())))(value):
                yield ".cap_add"
        elif key not in _MAY or not _MAY[key](value):
            yield f".{key}"


def _mount_breaches(name: str, mounts: object, volumes: Mapping[str, object]) -> Iterator[str]:
    if not isinstance(mounts, list):
        yield ".volumes"
        return
    for number, mount in enumerate(mounts):
        match mount:
            case str() if (found := _MOUNT.fullmatch(mount)) and found[1] in volumes:
                continue
            case {"type": "bind", "source": str(source), "target": str(target), "read_only": True, **rest} if not rest:
                is_key = name == "key" and source == KEY_PATH
                if (is_key or _SOURCE.fullmatch(source)) and _TARGET.fullmatch(target):
                    continue
        yield f".volumes[{number}]"


def _is_volume(held: object) -> bool:
    match held:
        case {"name": str(name), **rest} if _VOLUME.fullmatch(name):
            match rest.pop("driver_opts", _PLAIN):
                case {"type": "tmpfs", "device": "tmpfs", "o": str(place), **others} if not others:
                    return not rest and _SIZED.fullmatch(place) is not None
    return False


def _is_table(held: object, names: Iterable[str]) -> bool:
    return isinstance(held, dict) and {*held} <= {*names}


def _is(pattern: str) -> _Is:
    compiled = re.compile(pattern)
    return lambda held: isinstance(held, str) and compiled.fullmatch(held) is not None


def _is_one(known: Iterable[str]) -> _Is:
    return lambda held: isinstance(held, str) and held in known


def _all(is_one: _Is) -> _Is:
    return lambda held: isinstance(held, list) and all(map(is_one, held))


def _is_limit(held: object) -> bool:
    return isinstance(held, int | float) and not isinstance(held, bool) and 0 < held < math.inf


def _is_literal(held: object) -> bool:
    return isinstance(held, str) and _LITERAL.fullmatch(held) is not None


def _are_variables(held: object) -> bool:
    return isinstance(held, dict) and all(_is_literal(text) for pair in held.items() for text in pair)


def _are_conditions(held: object) -> bool:
    return _is_table(held, _SERVICES) and all(
        isinstance(one, dict) and {*one} == {"condition"} and _is_one(_CONDITIONS)(one["condition"])
        for one in held.values()  # type: ignore[attr-defined]
    )


_MAY: Final[Mapping[str, _Is]] = {
    "image": _is(r"[A-Za-z0-9][A-Za-z0-9._/:@-]*"),
    "read_only": lambda held: held is True,
    "cap_drop": lambda held: held == ["ALL"],
    "security_opt": lambda held: held == ["no-new-privileges"],
    "network_mode": _is_one(_NETWORK_MODES),
    "networks": lambda held: held == ["way-out"],
    "hostname": lambda held: held == "pod",
    "user": _is("[0-9]+:[0-9]+"),
    "group_add": _all(_is("[0-9]+")),
    "mem_limit": _is_limit,
    "memswap_limit": _is_limit,
    "pids_limit": _is_limit,
    "cpus": _is_limit,
    "entrypoint": _all(_is_literal),
    "command": _all(_is_literal),
    "environment": _are_variables,
    "tmpfs": _all(_is(_TMPFS.pattern)),
    "depends_on": _are_conditions,
    "profiles": _all(_is_one({"key", "out"})),
    "stop_grace_period": _is("[0-9]+s"),
}
