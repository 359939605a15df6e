"""What a client can reach, tried from inside of real trial containers, with the memory and without.

Threat: an agent with a shell, which is curious, and whose findings would spoil the comparison or the evidence.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.docker.conftest import SECRET

if TYPE_CHECKING:
    from tests.docker.conftest import Program

pytestmark = pytest.mark.docker

PROBE = r"""
import ctypes, errno, http.client, json, os, socket

def number(action):
    try:
        action()
        return 0
    except OSError as error:
        return error.errno

def connects(address, port):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as one:
        one.settimeout(5)
        found = number(lambda: one.connect((address, port)))
        # The kernel may choose the very port as its own: then a connection reaches nobody but itself.
        return errno.ECONNREFUSED if found == 0 and one.getsockname() == one.getpeername() else found

def asks(path):
    one = http.client.HTTPConnection("127.0.0.1", 6333, timeout=5)
    try:
        one.request("GET", path)
        return one.getresponse().status
    except OSError as error:
        return -error.errno
    finally:
        one.close()

def listening():
    found = set()
    for name in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in open(name).read().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A":
                found.add(int(words[1].rpartition(":")[2], 16))
    return sorted(found)

def status():
    lines = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
    names = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Uid", "Gid", "Groups")
    return {name: lines[name].split() for name in names}

def options():
    found = {}
    for line in open("/proc/self/mountinfo"):
        words = line.split()
        found[words[4]] = words[5].split(",")[0]
    return {path: found.get(path) for path in ("/", "/in", "/workspace", "/pod", "/tmp", "/home/agent")}

libc = ctypes.CDLL(None, use_errno=True)

def call(name, *arguments):
    return 0 if getattr(libc, name)(*arguments) == 0 else ctypes.get_errno()

