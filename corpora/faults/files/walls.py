"""Looks for a way out of the trial: each probe that finds one is printed, and the exit code says whether any did.

A probe is a function that returns what it found, or nothing. An `OSError` is a wall.
"""

import contextlib
import ctypes
import errno
import json
import os
import re
import signal
import socket
import stat
from collections.abc import Callable, Iterator, Mapping

SUPERVISOR_ID = 10001
_PTRACE_SEIZE = 0x4206
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNS = 0x00020000
_SYS_PROCESS_VM_READV = 310 if os.uname().machine == "x86_64" else 270
_SYS_PIDFD_OPEN = 434
_SYS_PIDFD_GETFD = 438
# What belongs to the host, to the engine or to the person who runs a study, if it is anywhere.
_FOREIGN = re.compile(
    r"docker\.sock|containerd|\.aws|\.ssh|\.kube|id_rsa|labels\.(toml|json)|expected\.toml|holder\.lock"
)
_SECRETS = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL)")
# Where a cloud's machines are told who they are.
_METADATA = ("169.254.169.254", "169.254.170.2", "fd00:ec2::254")
_DEVICES = ("sd", "vd", "nvme", "kvm", "mem", "fuse")
_TOPS = ("/in", "/workspace", "/pod", "/run", "/var", "/mnt", "/media", "/srv", "/root", "/home", "/opt", "/etc")
_libc = ctypes.CDLL(None, use_errno=True)

Probe = Callable[[], object]


def _outcome(probe: Probe) -> object:
    try:
        return probe()
    except OSError:
        return None


def _report(probes: Mapping[str, Probe]) -> int:
    found = {name: found for name, probe in probes.items() if (found := _outcome(probe))}
    print(json.dumps(found, default=str, sort_keys=True) if found else "nothing")
    return 1 if found else 0


def _call(name: str, *arguments: int) -> object:
    if getattr(_libc, name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)
    return f"{name} went through"


def _did(act: Callable[..., object], *arguments: object) -> str:
    act(*arguments)
    return f"{act.__name__} went through"


def _opened(path: str, flags: int) -> str:
    os.close(os.open(path, flags))
    return f"opened {path}"


# --------------------------------------------------------------------------------------------- network


def _connected(family: int, address: tuple[str, int]) -> str:
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.settimeout(0.3)
        probe.connect(address)
        return f"reached {address[0]}:{address[1]}"


def _interfaces() -> list[str]:
    return [name for _, name in socket.if_nameindex() if name != "lo" and _is_up(name)]


def _is_up(name: str) -> bool:
    # The kernel lists tunnels of its own in every network namespace; they are down and lead nowhere.
    with open(f"/sys/class/net/{name}/flags", encoding="ascii") as file:
        return bool(int(file.read(), 16) & 1)


def _routes() -> list[str]:
    with open("/proc/net/route", encoding="ascii") as file:
        return file.read().splitlines()[1:]


def _names() -> str:
    with contextlib.suppress(socket.gaierror):
        return f"resolved {socket.getaddrinfo('example.com', 443)[0][4][0]}"
    return ""


def _sent() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.sendto(b"?", ("8.8.8.8", 53))
        return "sent a datagram"


def _listeners() -> list[int]:
    """Ports of loopback that answer and that no trial has: only the way to the gateway and a declared sidecar."""
    found = []
    for port in (*range(1, 1024), 2375, 2376, 3000, 5000, 6334, 8000, 8080, 9000, 10250):
        with contextlib.suppress(OSError):
            _connected(socket.AF_INET, ("127.0.0.1", port))
            found.append(port)
    return found


def network() -> int:
    """Nothing answers but loopback: no address, no name, no route, no engine, no metadata."""
    v4, v6 = socket.AF_INET, socket.AF_INET6
    return _report(
        {
            "address": lambda: _connected(v4, ("1.1.1.1", 443)),
            "address of version 6": lambda: _connected(v6, ("2606:4700:4700::1111", 443)),
            "bridge": lambda: _connected(v4, ("172.17.0.1", 22)),
            "engine": lambda: _connected(v4, ("172.17.0.1", 2375)),
            "metadata": lambda: [
                place
                for place in _METADATA
                if _outcome(lambda: _connected(v6 if ":" in place else v4, (place, 80)))  # noqa: B023
            ],
            "name": _names,
            "datagram": _sent,
            "raw socket": lambda: socket.socket(v4, socket.SOCK_RAW, socket.IPPROTO_ICMP),
            "packet socket": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0),
            "interfaces": _interfaces,
            "routes": _routes,
            "listeners": _listeners,
        }
    )


# -------------------------------------------------------------------------------- host, engine, others


def _walked() -> Iterator[str]:
    for top in (
        "/in",
        "/workspace",
        "/pod",
        "/run",
        "/var",
        "/mnt",
        "/media",
        "/srv",
        "/root",
        "/home",
        "/opt",
        "/etc",
    ):
        for folder, _, names in os.walk(top):
            yield from (os.path.join(folder, name) for name in names)


