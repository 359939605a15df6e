"""The Compose file of an attempt: the pod that ran, what fills its volumes, and who plays the model."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from runner.core.in_files import in_files
from runner.core.launch import InFile, PodLaunch
from runner.execute.by_hand import compose_file
from runner.execute.order import PodImages, PodOrder
from tests.fakes.compose_orders import HEX, IDENTITIES, asking
from tests.fakes.orders import order, planned

PAGE = Path(__file__).parents[3] / "docs" / "howto" / "by-hand.md"


def text(made: PodOrder, *, recorded: bool = False) -> str:
    return compose_file(made, IDENTITIES, recorded=recorded).decode()


def read(made: PodOrder, *, recorded: bool = False) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(text(made, recorded=recorded))
    return document


def comments(made: PodOrder, *, recorded: bool = False) -> list[str]:
    return [line for line in text(made, recorded=recorded).splitlines() if line.startswith("#")]


def program(document: dict[str, Any], name: str) -> str:
    """The Python of a service, as the container gets it."""
    found: str = document["services"][name]["entrypoint"][2]
    return found.replace("$$", "$")


def sources(document: dict[str, Any], name: str) -> dict[str, str]:
    """Target -> source of what is mounted from the run's folder, all of it read-only."""
    binds = [mount for mount in document["services"][name]["volumes"] if isinstance(mount, dict)]
    assert all(mount["read_only"] for mount in binds)
    return {mount["target"]: mount["source"] for mount in binds}


def test_a_container_reads_as_the_engine_was_asked_for_it() -> None:
    """User, network, capabilities, limits, tmpfs and mounts of a trial in reach of its sidecar."""
    assert read(order(planned("joined"), joins_sidecar=True))["services"]["trial"] == {
        "image": f"sha256:{HEX}",
        "network_mode": "service:sidecar",
        "user": "0:0",
        "read_only": True,
        "cap_drop": ["ALL"],
        "cap_add": ["SETUID", "SETGID", "KILL", "SETPCAP"],
        "security_opt": ["no-new-privileges"],
        "mem_limit": 2147483648,
        "memswap_limit": 2147483648,
        "pids_limit": 256,
        "cpus": 2,
        "tmpfs": [
            "/home/agent:rw,nosuid,nodev,size=67108864,nr_inodes=65536,uid=10002,gid=10002,mode=0700",
            "/tmp:rw,nosuid,nodev,size=67108864,nr_inodes=65536,uid=0,gid=0,mode=1777",
        ],
        "volumes": ["trial-in:/in:ro,nocopy", "workspace:/workspace:ro,nocopy", "pod:/pod:nocopy"],
        "depends_on": {
            "gateway": {"condition": "service_started"},
            "sidecar": {"condition": "service_started"},
        },
    }


def test_nothing_has_a_network_unless_a_provider_is_asked() -> None:
    """Every service but a trial beside its sidecar: none; a gateway that asks anew: one of its own."""
    for document in (read(order(planned("off"))), read(asking("replay")), read(asking("record"), recorded=True)):
        assert {service["network_mode"] for service in document["services"].values()} <= {"none", "service:sidecar"}
        assert "networks" not in document
    document = read(asking("live"))
    assert document["services"]["gateway"]["networks"] == ["way-out"]
    assert "network_mode" not in document["services"]["gateway"]
    assert document["networks"] == {"way-out": {"driver_opts": {"com.docker.network.bridge.enable_icc": "false"}}}


def test_every_volume_that_is_mounted_is_declared_under_a_name_of_its_own() -> None:
    """No run and no other attempt has the same, and no name tells a client where it is."""
    first, second = order(planned("off")), order(planned("off"), attempt=2)
    names = [{one["name"] for one in read(made)["volumes"].values()} for made in (first, second)]
    assert not names[0] & names[1]
    assert all(re.fullmatch(r"pairbench-[0-9a-f]{32}", name) for name in names[0])
    for made in (first, asking("live"), asking("replay")):
        document = read(made)
        mounted = {
            mount.partition(":")[0]
            for service in document["services"].values()
            for mount in service["volumes"]
            if isinstance(mount, str)
        }
        assert mounted == set(document["volumes"])
    assert read(first)["volumes"]["pod"]["driver_opts"]["o"] == "size=134217728,uid=10004,gid=10001,mode=1770"


