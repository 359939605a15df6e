"""The supervisor as PID 1 of a hardened container: what its client can't do, and what never survives.

The image under test is named by PAIRBENCH_TRIAL_IMAGE; it holds the supervisor and Python.
"""

from __future__ import annotations

import io
import json
import os
import tarfile
import time
import uuid
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.fakes.supervised import launch_document

if TYPE_CHECKING:
    from collections.abc import Iterator

    import docker
    from docker.models.containers import Container

IMAGE = os.environ.get("PAIRBENCH_TRIAL_IMAGE", "")
pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(not IMAGE, reason="PAIRBENCH_TRIAL_IMAGE names no image to test"),
]
PATIENCE_S = 60
POD_BYTES = 16 * 1024 * 1024
POD_OPTIONS = {"type": "tmpfs", "device": "tmpfs", "o": f"size={POD_BYTES},uid=10004,gid=10001,mode=1770"}
CAPABILITIES = ["SETUID", "SETGID", "KILL", "SETPCAP"]

# Holds the volume, as the gateway does, and answers each connection with what it heard, in capitals.
GATEWAY = """
import os, socket, threading
os.umask(0o007)
os.mkdir('/pod/run', 0o750)
os.chown('/pod/run', 10004, 10001)
listener = socket.socket(socket.AF_UNIX)
listener.bind('/pod/run/gateway.sock')
os.chown('/pod/run/gateway.sock', 10004, 10001)
os.chmod('/pod/run/gateway.sock', 0o660)
listener.listen(64)
def serve(connection):
    with connection:
        heard = b''
        while data := connection.recv(65536):
            heard += data
        connection.sendall(heard.upper())
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""


class Pod:
    """A gateway's container and the trial's, sharing a volume of 16 MiB and no network."""

    def __init__(self, engine: docker.DockerClient, cleanup: ExitStack) -> None:
        self._engine = engine
        self._cleanup = cleanup
        self._labels = {"pairbench.test": uuid.uuid4().hex}
        name = f"pairbench-test-{uuid.uuid4().hex}"
        pod = engine.volumes.create(f"{name}-pod", driver="local", driver_opts=POD_OPTIONS, labels=self._labels)
        cleanup.callback(pod.remove)
        into = engine.volumes.create(f"{name}-in", labels=self._labels)
        cleanup.callback(into.remove)
        self._pod, self._in = str(pod.name), str(into.name)
        self.gateway = self._create(
            ["python3", "-c", GATEWAY],
            user="10004:10004",
            group_add=["10001"],
            cap_drop=["ALL"],
            volumes={self._pod: {"bind": "/pod"}, self._in: {"bind": "/trial-in"}},
        )
        self.gateway.start()

    def _create(self, entrypoint: list[str], **options: Any) -> Container:
        container = self._engine.containers.create(
            IMAGE,
            command=[],
            entrypoint=entrypoint,
            network_mode="none",
            read_only=True,
            security_opt=["no-new-privileges"],
            labels=self._labels,
            **options,
        )
        self._cleanup.callback(container.remove, force=True)
        return container

    def start(self, argv: list[str], **changes: Any) -> Container:
        """The trial's container, started."""
        document = json.dumps(launch_document(argv, **changes)).encode()
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            member = tarfile.TarInfo("launch.json")
            member.size = len(document)
            tar.addfile(member, io.BytesIO(document))
        assert self.gateway.put_archive("/trial-in", archive.getvalue())
        trial = self._create(
            ["python3", "/opt/pairbench/supervisor/main.py", "/in/launch.json"],
            user="0",
            cap_drop=["ALL"],
            cap_add=CAPABILITIES,
            pids_limit=256,
            mem_limit="512m",
            memswap_limit="512m",
            tmpfs={"/tmp": "rw,mode=1777,size=16m", "/home/agent": "rw,uid=10002,gid=10002,mode=0700,size=16m"},
            volumes={self._pod: {"bind": "/pod"}, self._in: {"bind": "/in", "mode": "ro"}},
        )
        trial.start()
        return trial

    def collect(self) -> dict[str, bytes]:
        """The files of the trial's evidence."""
        stream, _ = self.gateway.get_archive("/pod/out")
        with tarfile.open(fileobj=io.BytesIO(b"".join(stream))) as tar:
            members = [member for member in tar.getmembers() if member.isfile()]
            return {os.path.basename(member.name): _content(tar, member) for member in members}

    def run(self, script: str, *arguments: str, **changes: Any) -> tuple[dict[str, Any], bytes]:
        """The report on a Python client, and its output."""
        trial = self.start(["python3", "-c", script, *arguments], **changes)
        assert trial.wait(timeout=PATIENCE_S)["StatusCode"] == 0, trial.logs()
        files = self.collect()
        return json.loads(files["exit.json"]), files["stdout.jsonl"]


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    assert file is not None
    return file.read()