def _foreign_files() -> list[str]:
    return [path for path in _walked() if _FOREIGN.search(path)]


def _sockets() -> list[str]:
    """Unix sockets that can be connected to: in the file system, and by name in the network namespace."""
    with open("/proc/net/unix", encoding="utf-8", errors="replace") as file:
        named = {line.split(maxsplit=7)[7].strip() for line in file.read().splitlines()[1:] if len(line.split()) > 7}
    there = {path for path in _walked() if _is_socket(path)} | {"/pod/run/gateway.sock", "/var/run/docker.sock"}
    return sorted(path for path in named | there if _outcome(lambda: _knocked(path)))  # noqa: B023


def _is_socket(path: str) -> bool:
    with contextlib.suppress(OSError):
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    return False


def _knocked(path: str) -> str:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(0.3)
        probe.connect(path.replace("@", "\0", 1) if path.startswith("@") else path)
        return path


def _host_mounts() -> list[str]:
    """Mounts through which something of the host could be written."""
    found = []
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        for line in file:
            words = line.split()
            kind = words[words.index("-") + 1]
            place, options = words[4], words[5].split(",")
            if kind in {"ext4", "xfs", "btrfs", "overlay", "9p", "virtiofs"} and "rw" in options and place != "/":
                found += [place] if os.access(place, os.W_OK) else []
    return found


def _names_of_the_run() -> list[str]:
    """Words that would tell the client which arm, study or run it is part of."""
    texts = [os.uname().nodename, *(f"{name}={value}" for name, value in os.environ.items())]
    for path in ("/proc/self/mountinfo", "/proc/self/cgroup", "/etc/hostname", "/etc/hosts", "/in/launch.json"):
        with contextlib.suppress(OSError), open(path, encoding="utf-8") as file:
            texts.append(file.read())
    words = ("joined", "faults-", "pairbench.run", "attempt-", "control")
    return sorted({word for word in words for text in texts if word in text})


def _secrets() -> list[str]:
    """Variables that hold a key, but for the token that this pod's gateway takes, under whatever name."""
    own = os.environ["ANTHROPIC_API_KEY"]
    return [name for name, value in os.environ.items() if _SECRETS.search(name) and value != own]


def _other_processes() -> list[int]:
    """Processes of others: a pod's other containers have process spaces of their own."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) not in {1, os.getpid()}]


def surroundings() -> int:
    """No socket, file, mount, word, key or process of anyone else's is there."""
    return _report(
        {
            "files": _foreign_files,
            "sockets": _sockets,
            "mounts": _host_mounts,
            "words": _names_of_the_run,
            "secrets": _secrets,
            "processes": _other_processes,
            "devices": lambda: [
                name for name in os.listdir("/dev") if name.startswith(("sd", "vd", "nvme", "kvm", "mem"))
            ],
            "kernel": lambda: _opened("/proc/sys/kernel/core_pattern", os.O_WRONLY),
            "sysfs": lambda: _opened("/sys/kernel/uevent_helper", os.O_WRONLY),
            "control groups": lambda: _opened("/sys/fs/cgroup/cgroup.procs", os.O_WRONLY),
            "log of the kernel": lambda: _opened("/dev/kmsg", os.O_RDONLY),
        }
    )


# ----------------------------------------------------------------------- read-only places and evidence


def _made(path: str) -> str:
    with open(path, "x", encoding="utf-8"):
        return f"made {path}"


def _mounted_anew() -> object:
    flags = 32 | 4096  # MS_REMOUNT | MS_BIND, without MS_RDONLY
    if _libc.mount(b"none", b"/workspace", b"none", ctypes.c_ulong(flags), None) < 0:
        raise OSError(ctypes.get_errno(), "mount")
    return "remounted"


def workspace() -> int:
    """What is read-only can't be written, replaced, moved, relabelled or mounted anew."""
    own = "/workspace/faults/walls.py"
    return _report(
        {
            "new file": lambda: _made("/workspace/new"),
            "old file": lambda: _opened(own, os.O_WRONLY),
            "appending": lambda: _opened(own, os.O_WRONLY | os.O_APPEND),
            "removal": lambda: _did(os.unlink, own),
            "move": lambda: _did(os.rename, own, "/workspace/other"),
            "mode": lambda: _did(os.chmod, own, 0o777),
            "link": lambda: _did(os.link, own, "/tmp/walls.py"),
            "launch": lambda: _opened("/in/launch.json", os.O_WRONLY),
            "input": lambda: _made("/in/new"),
            "root": lambda: _made("/new"),
            "programs": lambda: _opened("/opt/pairbench/supervisor/main.py", os.O_WRONLY),
            "mount": _mounted_anew,
            "namespaces": lambda: _call("unshare", _CLONE_NEWUSER | _CLONE_NEWNS),
            "device": lambda: _did(os.mknod, "/tmp/null", stat.S_IFCHR | 0o666, os.makedev(1, 3)),
        }
    )


