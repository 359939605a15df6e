"""The gateway image as the locks of this repository give it, on this machine: the same wherever it is built."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from runner.adapters.bytecode import ImageInterpreter
from runner.core.errors import EnvironmentNotReady
from runner.images.base import debian_base
from runner.images.spec import read_base

if TYPE_CHECKING:
    from runner.images.inputs import Build
    from runner.images.oci import BuiltImage

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[3]
PYTHON = "/usr/bin/python3.11"

AGAIN = """
import os, sys
sys.path.insert(0, sys.argv[1])
os.umask(0o077)
from pathlib import Path
from runner.adapters.apt import AptPackages
from runner.adapters.bytecode import ImageInterpreter
from runner.adapters.wheels import PipWheels
from runner.images.build import build_image
from runner.images.inputs import Build, Tools, host_arch
from runner.images.store import Store
cache = Path(sys.argv[3])
tools = Tools(AptPackages(cache / "apt"), PipWheels(), ImageInterpreter())
image = build_image("gateway", Build(Path(sys.argv[2]), Store(cache), tools, host_arch()))
print(image.config_digest, image.manifest_digest)
"""


def test_another_place_user_mask_zone_locale_and_seed_give_the_same_image(
    real: tuple[BuiltImage, Build], tmp_path: Path
) -> None:
    """A second clone's build shares nothing but the downloads with the first, and comes to the same digests."""
    image, build = real
    clone, cache = tmp_path / "a clone", tmp_path / "another cache"
    shutil.copytree(ROOT / "images", clone)
    shutil.copytree(build.store.folder / "downloads", cache / "downloads")
    odd = {"TZ": "Pacific/Chatham", "LC_ALL": "tr_TR.UTF-8", "PYTHONHASHSEED": "4711", "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", AGAIN, str(ROOT), str(clone), str(cache)],
        env=os.environ | odd,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.split(), done.stderr) == ([image.config_digest, image.manifest_digest], "")


def test_the_layers_are_those_of_the_lock(real: tuple[BuiltImage, Build]) -> None:
    """What is committed as the layers' digests is what comes out, as long as the archive has every locked package."""
    image, build = real
    locks = build.images_dir / "locks"
    base = json.loads((locks / f"base.{build.arch}.json").read_bytes())["layer"]
    wheels = json.loads((locks / f"gateway.{build.arch}.json").read_bytes())["layers"]["wheels"]
    assert image.drifted or list(image.diff_ids[:2]) == [base, wheels]


def test_the_compiled_bytes_do_not_depend_on_company_or_place(real: tuple[BuiltImage, Build], tmp_path: Path) -> None:
    """A source gives the same bytes alone, among others, and from an interpreter that lies elsewhere."""
    _, build = real
    interpreter = debian_base(read_base(build.images_dir), build).interpreter(build)
    sources = {
        f"/opt/{name}.py": (interpreter.root / f"usr/lib/python3.11/{name}.py").read_bytes()
        for name in ("argparse", "dataclasses", "enum", "typing")
    }
    compiler = ImageInterpreter()
    together = compiler.compile(interpreter.root, PYTHON, sources, arch=build.arch)
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(interpreter.root, elsewhere, symlinks=True)
    alone: dict[str, bytes] = {}
    for path, data in reversed(sources.items()):
        alone |= compiler.compile(elsewhere, PYTHON, {path: data}, arch=build.arch)
    assert sorted(together) == [
        f"/opt/__pycache__/{name}.cpython-311.pyc" for name in ("argparse", "dataclasses", "enum", "typing")
    ]
    assert alone == together


def test_the_header_says_that_the_source_need_not_be_looked_at(real: tuple[BuiltImage, Build]) -> None:
    """Compiled files are PEP 552's unchecked, hash-based ones; what isn't valid Python is left out."""
    _, build = real
    interpreter = debian_base(read_base(build.images_dir), build).interpreter(build)
    sources = {"/opt/good.py": b"x = {1, 2, 3}\n", "/opt/bad.py": b"print 'old'\n", "/opt/nul.py": b"x = 1\0"}
    found = ImageInterpreter().compile(interpreter.root, PYTHON, sources, arch=build.arch)
    assert list(found) == ["/opt/__pycache__/good.cpython-311.pyc"]
    (data,) = found.values()
    assert data[:16].hex() == "a70d0d0a01000000" + data[8:16].hex()
    assert b"/opt/good.py" in data


def test_a_machine_that_cannot_run_the_interpreter_is_told(tmp_path: Path) -> None:
    """An interpreter that isn't there, or is of another machine, is an environment that isn't ready."""
    with pytest.raises(EnvironmentNotReady, match="a program of arm64 can't be run here"):
        ImageInterpreter().compile(tmp_path, PYTHON, {"/a.py": b""}, arch="arm64")
