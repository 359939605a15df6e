"""What did the client use up? Memory by the kernel's own count of what it killed, and room by the file systems.

The engine's word isn't enough: engines were seen to report a process that the memory limit ended as any other, and a
container as out of memory that had ended well.
"""

from __future__ import annotations

import os

# The container's own control group, of version 2 and of version 1, as engines mount it.
_COUNTERS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")
# What a trial's client may write to, each a file system of its own in memory.
CLIENT_PLACES = ("/home/agent", "/tmp")


def oom_kills(paths: tuple[str, ...] = _COUNTERS) -> int | None:
    """How many processes of this container the kernel has killed at the memory limit; None when it can't be read."""
    for path in paths:
        try:
            with open(path, "rb") as file:
                lines = file.read().splitlines()
        except OSError:
            continue
        for line in lines:
            name, _, value = line.partition(b" ")
            if name == b"oom_kill" and value.isdigit():
                return int(value)
    return None


def full_places(places: tuple[str, ...] = CLIENT_PLACES) -> list[str]:
    """Those of `places` that are file systems of their own and have no block, or no file, left."""
    return [place for place in places if os.path.ismount(place) and _is_full(place)]


def _is_full(place: str) -> bool:
    try:
        room = os.statvfs(place)
    except OSError:
        return False
    # A file system without a fixed number of files reports none in all.
    return (room.f_blocks > 0 and room.f_bavail == 0) or (room.f_files > 0 and room.f_favail == 0)