def evidence() -> int:
    """Nothing can be put where evidence is collected from: no file, link, device, pipe, socket or hole."""
    places = ("/pod", "/pod/out", "/pod/gateway", "/pod/run")

    def everywhere(act: Callable[[str], object]) -> Callable[[], list[str]]:
        def tried(place: str) -> bool:
            return bool(_outcome(lambda: [act(os.path.join(place, "x"))]))

        return lambda: [place for place in places if tried(place)]

    def sparse(path: str) -> None:
        with open(path, "wb") as file:
            file.truncate(1 << 40)

    def bound(path: str) -> None:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path)

    return _report(
        {
            "file": everywhere(_made),
            "symbolic link": everywhere(lambda path: os.symlink("/etc/shadow", path)),
            "link upwards": everywhere(lambda path: os.symlink("../../../../etc/passwd", path)),
            "hard link": everywhere(lambda path: os.link("/in/launch.json", path)),
            "folder": everywhere(os.mkdir),
            "pipe": everywhere(os.mkfifo),
            "device": everywhere(lambda path: os.mknod(path, stat.S_IFBLK | 0o666, os.makedev(8, 0))),
            "socket": everywhere(bound),
            "hole": everywhere(sparse),
            "many files": everywhere(lambda path: [_made(f"{path}{number}") for number in range(1000)]),
            "exit.json": lambda: _opened("/pod/out/exit.json", os.O_WRONLY | os.O_CREAT),
            "events": lambda: _opened("/pod/out/stdout.jsonl", os.O_WRONLY | os.O_APPEND),
            "usage": lambda: _opened("/pod/gateway/exchanges.jsonl", os.O_WRONLY | os.O_APPEND),
            "reading": lambda: [place for place in places if _outcome(lambda: os.listdir(place))],  # noqa: B023
            "the gateway itself": lambda: _knocked("/pod/run/gateway.sock"),
        }
    )


# -------------------------------------------------------------------------------------- the supervisor


def _signalled() -> list[str]:
    delivered = []
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGSTOP, signal.SIGUSR1, signal.SIGKILL):
        with contextlib.suppress(PermissionError):
            os.kill(1, number)
            delivered.append(number.name)
    return delivered


def _borrowed_descriptor() -> object:
    pidfd = _libc.syscall(_SYS_PIDFD_OPEN, 1, 0)
    if pidfd < 0:
        raise OSError(ctypes.get_errno(), "pidfd_open")
    try:
        return [fd for fd in range(16) if _libc.syscall(_SYS_PIDFD_GETFD, pidfd, fd, 0) >= 0]
    finally:
        os.close(pidfd)


def _read_from_memory() -> object:
    buffer = ctypes.create_string_buffer(8)

    class Piece(ctypes.Structure):
        _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))

    local, remote = Piece(ctypes.addressof(buffer), 8), Piece(0x400000, 8)
    if _libc.syscall(_SYS_PROCESS_VM_READV, 1, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0) < 0:
        if ctypes.get_errno() == errno.EFAULT:
            return "PID 1 may be read, and nothing is at this address"
        raise OSError(ctypes.get_errno(), "process_vm_readv")
    return "read"


def _spared() -> str:
    """The client asks the kernel to take anybody else when memory runs out."""
    score = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
    try:
        os.write(score, b"-1000")
        return "spared"
    finally:
        os.close(score)


def supervisor() -> int:
    """PID 1 can't be signalled, traced, read, written to or impersonated, and its limits can't be changed."""
    return _report(
        {
            "signals": _signalled,
            # Attaching would stop it, if it went through; whoever may do the one may do the other.
            "trace": lambda: _call("ptrace", _PTRACE_SEIZE, 1, 0, 0),
            "environment": lambda: _opened("/proc/1/environ", os.O_RDONLY),
            "memory": lambda: _opened("/proc/1/mem", os.O_RDWR),
            "maps": lambda: _opened("/proc/1/maps", os.O_RDONLY) and open("/proc/1/maps", "rb").read(1),
            "descriptors": lambda: os.listdir("/proc/1/fd"),
            "descriptor": _borrowed_descriptor,
            "vector of memory": _read_from_memory,
            "root": lambda: os.listdir("/proc/1/root"),
            "working folder": lambda: os.readlink("/proc/1/cwd"),
            "score": lambda: _opened("/proc/1/oom_score_adj", os.O_WRONLY),
            "own score": _spared,
            "priority": lambda: _did(os.setpriority, os.PRIO_PROCESS, 1, 19),
            "limits": lambda: _call("prlimit", 1, 7, 0, 0),
            "root's user": lambda: _did(os.setuid, 0),
            "supervisor's user": lambda: _did(os.setuid, SUPERVISOR_ID),
            "supervisor's group": lambda: _did(os.setgroups, [SUPERVISOR_ID]),
        }
    )