def test_nothing_carries_a_label_of_the_run() -> None:
    """What removes the leavings of dead runs leaves a person's containers alone."""
    assert "label" not in text(order(planned("off")))
    assert "pairbench.run" not in text(asking("live"))


def test_what_it_takes_lies_beside_it_or_in_the_runs_folder() -> None:
    """By relative path; each name is one that a run's folder has."""
    document = read(order(planned("off")))
    assert sources(document, "inputs") == {
        "/from/in.json": "./in.json",
        "/from/launch.json": "./launch.json",
        "/from/gateway.json": "./gateway.json",
        "/from/workspace.tar": "../../../inputs/corpora/notes.tar",
    }
    assert sources(document, "index") == {"/from/index.tar": "../../../inputs/indexes/notes.tar"}


def test_a_trial_without_a_corpus_fills_nothing() -> None:
    """Its workspace and its store begin empty, as they did."""
    document = read(replace(order(planned("off")), corpus=""))
    assert "index" not in document["services"]
    assert "depends_on" not in document["services"]["sidecar"]
    assert "/from/workspace.tar" not in sources(document, "inputs")
    assert document["services"]["sidecar"]["volumes"] == ["index:/index:ro,nocopy"]


@pytest.mark.parametrize(
    ("made", "recorded", "said", "further"),
    [
        (order(planned("off")), False, "# The model: the gateway's policy plain-agent 1 answers as it did.", {}),
        (asking("none"), False, "# The model: none is served, as none was.", {}),
        (
            asking("replay"),
            False,
            "# The model: the run's cassette (inputs/cassette.jsonl) plays what it played.",
            {"/from/cassette.jsonl": "../../../inputs/cassette.jsonl"},
        ),
        (
            asking("record"),
            True,
            "# The model: what this attempt recorded (recording.jsonl, bodies.jsonl.zst) is played; no provider is asked.",
            {"/from/recording.jsonl": "./recording.jsonl", "/from/bodies.jsonl.zst": "./bodies.jsonl.zst"},
        ),
        (
            asking("live"),
            False,
            "# The model: https://model.example was asked, and nothing was recorded, so its answers can't be had again.",
            {},
        ),
        (
            asking("record"),
            False,
            "# The model: https://model.example was asked, and nothing was recorded, so its answers can't be had again.",
            {},
        ),
    ],
)
def test_who_plays_the_model(made: PodOrder, *, recorded: bool, said: str, further: dict[str, str]) -> None:
    """As the attempt's gateway was told, except that what was recorded plays instead of a provider."""
    assert said in comments(made, recorded=recorded)
    found = sources(read(made, recorded=recorded), "inputs")
    usual = {"/from/in.json", "/from/launch.json", "/from/gateway.json", "/from/workspace.tar"}
    assert {target: source for target, source in found.items() if target not in usual} == further


def test_a_key_is_asked_for_only_where_a_provider_is() -> None:
    """As the path of a file; where something was recorded, there is no place for a key at all."""
    document = read(asking("live"))
    assert sources(document, "key") == {
        "/from/provider-key": "${PAIRBENCH_KEY_FILE:?the path of a file that holds the key alone}"
    }
    assert "secret:/secret:nocopy" in document["services"]["gateway"]["volumes"]
    for made, recorded in ((asking("record"), True), (asking("replay"), False), (order(planned("off")), False)):
        document = read(made, recorded=recorded)
        assert "key" not in document["services"]
        assert "secret" not in text(made, recorded=recorded)
    assert "sk-key" not in text(asking("live"))


