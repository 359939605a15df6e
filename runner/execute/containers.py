"""Which containers and volumes does an order come to? What the engine is asked for, by the contract of the pod."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runner.core.gateway import KEY_FOLDER
from runner.core.owner import ATTEMPT, ROLE, TRIAL, volume_name
from runner.ports.engine import ContainerSpec, Mount, Tmpfs, TmpfsVolume

if TYPE_CHECKING:
    from runner.execute.order import PodOrder

SUPERVISOR_ID: Final = 10001
CLIENT_ID: Final = 10002
SIDECAR_ID: Final = 10003
GATEWAY_ID: Final = 10004

STORE_BYTES: Final = 16 << 20
"""What the sidecar's store may print, where it is evidence."""

_MIB: Final = 1 << 20
_OWN_PIDS: Final = 64


def labels(order: PodOrder, role: str) -> dict[str, str]:
    """What tells whose a container or a volume is."""
    return {**order.labels, TRIAL: order.planned.trial, ATTEMPT: str(order.attempt), ROLE: role}


def volumes(order: PodOrder) -> dict[str, TmpfsVolume | None]:
    """The pod's own volumes by role; None: an ordinary one."""
    found: dict[str, TmpfsVolume | None] = {
        "gateway-in": None,
        "trial-in": None,
        "pod": TmpfsVolume(order.limits.pod_bytes, GATEWAY_ID, SUPERVISOR_ID, "1770"),
    }
    if order.key is not None:
        # In memory, and no longer than a container that mounts it runs: only the gateway does.
        found["secret"] = TmpfsVolume(_MIB, GATEWAY_ID, GATEWAY_ID, "0700")
    return found


def gateway_spec(order: PodOrder) -> ContainerSpec:
    """The gateway's container."""
    return ContainerSpec(
        name=f"{order.prefix}-gateway",
        image=order.images.gateway,
        labels=labels(order, "gateway"),
        user=f"{GATEWAY_ID}:{GATEWAY_ID}",
        groups=(SUPERVISOR_ID,),
        network=order.network,
        memory_bytes=order.limits.gateway_memory_bytes,
        pids=_OWN_PIDS,
        cpus=1,
        mounts=(
            Mount(_volume(order, "gateway-in"), "/in", read_only=False),
            Mount(_volume(order, "trial-in"), "/trial-in", read_only=False),
            Mount(_volume(order, "pod"), "/pod", read_only=False),
            *((Mount(_volume(order, "secret"), KEY_FOLDER, read_only=False),) if order.key is not None else ()),
        ),
        tmpfs=(Tmpfs("/tmp", 16 * _MIB, GATEWAY_ID, GATEWAY_ID, "0700"),),  # noqa: S108 - in the container
    )


def sidecar_spec(order: PodOrder) -> ContainerSpec:
    """The sidecar's container."""
    memory_bytes = order.limits.sidecar_memory_bytes
    return ContainerSpec(
        name=f"{order.prefix}-sidecar",
        image=order.images.sidecar,
        labels=labels(order, "sidecar"),
        user=f"{SIDECAR_ID}:{SIDECAR_ID}",
        memory_bytes=memory_bytes,
        pids=_OWN_PIDS,
        cpus=1,
        command=("--dump", str(STORE_BYTES)) if order.prints_store else None,
        mounts=(Mount(order.index_volume, "/index", read_only=True),),
        tmpfs=(
            # The other half is left for what Qdrant makes of it.
            Tmpfs("/qdrant/storage", memory_bytes // 2, SIDECAR_ID, SIDECAR_ID, "0700"),
            Tmpfs("/tmp", 16 * _MIB, SIDECAR_ID, SIDECAR_ID, "0700"),  # noqa: S108 - in the container
        ),
    )


def trial_spec(order: PodOrder, sidecar: str) -> ContainerSpec:
    """The trial's container; `sidecar` names the container whose network it joins where its arm declares the memory."""
    limits = order.limits
    return ContainerSpec(
        name=f"{order.prefix}-trial",
        image=order.images.trial,
        labels=labels(order, "trial"),
        user="0:0",
        capabilities=("SETUID", "SETGID", "KILL", "SETPCAP"),
        network_of=sidecar if order.joins_sidecar else None,
        memory_bytes=limits.memory_bytes,
        pids=limits.pids,
        cpus=limits.cpus,
        mounts=(
            Mount(_volume(order, "trial-in"), "/in", read_only=True),
            Mount(order.workspace_volume, "/workspace", read_only=True),
            Mount(_volume(order, "pod"), "/pod", read_only=False),
        ),
        tmpfs=(
            Tmpfs("/home/agent", limits.home_bytes, CLIENT_ID, CLIENT_ID, "0700"),
            Tmpfs("/tmp", limits.tmp_bytes, 0, 0, "1777"),  # noqa: S108 - in the container
        ),
    )


def _volume(order: PodOrder, role: str) -> str:
    return volume_name(order.prefix, role)
