"""A real engine takes our archives, reports what was built, and what runs in the images is what the pod page says."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest

from runner.adapters.apt import AptPackages
from runner.adapters.bytecode import ImageInterpreter
from runner.adapters.docker_engine import DockerEngine
from runner.adapters.wheels import PipWheels
from runner.images.archive import archive_chunks, verify_loaded
from runner.images.build import build_images
from runner.images.inputs import Build, Tools, host_arch
from runner.images.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    import docker

    from runner.images.oci import BuiltImage

    Run: TypeAlias = Callable[[str, str, list[str]], str]

pytestmark = [pytest.mark.docker, pytest.mark.slow]
ROOT = Path(__file__).resolve().parents[2]

# What `make images` fills; building from it costs nothing.
CACHE = ROOT / ".cache/images"


@pytest.fixture(scope="module")
def build() -> Build:
    tools = Tools(AptPackages(CACHE / "apt"), PipWheels(), ImageInterpreter())
    return Build(ROOT / "images", Store(CACHE), tools, host_arch())


@pytest.fixture(scope="module")
def images(build: Build, engine_address: str) -> dict[str, BuiltImage]:
    """Our images, loaded: the small ones in any case, the large one where the engine hasn't got it."""
    built = build_images(["gateway", "qdrant", "trial"], build)
    port = DockerEngine(engine_address)
    needed = [image for image in built if image.name != "trial" or port.image(image.tag) is None]
    port.load_images(archive_chunks(needed, build.store, verify=True))
    return {image.name: image for image in built}


@pytest.fixture
def run(engine: docker.DockerClient, images: dict[str, BuiltImage]) -> Run:
    """Runs a program in one of the images as hard as in a pod, and gives its output."""

    def run_in(name: str, user: str, command: list[str]) -> str:
        output: bytes = engine.containers.run(
            images[name].tag,
            command[1:],
            entrypoint=command[:1],
            user=user,
            network_mode="none",
            read_only=True,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            tmpfs={"/tmp": "size=64m"},
            labels={"pairbench.test": str(os.getpid())},
            stderr=True,
            remove=True,
        )
        return output.decode()

    return run_in


def test_the_engine_reports_what_was_built(images: dict[str, BuiltImage], engine_address: str) -> None:
    """Id and layers of every image are those that were computed here, before any engine saw it."""
    port = DockerEngine(engine_address)
    for image in images.values():
        facts = port.image(image.tag)
        assert facts is not None
        verify_loaded(image, reported_id=facts.identity, diff_ids=facts.diff_ids)
        assert facts.architecture == image.arch


def test_folders_have_the_owners_of_the_pod_page(run: Run) -> None:
    """What volumes are mounted on belongs to whoever fills it."""
    wanted = ["/in", "/trial-in", "/workspace", "/pod", "/home/agent", "/tmp"]
    assert run("trial", "10002", ["stat", "-c", "%n %a %u:%g", *wanted]).splitlines() == [
        "/in 755 0:0",
        "/trial-in 755 0:0",
        "/workspace 755 0:0",
        "/pod 1770 10004:10001",
        "/home/agent 700 10002:10002",
        "/tmp 1777 0:0",
    ]
    assert run("qdrant", "10003", ["stat", "-c", "%n %u:%g", "/index", "/qdrant/storage", "/out"]).splitlines() == [
        "/index 10003:10003",
        "/qdrant/storage 10003:10003",
        "/out 10003:10003",
    ]


@pytest.mark.parametrize(
    ("uid", "said"),
    [
        ("10001", "uid=10001(supervisor) gid=10001(supervisor) groups=10001(supervisor)"),
        ("10002", "uid=10002(agent) gid=10002(agent) groups=10002(agent)"),
        ("10003", "uid=10003(sidecar) gid=10003(sidecar) groups=10003(sidecar)"),
        ("10004", "uid=10004(gateway) gid=10004(gateway) groups=10004(gateway),10001(supervisor)"),
    ],
)
def test_every_user_of_a_pod_has_a_name(run: Run, uid: str, said: str) -> None:
    """Users and their groups are known by name in every image."""
    assert run("gateway", uid, ["id"]).strip() == said


def test_python_is_whole(run: Run) -> None:
    """The standard library's extensions find their libraries, without a loader's cache."""
    program = "import bz2, ctypes, curses, hashlib, lzma, readline, sqlite3, ssl, uuid, zoneinfo; print('whole')"
    assert run("gateway", "10004", ["python3", "-c", program]) == "whole\n"


def test_nothing_is_compiled_at_start(run: Run) -> None:
    """Every module that the memory server imports was compiled when the image was built."""
    program = (
        "import os, sys, mcp.server.stdio, numpy, onnxruntime, tokenizers\n"
        "known = [m.__cached__ for m in sys.modules.values() if getattr(m, '__cached__', None)]\n"
        "print(len(known) > 300, [path for path in known if not os.path.exists(path)])\n"
    )
    assert run("trial", "10002", ["python3", "-I", "-c", program]).splitlines()[-1] == "True []"


def test_the_client_and_the_model_are_there(run: Run) -> None:
    """The CLI starts without a network, and the model's files have their declared digests."""
    assert run("trial", "10002", ["/opt/claude/claude", "--version"]) == "2.1.332 (Claude Code)\n"
    digests = run("trial", "10002", ["sha256sum", "/opt/model/model.onnx", "/opt/model/tokenizer.json"])
    assert digests.split()[::2] == [
        "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
        "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    ]


@pytest.mark.parametrize("name", ["gateway", "qdrant", "trial"])
def test_nothing_runs_as_another_user(run: Run, name: str) -> None:
    """No file of an image is set-user-id or set-group-id, and only sticky folders are everyone's to write."""
    program = r"find / -xdev ! -readable -prune -o \( -perm /6000 -o -perm -0002 \) ! -type l -print"
    assert sorted(run(name, "0", ["sh", "-c", program]).split()) == ["/tmp", "/var/lock", "/var/tmp"]


def test_a_shell_has_its_tools(run: Run) -> None:
    """What packages' scripts would have linked is linked, and text is UTF-8."""
    program = "which awk grep find sed bash && printf 'é' | wc -m && awk 'BEGIN { print 1 + 1 }'"
    assert run("trial", "10002", ["sh", "-c", program]).split() == [
        "/usr/bin/awk",
        "/usr/bin/grep",
        "/usr/bin/find",
        "/usr/bin/sed",
        "/usr/bin/bash",
        "1",
        "2",
    ]
