"""Every file of an image says what it came out of, and the sums by package are of those files."""

from __future__ import annotations

import hashlib
import io
from typing import TYPE_CHECKING

import pytest

from runner.core.errors import EnvironmentNotReady, EvidenceError
from runner.images.build import build_image
from runner.images.facts import LayerFacts, image_facts
from runner.images.tarball import read_tree
from runner.images.tree import FileEntry, FolderEntry, LinkEntry
from tests.fakes.image_tools import deb, wheel

if TYPE_CHECKING:
    from runner.images.inputs import Build
    from runner.images.oci import BuiltImage
    from tests.unit.images_builder.conftest import World

SITE = "/usr/local/lib/python3.11/dist-packages"


def shown(world: World) -> tuple[BuiltImage, dict[str, LayerFacts], Build]:
    build = world.build(recorded=True)
    image = build_image("tool", build)
    return image, {facts.layer.name: facts for facts in image_facts(image, build.store)}, build


def origins(facts: LayerFacts) -> dict[str, tuple[str, str, bool]]:
    return {file.path: (file.origin.kind, file.origin.name, file.compiled) for file in facts.files}


def test_every_file_of_the_base_names_its_package(world: World) -> None:
    """Files and links of packages, what was compiled of them, and what the declaration writes out."""
    _, layers, _ = shown(world)
    assert origins(layers["base"]) == {
        "/bin": ("declaration", "images/base/base.toml", False),
        "/etc/group": ("declaration", "images/base/base.toml", False),
        "/etc/nsswitch.conf": ("declaration", "images/base/base.toml", False),
        "/etc/passwd": ("declaration", "images/base/base.toml", False),
        "/etc/python3.11/sitecustomize.py": ("debian", "python3", False),
        "/lib": ("declaration", "images/base/base.toml", False),
        "/lib64": ("declaration", "images/base/base.toml", False),
        "/usr/bin/awk": ("declaration", "images/base/base.toml", False),
        "/usr/bin/python3.11": ("debian", "python3", False),
        "/usr/bin/sh": ("debian", "python3", False),
        "/usr/lib/python3.11/__pycache__/os.cpython-311.pyc": ("debian", "python3", True),
        "/usr/lib/python3.11/__pycache__/sitecustomize.cpython-311.pyc": ("debian", "python3", True),
        "/usr/lib/python3.11/os.py": ("debian", "python3", False),
        "/usr/lib/python3.11/sitecustomize.py": ("debian", "python3", False),
        "/usr/lib/x86_64-linux-gnu/libc.so.6": ("debian", "libc6", False),
        "/usr/lib64/ld.so": ("debian", "libc6", False),
        "/usr/share/doc/python3/copyright": ("debian", "python3", False),
    }


def test_a_package_is_named_by_all_that_pins_it(world: World) -> None:
    """Version, file and digest are those of the lock; the sums are over its files in this layer."""
    _, layers, _ = shown(world)
    libc, python = (package for package in layers["base"].packages if package.origin.kind == "debian")
    assert (libc.origin.name, libc.origin.version, libc.origin.file) == ("libc6", "2.36-9", "libc6_2.36-9_amd64.deb")
    assert libc.origin.sha256 == world.archive.package("libc6", "amd64").sha256
    assert (libc.files, libc.compiled, libc.size_bytes) == (2, 0, 4)
    assert (python.origin.name, python.files, python.compiled) == ("python3", 8, 2)


def test_wheels_and_what_was_compiled_of_them(world: World) -> None:
    """Installed wheels, and the one that only lends a file, are told by their file and digest."""
    _, layers, _ = shown(world)
    assert origins(layers["wheels"]) == {
        f"{SITE}/alpha/__init__.py": ("wheel", "alpha", False),
        f"{SITE}/alpha/__pycache__/__init__.cpython-311.pyc": ("wheel", "alpha", True),
        f"{SITE}/beta.py": ("wheel", "beta", False),
        f"{SITE}/__pycache__/beta.cpython-311.pyc": ("wheel", "beta", True),
        f"{SITE}/beta-2.0.dist-info/METADATA": ("wheel", "beta", False),
    }
    (lender,) = layers["model"].packages
    assert (lender.origin.name, lender.origin.version, lender.files) == ("gamma", "3.0", 1)
    assert (lender.origin.file, lender.origin.sha256) == (
        "gamma-3.0-py3-none-any.whl",
        world.index.wheel("gamma").sha256,
    )


