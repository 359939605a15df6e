"""A small world to build images in: two packages, three wheels, one image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from runner.images.inputs import Build, Tools
from runner.images.relock import relock
from runner.images.store import Store
from tests.fakes.image_tools import FakeArchive, FakeCompiler, FakeIndex, deb, wheel

if TYPE_CHECKING:
    from pathlib import Path

BASE = """
format = "pairbench/base"
version = 1
suite = "bookworm"
packages = ["python3"]
omit = ["dpkg"]
python = "/usr/bin/python3.11"
python_version = "3.11"
site = "/usr/local/lib/python3.11/dist-packages"
drop = ["/usr/share/doc/*"]
keep = ["/usr/share/doc/*/copyright"]
users = [{ name = "root", id = 0, home = "/root" }, { name = "agent", id = 10002, home = "/home/agent", groups = ["root"] }]
folders = [{ path = "/tmp", mode = "1777" }, { path = "/pod", mode = "1770", uid = 10004, gid = 10001 }]
links = [{ path = "/usr/bin/awk", target = "mawk" }]
files = [{ path = "/etc/nsswitch.conf", text = "hosts: files\\n" }]
"""

IMAGE = """
format = "pairbench/image"
version = 1
user = "10002"
entrypoint = ["python3", "/opt/pairbench/tool/main.py"]
environment = { PATH = "/usr/bin", LANG = "C.UTF-8" }
drop = ["*/tests/*"]
wheels = [{ name = "alpha", version = "1.0", dependencies = true }]
programs = [{ source = "tool", to = "/opt/pairbench/tool" }]
folders = [{ path = "/index", uid = 10003, gid = 10003 }]

[[files]]
layer = "model"
wheel = "gamma"
version = "3.0"
member = "gamma/model.onnx"
to = "/opt/model/model.onnx"
mode = "0755"
sha256 = { amd64 = "sha256:9372c470eeadd5ecd9c3c74c2b3cb633f8e2f2fad799250a0f70d652b6b825e4", arm64 = "sha256:9372c470eeadd5ecd9c3c74c2b3cb633f8e2f2fad799250a0f70d652b6b825e4" }
"""


@dataclass
class World:
    """Where images are declared, and what the outside holds."""

    folder: Path
    archive: FakeArchive
    index: FakeIndex
    compiler: FakeCompiler

    @property
    def images(self) -> Path:
        return self.folder / "images"

    def build(
        self, cache: str = "cache", *, frozen: bool = False, recorded: bool = False, said: list[str] | None = None
    ) -> Build:
        tools = Tools(self.archive, self.index, self.compiler)
        say = (said if said is not None else []).append
        return Build(self.images, Store(self.folder / cache), tools, "amd64", frozen=frozen, recorded=recorded, say=say)

    def relock(self) -> None:
        relock(self.build("relock"))


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A locked image `tool` on a locked base, with nothing built in the cache named `cache`."""
    archive = FakeArchive(
        {
            "python3": ("3.11.2-1", ("libc6", "dpkg"), _python3()),
            "libc6": ("2.36-9", (), deb({"lib/x86_64-linux-gnu/libc.so.6": b"libc", "lib64/ld.so": "/lib/ld"})),
            "dpkg": ("1.21", (), deb({"usr/bin/dpkg": b"dpkg"})),
        }
    )
    index = FakeIndex(
        {
            "alpha": ("1.0", ("beta",), wheel({"alpha/__init__.py": b"A = 1\n", "alpha/tests/test_a.py": b"!\n"})),
            "beta": ("2.0", (), wheel({"beta.py": b"B = 2\n", "beta-2.0.dist-info/METADATA": b"Name: beta\n"})),
            "gamma": ("3.0", (), wheel({"gamma/model.onnx": b"model", "gamma/__init__.py": b"G = 3\n"})),
        }
    )
    _write(tmp_path / "images/base/base.toml", BASE)
    _write(tmp_path / "images/tool/image.toml", IMAGE)
    _write(tmp_path / "images/tool/tool/main.py", "import inner\n")
    _write(tmp_path / "images/tool/tool/inner/__init__.py", "I = 1\n")
    made = World(tmp_path, archive, index, FakeCompiler())
    relock(made.build("relock"))
    return made


def _python3() -> bytes:
    return deb(
        {
            "./usr/bin/python3.11": b"ELF",
            "./usr/lib/python3.11/os.py": b"O = 1\n",
            "./usr/share/doc/python3/README": b"long",
            "./usr/share/doc/python3/copyright": b"free",
            "./bin/sh": "dash",
            "./usr/lib/python3.11/sitecustomize.py": "/etc/python3.11/sitecustomize.py",
            "./etc/python3.11/sitecustomize.py": b"S = 1\n",
        }
    )


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
