"""Where Debian's tools are absent, an image pinned by digest is the base."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from runner.core.canonical import sha256_digest
from runner.core.errors import EnvironmentNotReady, EvidenceError
from runner.images.build import build_image
from runner.images.tarball import read_tree, tree_chunks
from runner.images.tree import FileEntry, FolderEntry, Held, Tree

if TYPE_CHECKING:
    from pathlib import Path

    from runner.images.inputs import Build
    from tests.unit.images_builder.conftest import World

REFERENCE = "docker.io/library/python@sha256:" + "d" * 64
DECLARED = f"""
[image]
reference = "{REFERENCE}"
python = "/usr/local/bin/python3.11"
site = "/usr/local/lib/python3.11/site-packages"
"""


def layer(entries: dict[str, bytes]) -> bytes:
    return b"".join(tree_chunks(Tree({path: FileEntry(Held(data), 0o755) for path, data in entries.items()})))


LOWER = layer(
    {
        "/usr/local/bin/python3.11": b"ELF",
        "/usr/local/lib/python3.11/os.py": b"O = 1\n",
        "/usr/local/lib/python3.11/old.py": b"OLD = 1\n",
        "/etc/passwd": b"other\n",
    }
)
UPPER = layer({"/usr/local/lib/python3.11/.wh.old.py": b"", "/usr/local/lib/python3.11/new.py": b"N = 1\n"})


@dataclass
class FakeEngine:
    """An engine that saves one image; its second layer is compressed, as some engines save them."""

    diff_ids: tuple[str, ...] = (sha256_digest(LOWER), sha256_digest(UPPER))
    asked: list[str] = field(default_factory=list)

    def save(self, reference: str, destination: Path) -> None:
        self.asked.append(reference)
        config = json.dumps({"rootfs": {"diff_ids": list(self.diff_ids)}}).encode()
        manifest = json.dumps([{"Config": "c.json", "Layers": ["0/layer.tar", "1/layer.tar"]}]).encode()
        with tarfile.open(destination, "w") as archive:
            for name, data in (
                ("0/layer.tar", LOWER),
                ("1/layer.tar", gzip.compress(UPPER)),
                ("c.json", config),
                ("manifest.json", manifest),
            ):
                member = tarfile.TarInfo(name)
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))


def without_apt(world: World, engine: FakeEngine | None, *, frozen: bool = False) -> Build:
    path = world.images / "base/base.toml"
    if "[image]" not in path.read_text("utf-8"):
        path.write_text(path.read_text("utf-8") + DECLARED, "utf-8")
    world.archive.present = False
    build = world.build(frozen=frozen)
    return replace(build, tools=replace(build.tools, base_images=engine))


def test_its_layers_are_taken_and_ours_lies_over_them(world: World) -> None:
    """The image's layers are the lowest, uncompressed; users, folders and compiled files of ours come above."""
    engine = FakeEngine()
    build = without_apt(world, engine)
    image = build_image("tool", build)
    assert image.diff_ids[:2] == (sha256_digest(LOWER), sha256_digest(UPPER))
    ours = read_tree(io.BytesIO(build.store.blob_path(image.diff_ids[2]).read_bytes()), "ours")
    files = {path: entry.data() for path, entry in ours.entries.items() if isinstance(entry, FileEntry)}
    assert files == {
        "/etc/group": b"root:x:0:agent\nagent:x:10002:\n",
        "/etc/nsswitch.conf": b"hosts: files\n",
        "/etc/passwd": b"root:x:0:0:root:/root:/bin/sh\nagent:x:10002:10002:agent:/home/agent:/bin/sh\n",
        "/usr/local/lib/python3.11/__pycache__/new.cpython-311.pyc": b"compiled N = 1\n",
        "/usr/local/lib/python3.11/__pycache__/os.cpython-311.pyc": b"compiled O = 1\n",
    }
    assert ours.entries["/pod"] == FolderEntry(0o1770, 10004, 10001)


def test_the_image_says_what_its_base_is(world: World) -> None:
    """The label names the pinned image, and wheels go to its own site folder."""
    build = without_apt(world, FakeEngine())
    image = build_image("tool", build)
    assert json.loads(image.config)["config"]["Labels"] == {"org.pairbench.base": f"image {REFERENCE}"}
    wheels = next(item for item in image.layers if item.name == "wheels")
    tree = read_tree(io.BytesIO(build.store.blob_path(wheels.diff_id).read_bytes()), "wheels")
    assert "/usr/local/lib/python3.11/site-packages/beta.py" in tree.entries


def test_the_engine_is_asked_once(world: World) -> None:
    """A second build takes the layers from the cache."""
    engine = FakeEngine()
    first = build_image("tool", without_apt(world, engine))
    assert build_image("tool", without_apt(world, engine)) == first
    assert engine.asked == [REFERENCE]


def test_an_archive_whose_layers_are_others_is_refused(world: World) -> None:
    """Layers that aren't those of the saved configuration make no base."""
    engine = FakeEngine(diff_ids=(sha256_digest(LOWER), sha256_digest(LOWER)))
    with pytest.raises(EvidenceError, match="its layers aren't those of its configuration"):
        build_image("tool", without_apt(world, engine))


def test_frozen_wants_the_locked_base(world: World) -> None:
    """A frozen build doesn't take another base."""
    with pytest.raises(EnvironmentNotReady, match="needs apt-get"):
        build_image("tool", without_apt(world, FakeEngine(), frozen=True))


def test_without_an_engine_there_is_no_base(world: World) -> None:
    """Neither tools nor engine: one message that names both."""
    with pytest.raises(EnvironmentNotReady, match="neither apt-get nor a container engine"):
        build_image("tool", without_apt(world, None))
