"""Whether an attempt's containers were as isolated as `docs/reference/pod.md` says, by the engine and the kernel."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.core.evidence import ContainerFacts, EngineFacts, ExitReport

_SUPERVISOR_MAY: Final = frozenset({"SETUID", "SETGID", "SETPCAP", "KILL"})
# As `volume_name` makes names; the engine's own networks have other ones.
_OUR_NETWORK: Final = re.compile(r"pairbench-[0-9a-f]{32}")
_READ_ONLY: Final = ("/in", "/workspace")
# What containers are made with, by their kinds of mount; an image that declares a volume adds one of the host's disk.
_MOUNTS: Final[Mapping[str, frozenset[tuple[str, str]]]] = {
    "trial": frozenset(
        {
            *(("/in", "volume"), ("/workspace", "volume"), ("/pod", "volume")),
            *(("/home/agent", "tmpfs"), ("/tmp", "tmpfs")),  # noqa: S108 - in the container
        }
    ),
    "gateway": frozenset(
        {
            *(("/in", "volume"), ("/trial-in", "volume"), ("/pod", "volume")),
            ("/tmp", "tmpfs"),  # noqa: S108 - in the container
        }
    ),
    "sidecar": frozenset(
        {("/index", "volume"), ("/qdrant/storage", "tmpfs"), ("/tmp", "tmpfs")}  # noqa: S108 - in the container
    ),
}
_KEY_MOUNT: Final = ("/secret", "volume")
# What images of ours set; a pod sets none. Any other reaches a container's first process before its program does.
_VARIABLES: Final = frozenset({"LANG", "PATH"})
# Variables in which programs expect keys are called so; a pod's own token reaches its client in a document.
_SECRET_ENDS: Final = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_CREDENTIALS")


def isolation_breaches(
    engine: EngineFacts, report: ExitReport | None, *, joins_sidecar: bool, goes_out: bool = False
) -> tuple[str, ...]:
    """What of the isolation didn't hold, a sentence each; none is what every trial must have.

    Where requests go out to a provider, the gateway, and nobody else, is on a network: one of ours.
    """
    return tuple(_breaches(engine, report, joins_sidecar=joins_sidecar, goes_out=goes_out))


def _breaches(engine: EngineFacts, report: ExitReport | None, *, joins_sidecar: bool, goes_out: bool) -> Iterator[str]:
    if engine.trial is not None:
        sidecar = engine.sidecar.id if engine.sidecar is not None and joins_sidecar else None
        network = f"container:{sidecar}" if sidecar is not None else "none"
        yield from _container("trial", engine.trial, network, _SUPERVISOR_MAY)
        yield from _additions("trial", engine.trial, _MOUNTS["trial"])
        for mount in engine.trial.mounts:
            if mount.destination in _READ_ONLY and not mount.read_only:
                yield f"{mount.destination} of the trial can be written"
    if engine.gateway is not None:
        # A gateway that needs a way out may have one of ours, and no other.
        way_out = goes_out and _OUR_NETWORK.fullmatch(engine.gateway.network_mode) is not None
        yield from _container(
            "gateway", engine.gateway, engine.gateway.network_mode if way_out else "none", frozenset()
        )
        key = {_KEY_MOUNT} if goes_out else set()
        yield from _additions("gateway", engine.gateway, _MOUNTS["gateway"] | key)
    if engine.sidecar is not None:
        yield from _container("sidecar", engine.sidecar, "none", frozenset())
        yield from _additions("sidecar", engine.sidecar, _MOUNTS["sidecar"])
    if report is not None and report.client is not None:
        if not report.client.is_powerless():
            yield "the client has capabilities or could gain some"
        if report.client.uid in {0, report.supervisor.uid}:
            yield f"the client ran as uid {report.client.uid}, the supervisor as {report.supervisor.uid}"


def _additions(role: str, facts: ContainerFacts, mounts: frozenset[tuple[str, str]]) -> Iterator[str]:
    """What the container has that no pod gives it: its image, or somebody else, did."""
    for mount in facts.mounts:
        if (mount.destination, mount.type) not in mounts:
            yield f"the {role} has a {mount.type} at {mount.destination}, which no pod gives it"
    strange = [name for name in facts.environment if name not in _VARIABLES and not _may_be_secret(name)]
    if strange:
        yield f"the engine gives the {role} {', '.join(strange)}, which no image of ours sets"


def _may_be_secret(name: str) -> bool:
    return name.upper().endswith(_SECRET_ENDS)


def _container(role: str, facts: ContainerFacts, network: str, may: frozenset[str]) -> Iterator[str]:
    if facts.network_mode != network:
        yield f"the network of the {role} is {facts.network_mode!r}, not {network!r}"
    if not facts.read_only:
        yield f"the root of the {role} can be written"
    if "ALL" not in facts.cap_drop:
        yield f"the {role} keeps the engine's default capabilities"
    more = {capability.removeprefix("CAP_") for capability in facts.cap_add} - may
    if more:
        yield f"the {role} has {', '.join(sorted(more))}"
    if not any(
        option.partition(":")[0] == "no-new-privileges" and option != "no-new-privileges:false"
        for option in facts.security_opt
    ):
        yield f"processes of the {role} may gain privileges"
    secrets = [name for name in facts.environment if _may_be_secret(name)]
    if secrets:
        yield f"the engine gives the {role} {', '.join(secrets)}, where a key could be"
    if facts.memory_bytes <= 0 or facts.pids_limit <= 0:
        yield f"the {role} has no limit of memory or processes"
