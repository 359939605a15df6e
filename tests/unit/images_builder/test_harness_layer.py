"""The image of the program itself: what it runs in, and the code of a harness on top."""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import io
import json
import re
import sys
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import runner
from runner.core.errors import EvidenceError, StudyError
from runner.core.harness import normalized, pinned_versions
from runner.images.build import build_image
from runner.images.harness_layer import HARNESS_FOLDER, RUNNER_IMAGE, with_harness
from runner.images.locks import read_image_lock
from runner.images.relock import record_layers, relock
from runner.images.spec import image_names, pod_image_names, read_image

if TYPE_CHECKING:
    from types import ModuleType

    from tests.unit.images_builder.conftest import World

ROOT = Path(__file__).resolve().parents[3]
IMAGES = ROOT / "images"
FILES = {"runner/__init__.py": b"", "pairbench-1.2.3.dist-info/METADATA": b"Name: pairbench\n"}


def pins() -> dict[str, str]:
    """requirements/runtime.txt, as far as it speaks of the image's Python and system."""
    lines = (ROOT / "requirements" / "runtime.txt").read_text("utf-8").splitlines()
    ours = [line for line in lines if not re.search(r"full_version >= '3.12'|win32|== 'emscripten'", line)]
    return pinned_versions("\n".join(ours).encode())


def imported() -> set[str]:
    """Packages beyond the standard library that modules of the program import."""
    found: set[str] = set()
    for path in Path(runner.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            match node:
                case ast.Import(names=names):
                    found |= {name.name.partition(".")[0] for name in names}
                case ast.ImportFrom(module=str(module), level=0):
                    found.add(module.partition(".")[0])
                case _:
                    pass
    return found - set(sys.stdlib_module_names) - {"runner"}


def start_program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("runner_image_start", IMAGES / "runner" / "start" / "main.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_has_what_the_program_imports_in_the_versions_that_are_tested() -> None:
    """Every package that a module of the program names, and what those need in turn."""
    declared = {item.name: item.version for item in read_image(RUNNER_IMAGE, IMAGES).wheels}
    assert {name: pins()[name] for name in declared} == declared
    homes = importlib.metadata.packages_distributions()
    needed = {normalized(name) for package in imported() for name in homes[package]}
    assert needed <= set(declared)
    # ir_measures looks for the libraries that measure at run time, and so names none of them in an import.
    assert "pytrec-eval-terrier" in declared
    for name in declared:
        for line in importlib.metadata.requires(name) or ():
            wanted = re.match(r"[A-Za-z0-9._-]+", line)
            assert wanted is not None
            is_here = normalized(wanted[0]) in declared
            assert is_here or ";" in line or wanted[0] == "scipy", f"{name} needs {line}"


def test_wheels_that_an_architecture_lacks_are_in_the_locks_of_the_others() -> None:
    """Nobody makes a wheel of the library that measures rankings for arm64."""
    spec = read_image(RUNNER_IMAGE, IMAGES)
    locks = {arch: read_image_lock(RUNNER_IMAGE, spec, arch, IMAGES) for arch in ("amd64", "arm64")}
    names = {arch: {normalized(wheel.name) for wheel in lock.wheels} for arch, lock in locks.items()}
    assert names["amd64"] - names["arm64"] == {"pytrec-eval-terrier"}
    assert names["arm64"] <= names["amd64"]


def test_it_is_no_image_of_pods() -> None:
    """So that it is neither built with them, nor can be an arm's."""
    assert set(image_names(IMAGES)) - set(pod_image_names(IMAGES)) == {RUNNER_IMAGE}


def test_the_code_is_put_where_the_image_looks_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    """Builder and program name one folder; without code there, a sentence says so."""
    program = start_program()
    assert program.HARNESS == HARNESS_FOLDER
    assert program.main() == 3
    assert capsys.readouterr().err == (
        "pairbench: this image holds no code in /opt/pairbench/harness; the runner of an archive does\n"
    )


def test_a_harness_is_one_more_layer(world: World) -> None:
    """The image's own layers stay; configuration and manifest say what was added; the same again gives the same."""
    build = world.build()
    image = build_image("tool", build)
    made = with_harness(image, FILES, build.store, "pairbench 1.2.3, sha256:00")
    assert made.layers[:-1] == image.layers
    with tarfile.open(fileobj=io.BytesIO(b"".join(build.store.read_blob(made.diff_ids[-1])))) as archive:
        assert [member.name for member in archive if member.isfile()] == [
            "opt/pairbench/harness/pairbench-1.2.3.dist-info/METADATA",
            "opt/pairbench/harness/runner/__init__.py",
        ]
    config, before = json.loads(made.config), json.loads(image.config)
    assert config["rootfs"] == {"type": "layers", "diff_ids": list(made.diff_ids)}
    assert config["history"][:-1] == before["history"]
    assert config["history"][-1]["created_by"] == "harness: pairbench 1.2.3, sha256:00"
    assert config["config"] == before["config"]
    described = json.loads(made.manifest)
    assert described["config"]["digest"] == made.config_digest != image.config_digest
    assert [layer["digest"] for layer in described["layers"]] == list(made.diff_ids)
    again = with_harness(image, dict(reversed(FILES.items())), build.store, "pairbench 1.2.3, sha256:00")
    assert (again.config_digest, again.manifest_digest) == (made.config_digest, made.manifest_digest)


def test_a_harness_stays_in_its_folder(world: World) -> None:
    """A path that leaves it is refused."""
    build = world.build()
    image = build_image("tool", build)
    with pytest.raises(EvidenceError, match="no path of a file system to be"):
        with_harness(image, {"../start/main.py": b""}, build.store, "x")


def test_one_image_is_relocked_alone(world: World) -> None:
    """What the index has today is taken for it; base and other images stay as they are locked."""
    other = (
        (world.images / "tool/image.toml")
        .read_text("utf-8")
        .replace('source = "tool"', 'image = "tool", source = "tool"')
    )
    (world.images / "other").mkdir()
    (world.images / "other/image.toml").write_text(other, "utf-8")
    locks = world.images / "locks"
    before = {path.name: path.read_bytes() for path in locks.iterdir() if path.name != "images.amd64.json"}
    world.archive.packages["python3"] = ("3.11.3-1", *world.archive.packages["python3"][1:])
    written = relock(world.build("relock"), names=["other"])
    assert [path.name for path in written] == ["other.amd64.json", "other.arm64.json", "images.amd64.json"]
    after = {path.name: path.read_bytes() for path in locks.iterdir()}
    assert {name: after[name] for name in before} == before
    assert after["other.amd64.json"] == before["tool.amd64.json"]
    record_layers(world.build("relock"), ["other"])
    assert {path.name: path.read_bytes() for path in locks.iterdir()} == after


def test_wheels_are_declared_for_architectures_that_there_are(world: World) -> None:
    """A misspelt one would leave the wheel out everywhere."""
    path = world.images / "tool/image.toml"
    text = path.read_text("utf-8").replace("dependencies = true }", 'dependencies = true, archs = ["x86"] }')
    path.write_text(text, "utf-8")
    with pytest.raises(StudyError, match=r"wheels\[0\]\.archs\[0\]"):
        read_image("tool", world.images)
