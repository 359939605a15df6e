"""Who may what? The supervisor gives up root, and the client everything.

The kernel's `prctl` and `capset` are reached through the C library; the standard library has no call for them.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from typing import TypedDict

SUPERVISOR_ID = 10001

# linux/prctl.h
PR_SET_DUMPABLE = 4
PR_SET_KEEPCAPS = 8
PR_CAPBSET_READ = 23
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4

# linux/capability.h
_CAPABILITY_VERSION_3 = 0x20080522
CAP_KILL = 5
CAP_SETGID = 6
CAP_SETUID = 7
_LAST_POSSIBLE_CAP = 63

# The client and its children are what the kernel should take when memory runs out, never the supervisor.
_CLIENT_OOM_SCORE = b"500"

_libc = ctypes.CDLL(None, use_errno=True)


class Identity(TypedDict):
    """Whose a process is and what it may, as the kernel says; capability sets in hexadecimal."""

    uid: int
    gid: int
    cap_effective: str
    cap_permitted: str
    cap_inheritable: str
    cap_bounding: str
    no_new_privileges: int
    seccomp: int


class _CapHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _CapData(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


def _prctl(option: int, second: int = 0, third: int = 0) -> int:
    result: int = _libc.prctl(option, *(ctypes.c_ulong(value) for value in (second, third, 0, 0)))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}, {second}): {os.strerror(number)}")
    return result


def _set_capabilities(*kept: int) -> None:
    mask = sum(1 << cap for cap in kept)
    header = _CapHeader(_CAPABILITY_VERSION_3, 0)
    data = (_CapData * 2)()
    for half in range(2):
        word = (mask >> (32 * half)) & 0xFFFFFFFF
        data[half] = _CapData(word, word, 0)
    if _libc.capset(ctypes.byref(header), data) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"capset: {os.strerror(number)}")


def _empty_bounding_set() -> None:
    for cap in range(_LAST_POSSIBLE_CAP + 1):
        try:
            held = _prctl(PR_CAPBSET_READ, cap)
        except OSError:
            return  # EINVAL: past the last capability of this kernel
        if held:
            _prctl(PR_CAPBSET_DROP, cap)


def become_supervisor() -> None:
    """This process is out of reach of the client, and adopts whatever its descendants leave behind.

    Started as root, it has the supervisor's own uid afterwards, and only the capabilities to become and to signal the
    client's. Started as anyone else (a test, a developer) it keeps the identity that it has; the evidence shows which.

    Raises:
        OSError: started as root without the capabilities that the change needs.
    """
    if os.geteuid() == 0:
        _empty_bounding_set()
        _prctl(PR_SET_KEEPCAPS, 1)
        os.setgroups([])
        os.setresgid(SUPERVISOR_ID, SUPERVISOR_ID, SUPERVISOR_ID)
        os.setresuid(SUPERVISOR_ID, SUPERVISOR_ID, SUPERVISOR_ID)
        _set_capabilities(CAP_KILL, CAP_SETGID, CAP_SETUID)
        _prctl(PR_SET_KEEPCAPS, 0)
    _prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    _prctl(PR_SET_NO_NEW_PRIVS, 1)
    _prctl(PR_SET_DUMPABLE, 0)
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def can_change_user() -> bool:
    """Whether this process may start a client under another uid."""
    return bool(int(identity(os.getpid())["cap_effective"], 16) >> CAP_SETUID & 1)


def become_client(uid: int, gid: int, *, change_user: bool) -> None:
    """The calling process, forked for the client, has its identity, no capability and default signals.

    Raises:
        OSError: the kernel refused a step; the client must not be started then.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in signal.valid_signals():
        if number not in {signal.SIGKILL, signal.SIGSTOP}:
            # Whoever started us may have ignored some, and ignoring outlives an exec.
            signal.signal(number, signal.SIG_DFL)
    _raise_oom_score()
    if change_user:
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    _set_capabilities()


def _raise_oom_score() -> None:
    # Files of a process that isn't dumpable belong to root; an exec makes the client dumpable anyway.
    _prctl(PR_SET_DUMPABLE, 1)
    try:
        with open("/proc/self/oom_score_adj", "wb") as file:
            file.write(_CLIENT_OOM_SCORE)
    except OSError:
        return  # it is a precaution: without it the kernel chooses by size alone


def identity(pid: int) -> Identity:
    """What the kernel says of the process `pid`, also of one that has ended and isn't reaped.

    Raises:
        OSError: there is no such process.
    """
    # The kernel escapes line ends in the name, so no process can add a line here.
    with open(f"/proc/{pid}/status", "rb") as file:
        text = file.read().decode("utf-8", "backslashreplace")
    lines = dict(line.split(":", 1) for line in text.split("\n") if ":" in line)
    return {
        "uid": int(lines["Uid"].split()[1]),
        "gid": int(lines["Gid"].split()[1]),
        "cap_effective": lines["CapEff"].strip(),
        "cap_permitted": lines["CapPrm"].strip(),
        "cap_inheritable": lines["CapInh"].strip(),
        "cap_bounding": lines["CapBnd"].strip(),
        "no_new_privileges": int(lines["NoNewPrivs"]),
        "seccomp": int(lines["Seccomp"]),
    }
