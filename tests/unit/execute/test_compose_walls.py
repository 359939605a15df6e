"""What may a Compose file ask that somebody else's code wrote? What this program's ask, and nothing beyond."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from runner.execute.by_hand import compose_file
from runner.execute.compose_walls import breaches
from tests.fakes.compose_orders import IDENTITIES, asking
from tests.fakes.orders import order, planned

FILE = compose_file(order(planned("joined"), joins_sidecar=True), IDENTITIES, recorded=False)
LIVE = compose_file(asking("live"), IDENTITIES, recorded=False)


def changed(*path: str | int, to: Any, data: bytes = FILE) -> list[str]:
    """The breaches of the file with another value there."""
    document = yaml.safe_load(data)
    held = document
    for step in path[:-1]:
        held = held[step]
    held[path[-1]] = to
    return [*breaches(yaml.safe_dump(document).encode())]


@pytest.mark.parametrize(
    ("mode", "recorded"), [("none", False), ("replay", False), ("record", True), ("record", False), ("live", False)]
)
def test_what_this_program_writes_holds(mode: str, recorded: bool) -> None:  # noqa: FBT001 - a parameter
    """Whoever plays the model, as it is written and as another writer would."""
    data = compose_file(asking(mode), IDENTITIES, recorded=recorded)
    assert [*breaches(data)] == []
    assert [*breaches(yaml.safe_dump(yaml.safe_load(data)).encode())] == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("privileged", True),
        ("cap_add", ["SYS_ADMIN"]),
        ("cap_add", "SYS_ADMIN"),
        ("cap_drop", []),
        ("security_opt", ["no-new-privileges", "apparmor=unconfined"]),
        ("security_opt", []),
        ("read_only", False),
        ("devices", ["/dev/sda"]),
        ("pid", "host"),
        ("ipc", "host"),
        ("network_mode", "host"),
        ("network_mode", "container:x"),
        ("networks", ["way-out"]),
        ("userns_mode", "host"),
        ("cgroup_parent", "x"),
        ("build", "."),
        ("build", {"context": ".", "network": "host"}),
        ("extends", {"file": "other.yaml", "service": "x"}),
        ("env_file", "/etc/shadow"),
        ("environment", ["AWS_SECRET_ACCESS_KEY"]),
        ("environment", {"AWS_SECRET_ACCESS_KEY": None}),
        ("environment", {"X": "${HOME}"}),
        ("entrypoint", ["sh", "-c", "$HOME"]),
        ("command", "sh"),
        ("command", ["$$$HOME"]),
        ("image", "${IMAGE}"),
        ("ports", ["80:80"]),
        ("volumes", ["/:/host"]),
        ("volumes", ["/:/host:ro,nocopy"]),
        ("volumes", ["./x:/host:nocopy"]),
        ("volumes", ["elsewhere:/host:nocopy"]),
        ("volumes", ["pod:/pod:rslave"]),
        ("volumes", {"pod": "/pod"}),
        ("volumes_from", ["container:x"]),
        ("secrets", ["x"]),
        ("configs", ["x"]),
        ("tmpfs", ["/x:rw,exec"]),
        ("hostname", "${HOME}"),
        ("user", "root"),
        ("depends_on", {"other": {"condition": "service_started"}}),
        ("depends_on", {"gateway": {"condition": "x"}}),
        ("depends_on", {"gateway": {"condition": ["service_started"]}}),
        ("cap_add", ["DAC_OVERRIDE"]),
        ("cap_add", ["DAC_READ_SEARCH"]),
        ("pids_limit", -1),
        ("mem_limit", float("inf")),
        ("cpus", 0),
        ("restart", "always"),
        ("runtime", "x"),
        ("post_start", [{"command": "x", "privileged": True}]),
    ],
)
def test_a_service_asks_nothing_else(key: str, value: Any) -> None:
    """Of the engine, of the machine, or of the environment of whoever starts it."""
    found = changed("services", "trial", key, to=value)
    assert found
    assert all(line.startswith("services.trial") for line in found)


@pytest.mark.parametrize("service", ["inputs", "index", "out"])
def test_what_fills_volumes_opens_nothing_by_handle(service: str) -> None:
    """With DAC_READ_SEARCH a root in a container opens files outside it."""
    assert yaml.safe_load(FILE)["services"][service]["cap_add"] == ["DAC_OVERRIDE"]
    found = changed("services", service, "cap_add", to=["DAC_READ_SEARCH"])
    assert found == [f"services.{service}.cap_add"]


@pytest.mark.parametrize("service", ["gateway", "sidecar", "trial"])
@pytest.mark.parametrize("limit", ["mem_limit", "memswap_limit", "pids_limit", "cpus"])
def test_what_runs_has_its_limits(service: str, limit: str) -> None:
    """Without one it could take all that the machine has."""
    document = yaml.safe_load(FILE)
    del document["services"][service][limit]
    assert [*breaches(yaml.safe_dump(document).encode())] == [f"services.{service}.{limit}"]


def test_a_service_without_a_network_says_so() -> None:
    """Compose would give it one."""
    document = yaml.safe_load(FILE)
    del document["services"]["trial"]["network_mode"]
    assert [*breaches(yaml.safe_dump(document).encode())] == ["services.trial.network_mode"]


BIND = {"type": "bind", "source": "./in.json", "target": "/from/in.json", "read_only": True}


@pytest.mark.parametrize(
    "mount",
    [
        BIND | {"source": "/etc"},
        BIND | {"source": "../in.json"},
        BIND | {"source": "./../in.json"},
        BIND | {"source": "./.."},
        BIND | {"source": "../../../inputs/../../x"},
        BIND | {"source": "../../../inputs"},
        BIND | {"source": "../../../runs/x"},
        BIND | {"source": "~/.ssh"},
        BIND | {"source": "${HOME}"},
        BIND | {"source": "./in.json\n"},
        BIND | {"target": "/pod"},
        BIND | {"target": "/from/../pod"},
        BIND | {"read_only": False},
        BIND | {"read_only": "true"},
        BIND | {"type": "volume"},
        BIND | {"bind": {"propagation": "rshared"}},
        {"type": "bind", "source": "./in.json", "target": "/from/in.json"},
        1,
    ],
)
def test_a_file_is_mounted_out_of_the_runs_folder_alone(mount: Any) -> None:
    """Read-only, by a relative path that leads nowhere else."""
    assert changed("services", "inputs", "volumes", 0, to=BIND) == []
    assert changed("services", "inputs", "volumes", 0, to=mount) == ["services.inputs.volumes[0]"]


def test_the_file_of_the_key_is_mounted_where_it_is_handed_over() -> None:
    """And nowhere else."""
    mount = yaml.safe_load(LIVE)["services"]["key"]["volumes"][0]
    assert mount["source"].startswith("${PAIRBENCH_KEY_FILE:?")
    assert changed("services", "key", "volumes", 0, to=mount, data=LIVE) == []
    assert changed("services", "inputs", "volumes", 0, to=mount, data=LIVE) == ["services.inputs.volumes[0]"]


@pytest.mark.parametrize(
    "held",
    [
        None,
        {"name": "pairbench-x"},
        {"name": "pairbench-" + "0" * 32, "external": True},
        {"name": "pairbench-" + "0" * 32, "driver": "x"},
        {"name": "pairbench-" + "0" * 32, "driver_opts": {"type": "none", "device": "/", "o": "bind"}},
        {"name": "pairbench-" + "0" * 32, "driver_opts": {"type": "tmpfs", "device": "tmpfs", "o": "bind"}},
    ],
)
def test_a_volume_is_memory_or_an_ordinary_one_of_its_own(held: Any) -> None:
    """No folder of the machine, and no volume that somebody else made."""
    assert changed("volumes", "pod", to=held) == ["volumes.pod"]


def test_a_file_has_no_other_parts() -> None:
    """Nothing is included, and no network but the one with a way out is made."""
    unknown = ["it is not made of services, volumes and networks"]
    others = ["services or volumes: other ones than an attempt has"]
    assert changed("include", to=["/x.yaml"]) == unknown
    assert changed("secrets", to={"x": {"file": "/etc/shadow"}}) == unknown
    assert changed("x-other", to={}) == unknown
    assert changed("networks", to={"way-out": {"external": True}}) == ["networks"]
    assert changed("services", "other", to={}) == others
    assert changed("services", to=[]) == others
    assert changed("services", "trial", to=1) == ["services.trial"]


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b"\xff",
        b"a: &a [*a]\n? [a]\n: 1",
        b"services: {}\nservices: {}\n",
        b"a: &a {x: 1}\nb: &b {<<: [*a, *a]}\n",
        b"services: !!python/object:os.system x\n",
        b"a: 1\n---\nb: 1\n",
        b"[" * 20000,
    ],
)
def test_what_two_readers_may_read_otherwise_is_not_read(data: bytes) -> None:
    """Keys that stand twice, merges of several mappings, tags, several documents."""
    assert [*breaches(data)] == ["it is not plain YAML"]


def test_a_file_is_no_longer_than_any_of_ours() -> None:
    """Nobody parses what can't be one."""
    assert [*breaches(FILE + b"#" * 65536)] == ["it is longer than 65536 bytes"]
    assert [*breaches(b"[]")] == ["it is not made of services, volumes and networks"]