def test_a_cassette_holds_the_entries_of_the_trial_alone() -> None:
    """By task, arm and repetition, whatever characters those have."""
    odd = replace(planned('a"$b'), task="t'x", repetition=3)
    made = read(replace(asking("replay"), planned=odd))
    assert 'PLACE = ("t\'x", "a\\"$b", 3)\n' in program(made, "inputs")


@pytest.mark.parametrize("mode", ["scripted", "replay", "record", "live"])
def test_its_programs_are_programs(mode: str) -> None:
    """What services are given parses, and no line of it is Compose's to interpolate."""
    made = order(planned("off")) if mode == "scripted" else asking(mode)
    made = replace(made, gateway_files={"ca.pem": b"an authority"})
    document = read(made, recorded=mode == "record")
    names = [name for name, service in document["services"].items() if service.get("entrypoint", [""])[1:2] == ["-c"]]
    assert names == (["inputs", "key", "out"] if mode == "live" else ["inputs", "out"])
    for name in names:
        ast.parse(program(document, name))
    assert ('["model_ca"]' in program(document, "inputs")) == (mode == "live")


def test_images_stand_by_what_cannot_come_to_mean_another() -> None:
    """A tag that is a digest stays, and so does a digest; any other name gives way to the engine's id, if known."""
    ours, theirs, mine = f"pairbench/gateway:{HEX}", f"registry.example/x@sha256:{HEX}", "mine:latest"
    made = replace(order(planned("off")), images=PodImages(ours, theirs, mine))
    services = read(made)["services"]
    assert [services[role]["image"] for role in ("gateway", "sidecar", "trial")] == [ours, theirs, f"sha256:{HEX}"]
    assert f"#   gateway sha256:{HEX} (pairbench/gateway)" in comments(made)
    assert f"#   sidecar sha256:{HEX} (registry.example/x)" in comments(made)
    assert f"#   trial   sha256:{HEX} (mine:latest)" in comments(made)
    unmade = yaml.safe_load(compose_file(made, {}, recorded=False))["services"]
    assert unmade["trial"]["image"] == "mine:latest"
    assert (
        "#   trial   never had a container (mine:latest)"
        in compose_file(made, {}, recorded=False).decode().splitlines()
    )


def test_the_same_attempt_gives_the_same_file() -> None:
    """Whatever is known by then; tokens stand in other files."""
    made = asking("record")
    other = replace(made, gateway=made.gateway.model_copy(update={"tokens": order(planned("else")).gateway.tokens}))
    assert text(made) == text(other)


def test_numbers_and_times_are_texts_to_every_reader_of_yaml() -> None:
    """Users look like minutes and seconds to some of them."""
    written = text(order(planned("off")))
    assert 'user: "10004:10004"' in written
    assert 'group_add: ["10001"]\n' in written


def test_the_page_says_what_the_file_says() -> None:
    """Each command of a file's first lines stands in the page on making a trial by hand."""
    page = PAGE.read_text("utf-8").replace("$FILE", "FILE")
    page = " ".join(page.split())
    for made, recorded in ((order(planned("off")), False), (asking("record"), True), (asking("live"), False)):
        said = comments(replace(made, prints_store=True), recorded=recorded)
        typed = [line[4:] for line in said if line.startswith(("#   docker", "#   export"))]
        assert len(typed) >= 5
        for line in typed:
            assert " ".join(line.partition("  #")[0].split()) in page


def test_what_else_was_in_the_folder_in_is_kept_as_text() -> None:
    """But for what is none."""
    spec = order(planned("off")).launch.spec
    kept = in_files(PodLaunch(spec, (InFile("prompt.txt", "Où?\r\n".encode()), InFile("odd.bin", b"\xff\x00"))))
    assert kept.json_value()["files"] == {"prompt.txt": "Où?\r\n", "odd.bin": {"base64": "/wA="}}