@contextmanager
def a_pod(engine: docker.DockerClient) -> Iterator[Pod]:
    with ExitStack() as cleanup:
        yield Pod(engine, cleanup)


@pytest.fixture
def pod(engine: docker.DockerClient) -> Iterator[Pod]:
    with a_pod(engine) as made:
        yield made


POWERS = """
import ctypes, json, os, signal
libc = ctypes.CDLL(None, use_errno=True)
def attempt(act):
    try:
        act()
    except OSError as error:
        return error.strerror
    return 'done'
def call(name, *arguments):
    def act():
        if getattr(libc, name)(*arguments) < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return act
status = dict(line.split(':', 1) for line in open('/proc/self/status').read().splitlines())
print(json.dumps({
    'ids': [os.getresuid(), os.getresgid(), os.getgroups()],
    'caps': sorted({status[name].strip() for name in status if name.startswith('Cap')}),
    'confined': [status['NoNewPrivs'].strip(), status['Seccomp'].strip()],
    'fds': len(os.listdir('/proc/self/fd')),
    'denied': {
        'list pod': attempt(lambda: os.listdir('/pod')),
        'write pod': attempt(lambda: open('/pod/x', 'w')),
        'forge exit': attempt(lambda: open('/pod/out/exit.json', 'w')),
        'read stdout file': attempt(lambda: open('/pod/out/stdout.jsonl')),
        'gateway socket': attempt(lambda: open('/pod/run/gateway.sock')),
        'environ': attempt(lambda: open('/proc/1/environ', 'rb').read()),
        'fd': attempt(lambda: os.listdir('/proc/1/fd')),
        'mem': attempt(lambda: open('/proc/1/mem', 'rb')),
        'write mem': attempt(lambda: open('/proc/1/mem', 'r+b')),
        'maps': attempt(lambda: open('/proc/1/maps').read()),
        'cwd': attempt(lambda: os.readlink('/proc/1/cwd')),
        'root': attempt(lambda: os.listdir('/proc/1/root')),
        'oom': attempt(lambda: open('/proc/1/oom_score_adj', 'w')),
        'kill': attempt(lambda: os.kill(1, signal.SIGKILL)),
        'stop': attempt(lambda: os.kill(1, signal.SIGSTOP)),
        'term': attempt(lambda: os.kill(1, signal.SIGTERM)),
        'trace': attempt(call('ptrace', 16, 1, 0, 0)),
        'become root': attempt(lambda: os.setuid(0)),
        'become supervisor': attempt(lambda: os.setuid(10001)),
        'join group': attempt(lambda: os.setgroups([10001])),
        'user namespace': attempt(call('unshare', 0x10000000)),
        'write root': attempt(lambda: open('/x', 'w')),
        'write in': attempt(lambda: open('/in/launch.json', 'w')),
    },
}))
"""


def test_the_client_can_do_nothing_to_its_supervisor(pod: Pod) -> None:
    """No capability in any set, another user, and every way to PID 1 and to the evidence closed."""
    report, output = pod.run(POWERS)
    found = json.loads(output)
    denied = found.pop("denied")
    assert found == {
        "ids": [[10002, 10002, 10002], [10002, 10002, 10002], []],
        "caps": ["0000000000000000"],
        "confined": ["1", "2"],
        "fds": 4,
    }
    assert "done" not in denied.values(), denied
    assert {denied[name] for name in ("write root", "write in")} == {"Read-only file system"}
    assert (report["ended_by"], report["exit_code"], report["killed"]) == ("exit", 0, [])


def test_the_report_says_who_both_were(pod: Pod) -> None:
    """The supervisor holds the three capabilities that it needs, the client none; no bounding set is left."""
    report, _ = pod.run("pass")
    none = "0000000000000000"
    confined = {"cap_inheritable": none, "cap_bounding": none, "no_new_privileges": 1, "seccomp": 2}
    held = {"cap_effective": "00000000000000e0", "cap_permitted": "00000000000000e0"}
    assert report["supervisor"] == {"uid": 10001, "gid": 10001, **held, **confined}
    assert report["client"] == {"uid": 10002, "gid": 10002, "cap_effective": none, "cap_permitted": none, **confined}