same = {
    "hostname": socket.gethostname(),
    "interfaces": sorted(os.listdir("/sys/class/net")),
    "routes": open("/proc/net/route").read().splitlines()[1:],
    "outside": connects("192.0.2.1", 80),
    "metadata": connects("169.254.169.254", 80),
    "writes": {path: number(lambda: open(path, "wb")) for path in
               ("/workspace/new", "/in/new", "/new", "/etc/new", "/opt/pairbench/new", "/usr/bin/new")},
    "overwrites": {path: number(lambda: open(path, "r+b")) for path in ("/in/launch.json", "/in/prompt.txt")},
    "pod": {path: number(lambda: os.listdir(path)) for path in ("/pod", "/pod/out", "/pod/gateway", "/pod/run")},
    "pod new": number(lambda: open("/pod/new", "wb")),
    "gateway socket": number(lambda: socket.socket(socket.AF_UNIX).connect("/pod/run/gateway.sock")),
    "first": {name: number(lambda: open("/proc/1/" + name, "rb").read(1)) for name in ("environ", "mem", "maps", "auxv")},
    "first's files": number(lambda: os.listdir("/proc/1/fd")),
    "first's root": number(lambda: os.listdir("/proc/1/root")),
    "signals the first": number(lambda: os.kill(1, 0)),
    "becomes root": number(lambda: os.setuid(0)),
    "becomes the supervisor": number(lambda: os.setuid(10001)),
    "mounts": call("mount", b"none", b"/tmp", b"tmpfs", 0, None),
    "new user namespace": call("unshare", 0x10000000),
    "new network namespace": call("unshare", 0x40000000),
    "traces the first": call("ptrace", 16, 1, None, None),
    "engine sockets": [path for path in ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd") if os.path.exists(path)],
    "status": status(),
    "options": options(),
    "variables": sorted(os.environ),
    "home": number(lambda: open(os.path.expanduser("~/new"), "wb")),
    "temporary": number(lambda: open("/tmp/new", "wb")),
    "workspace": sorted(os.listdir("/workspace"))[:1],
    "in": sorted(os.listdir("/in")),
}
differs = {
    "listening": listening(),
    "qdrant": connects("127.0.0.1", 6333),
    "gateway": connects("127.0.0.1", 8787),
    "collections": asks("/collections"),
    "every port": [port for port in range(1, 65536) if connects("127.0.0.1", port) == 0],
    "environment": dict(os.environ),
    "processes": sorted(open("/proc/%s/comm" % name).read().strip() for name in os.listdir("/proc") if name.isdigit()),
    "mountinfo": open("/proc/self/mountinfo").read(),
}
print(json.dumps({"same": same, "differs": differs}))
"""

STUDY = """
format = "pairbench/study"
version = 1
name = "probe"
seed = "probe 1"
repetitions = 1
control = "apart"
corpora = {{ notes = "{corpora}/notes/corpus.toml" }}
model = {{ mode = "scripted", policy = "plain-agent" }}
arms = [{{ name = "apart" }}, {{ name = "joined", sidecar = true }}]
tasks = [{{ id = "look", corpus = "notes", prompt = "Who is there?" }}]

[client]
kind = "command"
command = ["python3", "-c", {probe}]

[limits]
wall_s = 60
memory_bytes = 536870912
"""


@pytest.fixture(scope="module")
def probed(pairbench: Program, corpora: str) -> dict[str, Any]:
    """What the probe found in each arm."""
    text = STUDY.format(corpora=corpora, probe=json.dumps(PROBE))
    (pairbench.folder / "study.toml").write_text(text, "utf-8")
    done = pairbench("run", "study.toml", "--json")
    assert done.returncode == 0, done.stderr + done.stdout
    return {arm: json.loads(pairbench.evidence(f"look.r1.{arm}", "stdout.jsonl")) for arm in ("apart", "joined")}


EACCES, EPERM, EROFS, ECONNREFUSED, ENETUNREACH = 13, 1, 30, 111, 101


def test_without_the_memory_nothing_listens_but_the_gateway(probed: dict[str, Any]) -> None:
    """Every port of the loopback was tried; nobody could look at the index by chance."""
    found = probed["apart"]["differs"]
    assert found["qdrant"] == ECONNREFUSED
    assert found["collections"] == -ECONNREFUSED
    assert found["listening"] == [8787]
    assert found["every port"] == [8787]


def test_with_the_memory_its_sidecar_listens_too(probed: dict[str, Any]) -> None:
    """The probe isn't blind: where something is to be reached, it reaches it."""
    found = probed["joined"]["differs"]
    assert (found["qdrant"], found["gateway"], found["collections"]) == (0, 0, 200)
    assert found["listening"] == [6333, 8787]
    assert found["every port"] == [6333, 8787]


def test_the_log_of_the_sidecar_says_the_same(probed: dict[str, Any], pairbench: Program) -> None:
    """Empty in the arm that can't reach it; in the other one, what the probe asked for."""
    assert probed != {}
    logs = {
        arm: [json.loads(line) for line in pairbench.evidence(f"look.r1.{arm}", "sidecar.jsonl").splitlines()]
        for arm in ("apart", "joined")
    }
    assert [line["event"] for line in logs["apart"]] == ["ready"]
    asked = [(line["method"], line["path"]) for line in logs["joined"] if line["event"] == "request"]
    assert asked == [("GET", "/readyz"), ("GET", "/collections")]


def test_the_two_arms_look_alike(probed: dict[str, Any]) -> None:
    """Host name, interfaces, files, rights, names of variables and processes: nothing tells one from the other."""
    assert probed["apart"]["same"] == probed["joined"]["same"]
    assert probed["apart"]["differs"]["processes"] == probed["joined"]["differs"]["processes"]


def test_there_is_no_way_out(probed: dict[str, Any]) -> None:
    """One interface, no route, and no socket of an engine."""
    found = probed["apart"]["same"]
    assert found["interfaces"] == ["lo"]
    assert found["routes"] == []
    assert (found["outside"], found["metadata"]) == (ENETUNREACH, ENETUNREACH)
    assert found["engine sockets"] == []


def test_what_is_read_only_stays_as_it_is(probed: dict[str, Any]) -> None:
    """Workspace, inputs, programs and the root itself; home and temporary files can be written."""
    found = probed["apart"]["same"]
    assert set(found["writes"].values()) <= {EROFS, EACCES}
    assert set(found["overwrites"].values()) <= {EROFS, EACCES}
    assert (found["options"]["/"], found["options"]["/in"], found["options"]["/workspace"]) == ("ro", "ro", "ro")
    assert (found["home"], found["temporary"]) == (0, 0)
    assert len(found["workspace"]) == 1


def test_the_client_is_nobody(probed: dict[str, Any]) -> None:
    """Its own user and group, no further ones, no capability, none to gain, and filtered system calls."""
    status = probed["apart"]["same"]["status"]
    assert status["Uid"] == status["Gid"] == ["10002"] * 4
    assert status["Groups"] in ([], ["10002"])
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert status[name] == ["0000000000000000"]
    assert (status["NoNewPrivs"], status["Seccomp"]) == (["1"], ["2"])


def test_the_client_can_become_nobody_else(probed: dict[str, Any]) -> None:
    """Neither root nor the supervisor, nor root of a namespace of its own."""
    found = probed["apart"]["same"]
    assert (found["becomes root"], found["becomes the supervisor"]) == (EPERM, EPERM)
    assert found["mounts"] == EPERM
    assert (found["new user namespace"], found["new network namespace"]) == (EPERM, EPERM)


def test_the_evidence_is_out_of_reach(probed: dict[str, Any]) -> None:
    """The pod's volume, the gateway's socket, and everything of the supervisor."""
    found = probed["apart"]["same"]
    assert set(found["pod"].values()) == {EACCES}
    assert found["pod new"] == EACCES
    assert found["gateway socket"] == EACCES
    assert found["first"]["environ"] == EACCES
    assert found["first"]["mem"] == EACCES
    assert set(found["first"].values()) <= {EACCES, EPERM}
    assert (found["first's files"], found["first's root"]) == (EACCES, EACCES)
    assert found["signals the first"] == EPERM
    assert found["traces the first"] == EPERM


def test_no_key_but_those_of_the_pod(probed: dict[str, Any], pairbench: Program) -> None:
    """The key of whoever runs the program is in no environment and in no file of the run."""
    keys: dict[str, set[str]] = {}
    for arm in ("apart", "joined"):
        environment = probed[arm]["differs"]["environment"]
        assert environment == json.loads(pairbench.evidence(f"look.r1.{arm}", "launch.json"))["env"]
        assert environment["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:8787"
        keys[arm] = {value for name, value in environment.items() if name.endswith(("_KEY", "_TOKEN"))}
        assert [len(key) for key in keys[arm]] == [43]
    assert keys["apart"] != keys["joined"]
    found = [path for path in pairbench.run.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert found == []


def test_nothing_names_the_arm(probed: dict[str, Any]) -> None:
    """A client that reads where its volumes come from learns neither study nor arm."""
    for arm in ("apart", "joined"):
        mounts = probed[arm]["differs"]["mountinfo"]
        assert not [word for word in ("probe", "look", "apart", "joined") if word in mounts]


def test_the_run_says_so_too(probed: dict[str, Any], pairbench: Program) -> None:
    """No hole was recorded, and the run verifies."""
    assert probed != {}
    assert pairbench.json("status")["breaches"] == 0
    assert pairbench.json("verify")["holds"]