def test_programs_are_told_by_the_digest_of_their_sources(world: World) -> None:
    """A folder of ours has a digest over paths and contents: an edit changes it, a time of a file doesn't."""
    _, layers, _ = shown(world)
    (program,) = layers["programs"].packages
    assert (program.origin.kind, program.origin.name) == ("program", "images/tool/tool")
    assert (program.files, program.compiled) == (4, 2)
    (world.images / "tool/tool/main.py").touch()
    (same,) = shown(world)[1]["programs"].packages
    assert same.origin == program.origin
    (world.images / "tool/tool/main.py").write_text("import inner  # changed\n", "utf-8")
    (changed,) = shown(world)[1]["programs"].packages
    assert changed.origin.sha256 != program.origin.sha256


def test_the_record_says_what_is_in_the_layer(world: World) -> None:
    """Paths, digests, sizes and targets are those of the layer's own tar, no more and no less."""
    _, layers, build = shown(world)
    for facts in layers.values():
        blob = build.store.blob_path(facts.layer.diff_id).read_bytes()
        tree = read_tree(io.BytesIO(blob), facts.layer.name)
        there = {path: entry for path, entry in tree.entries.items() if not isinstance(entry, FolderEntry)}
        assert [file.path for file in facts.files] == sorted(there)
        for file in facts.files:
            entry = there[file.path]
            if isinstance(entry, FileEntry):
                assert (file.sha256, file.size_bytes) == (
                    f"sha256:{hashlib.sha256(entry.data()).hexdigest()}",
                    len(entry.data()),
                )
            else:
                assert isinstance(entry, LinkEntry)
                assert (file.target, file.sha256) == (entry.target, "")


@pytest.mark.parametrize("damage", [None, b"{", b'{"origins": [], "files": [["/a", "", 0, "", 7, false]]}'])
def test_a_lost_or_damaged_record_is_made_again(world: World, damage: bytes | None) -> None:
    """The layer is the same one then; a build that nobody asks for records makes nothing."""
    image, before, build = shown(world)
    for path in (build.store.folder / "origins").iterdir():
        path.unlink()
        if damage is not None:
            path.write_bytes(damage)
    said: list[str] = []
    assert build_image("tool", world.build(said=said)) == image
    assert said == []
    with pytest.raises(EvidenceError, match="isn't recorded"):
        image_facts(image, build.store)
    assert shown(world)[:2] == (image, before)


def test_a_record_that_cannot_be_made_again_is_told(world: World) -> None:
    """Where the package is gone, the image still builds from the cache, and showing it says what can't be had."""
    image, _, build = shown(world)
    for folder in ("origins", "downloads/debs"):
        for path in (build.store.folder / folder).iterdir():
            path.unlink()
    world.archive.packages["libc6"] = ("2.36-10", (), deb({"lib/x86_64-linux-gnu/libc.so.6": b"newer"}))
    assert build_image("tool", world.build()) == image
    with pytest.raises(EnvironmentNotReady, match=r"no package libc6 2\.36-9"):
        shown(world)


def test_a_licence_is_told_where_the_package_states_it(world: World) -> None:
    """Of a wheel by its metadata, of a Debian package by its machine-readable copyright file; of others nothing."""
    stated = b"Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\nFiles: *\nLicense: Expat\n"
    world.archive.packages["libc6"] = (
        "2.36-9",
        (),
        deb({"lib/x86_64-linux-gnu/libc.so.6": b"libc", "usr/share/doc/libc6/copyright": stated}),
    )
    metadata = b"Metadata-Version: 2.4\nName: gamma\nVersion: 3.0\nLicense-Expression: Apache-2.0\n"
    files = {"gamma/model.onnx": b"model", "gamma-3.0.dist-info/METADATA": metadata}
    world.index.wheels["gamma"] = ("3.0", (), wheel(files))
    world.relock()
    _, layers, _ = shown(world)
    found = {package.origin.name: package.origin.licence for facts in layers.values() for package in facts.packages}
    assert found == {
        "alpha": "",
        "beta": "",
        "gamma": "Apache-2.0",
        "images/base/base.toml": "",
        "images/tool/tool": "",
        "libc6": "MIT",
        "python3": "",
    }