def test_a_double_fork_in_a_session_of_its_own_is_killed_and_listed(pod: Pod) -> None:
    """An orphan of PID 1's dies with the trial."""
    report, output = pod.run("""
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        os.close(1); os.close(2)
        time.sleep(1000)
    os._exit(0)
os.wait()
""")
    assert report["killed"] == [{"pid": int(output), "comm": "python3", "uid": 10002}]
    assert (report["ended_by"], report["exit_code"], report["reaped"]) == ("exit", 0, 1)


def test_a_client_that_ignores_signals_ends_at_the_deadline(pod: Pod) -> None:
    """Softly asked, then killed; its children too, wherever they went."""
    report, output = pod.run(
        """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        break
os.write(1, b'x')
time.sleep(1000)
""",
        deadline_ms=1500,
        grace_ms=100,
    )
    assert (report["ended_by"], report["exit_code"], report["signal"]) == ("deadline", None, 9)
    assert (output, len(report["killed"]), report["detail"]) == (b"xxxx", 3, "")


def test_the_port_leads_to_the_gateway(pod: Pod) -> None:
    """Bytes go both ways between containers that have no network."""
    script = """
import socket
for number in range(20):
    with socket.create_connection(('127.0.0.1', 8787)) as connection:
        connection.sendall(b'hello %d' % number)
        connection.shutdown(socket.SHUT_WR)
        print(connection.makefile('rb').read().decode())
"""
    forward = {"listen_port": 8787, "socket": "/pod/run/gateway.sock"}
    report, output = pod.run(script, forward=forward)
    assert output.decode().splitlines() == [f"HELLO {number}" for number in range(20)]
    assert report["ended_by"] == "exit"


def test_a_fork_bomb_is_ended(pod: Pod) -> None:
    """Processes up to the limit of the container, all of them gone."""
    report, _ = pod.run(
        """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True:
    try:
        os.fork()
    except OSError:
        time.sleep(0.01)
""",
        deadline_ms=1500,
        grace_ms=100,
    )
    assert (report["ended_by"], report["detail"]) == ("deadline", "")
    assert report["reaped"] + 1 >= len(report["killed"]) > 50
    assert {killed["uid"] for killed in report["killed"]} == {10002}


def test_a_volume_that_fills_up_ends_the_trial_and_not_its_evidence(pod: Pod) -> None:
    """The last word has its room kept, and the cut is reported."""
    script = "import os\nwhile True: os.write(1, bytes(65536))"
    report, output = pod.run(script, stdout_limit_bytes=10 * POD_BYTES)
    assert (report["ended_by"], report["stdout_truncated"]) == ("output_limit", True)
    assert len(output) == report["stdout_bytes"] < POD_BYTES
    assert report["detail"] == f"stdout.jsonl: No space left on device after {len(output)} bytes"


def test_a_client_that_runs_out_of_memory_does_not_take_its_supervisor_along(pod: Pod) -> None:
    """The kernel takes the client; the report is there."""
    report, _ = pod.run("held = []\nwhile True: held.append(b'x' * 2**20)")
    assert (report["ended_by"], report["signal"]) == ("exit", 9)


def test_stopping_the_container_is_cancellation(pod: Pod) -> None:
    """The engine's SIGTERM reaches PID 1, which ends in order."""
    trial = pod.start(["python3", "-c", "import time; time.sleep(1000)"])
    while not trial.logs():
        time.sleep(0.01)  # the engine has no way to wait for a line that leaves no connection open
    assert json.loads(trial.logs()) == {"event": "ready", "program": "supervisor"}
    trial.stop(timeout=PATIENCE_S)
    assert trial.wait(timeout=PATIENCE_S)["StatusCode"] == 0
    report = json.loads(pod.collect()["exit.json"])
    assert (report["ended_by"], report["signal"]) == ("cancelled", 15)


def test_files_that_a_client_leaves_mean_nothing_to_the_supervisor(pod: Pod) -> None:
    """Modules, start-up files and settings of Python in its home and in /tmp."""
    report, _ = pod.run(
        """
import os
for folder in ('/home/agent', '/tmp'):
    for name in ('json.py', 'encodings.py', 'sitecustomize.py', 'usercustomize.py', 'pyvenv.cfg'):
        open(os.path.join(folder, name), 'w').write('raise SystemExit(99)')
""",
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/home/agent"},
    )
    assert (report["ended_by"], report["exit_code"]) == ("exit", 0)
