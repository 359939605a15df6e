"""An image follows from its declaration, its lock and our programs, and from nothing else."""

from __future__ import annotations

import io
import json
import os
from typing import TYPE_CHECKING

import pytest

from runner.core.errors import EnvironmentNotReady, EvidenceError, StudyError
from runner.images.build import build_image, build_images
from runner.images.packages import Drift
from runner.images.relock import record_layers, relock
from runner.images.tarball import read_tree
from runner.images.tree import FileEntry, FolderEntry, LinkEntry, Tree
from tests.fakes.image_tools import deb, wheel

if TYPE_CHECKING:
    from runner.images.inputs import Build
    from runner.images.oci import BuiltImage
    from tests.unit.images_builder.conftest import World

SITE = "/usr/local/lib/python3.11/dist-packages"


def layer(image: BuiltImage, name: str, build: Build) -> Tree:
    (found,) = (item for item in image.layers if item.name == name)
    return read_tree(io.BytesIO(build.store.blob_path(found.diff_id).read_bytes()), name)


def files(tree: Tree) -> dict[str, bytes]:
    return {path: entry.data() for path, entry in tree.entries.items() if isinstance(entry, FileEntry)}


def test_layers_come_in_the_order_of_their_rate_of_change(world: World) -> None:
    """Base, wheels, single files, our programs: what changes most often is on top."""
    image = build_image("tool", world.build())
    assert [item.name for item in image.layers] == ["base", "wheels", "model", "programs"]
    assert image.drifted == ()


def test_the_base_holds_packages_and_what_is_declared(world: World) -> None:
    """Dropped and omitted things are away, kept ones there, the standard library compiled, users and links written."""
    build = world.build()
    base = layer(build_image("tool", build), "base", build)
    assert files(base) == {
        "/etc/group": b"root:x:0:agent\nagent:x:10002:\n",
        "/etc/nsswitch.conf": b"hosts: files\n",
        "/etc/passwd": b"root:x:0:0:root:/root:/bin/sh\nagent:x:10002:10002:agent:/home/agent:/bin/sh\n",
        "/etc/python3.11/sitecustomize.py": b"S = 1\n",
        "/usr/bin/python3.11": b"ELF",
        "/usr/lib/python3.11/__pycache__/os.cpython-311.pyc": b"compiled O = 1\n",
        "/usr/lib/python3.11/__pycache__/sitecustomize.cpython-311.pyc": b"compiled S = 1\n",
        "/usr/lib/python3.11/os.py": b"O = 1\n",
        "/usr/lib/x86_64-linux-gnu/libc.so.6": b"libc",
        "/usr/share/doc/python3/copyright": b"free",
    }
    assert {path: entry for path, entry in base.entries.items() if isinstance(entry, LinkEntry)} == {
        "/bin": LinkEntry("usr/bin"),
        "/lib": LinkEntry("usr/lib"),
        "/lib64": LinkEntry("usr/lib64"),
        "/usr/lib/python3.11/sitecustomize.py": LinkEntry("/etc/python3.11/sitecustomize.py"),
        "/usr/bin/awk": LinkEntry("mawk"),
        "/usr/bin/sh": LinkEntry("dash"),
        "/usr/lib64/ld.so": LinkEntry("/lib/ld"),
    }
    assert base.entries["/tmp"] == FolderEntry(0o1777)
    assert base.entries["/pod"] == FolderEntry(0o1770, 10004, 10001)


def test_wheels_are_installed_and_compiled(world: World) -> None:
    """The wheels and their dependencies are in the site folder with their compiled forms; the lender isn't."""
    build = world.build()
    assert files(layer(build_image("tool", build), "wheels", build)) == {
        f"{SITE}/alpha/__init__.py": b"A = 1\n",
        f"{SITE}/alpha/__pycache__/__init__.cpython-311.pyc": b"compiled A = 1\n",
        f"{SITE}/beta.py": b"B = 2\n",
        f"{SITE}/__pycache__/beta.cpython-311.pyc": b"compiled B = 2\n",
        f"{SITE}/beta-2.0.dist-info/METADATA": b"Name: beta\n",
    }


def test_single_files_and_programs_have_their_places(world: World) -> None:
    """One file of a wheel stands alone with its mode; programs are 0644 of root; declared folders have their owner."""
    build = world.build()
    image = build_image("tool", build)
    (model,) = [entry for entry in layer(image, "model", build).entries.values() if isinstance(entry, FileEntry)]
    assert (model.data(), model.mode) == (b"model", 0o755)
    programs = layer(image, "programs", build)
    assert sorted(files(programs)) == [
        "/opt/pairbench/tool/__pycache__/main.cpython-311.pyc",
        "/opt/pairbench/tool/inner/__init__.py",
        "/opt/pairbench/tool/inner/__pycache__/__init__.cpython-311.pyc",
        "/opt/pairbench/tool/main.py",
    ]
    assert programs.entries["/index"] == FolderEntry(0o755, 10003, 10003)


def test_the_configuration_says_how_it_starts_and_what_its_base_is(world: World) -> None:
    """User, environment, entrypoint and label stand in the configuration, with the one fixed time."""
    config = json.loads(build_image("tool", world.build()).config)
    assert config["config"] == {
        "Entrypoint": ["python3", "/opt/pairbench/tool/main.py"],
        "Env": ["LANG=C.UTF-8", "PATH=/usr/bin"],
        "Labels": {"org.pairbench.base": "locked"},
        "User": "10002",
        "WorkingDir": "/",
    }
    assert (config["architecture"], config["os"], config["created"]) == ("amd64", "linux", "2024-01-01T00:00:00Z")


def test_the_id_does_not_depend_on_the_place_the_umask_or_what_python_left_behind(world: World) -> None:
    """Another cache, another umask, file modes and times, caches beside the sources: the same digests."""
    first = build_image("tool", world.build("one"))
    program = world.images / "tool/tool"
    (program / "main.py").chmod(0o700)
    os.utime(program / "inner/__init__.py", (1, 1))
    (program / "__pycache__").mkdir()
    (program / "__pycache__/main.cpython-313.pyc").write_bytes(b"left behind")
    (program / ".main.py.swp").write_bytes(b"left behind")
    before = os.umask(0o077)
    try:
        second = build_image("tool", world.build("two"))
    finally:
        os.umask(before)
    assert (first.config_digest, first.manifest_digest) == (second.config_digest, second.manifest_digest)


def test_what_is_in_the_cache_is_not_made_again(world: World) -> None:
    """A second build asks neither archive, nor index, nor compiler."""
    first = build_image("tool", world.build())
    for tool in (world.archive, world.index, world.compiler):
        tool.asked.clear()
    assert build_image("tool", world.build()) == first
    assert (world.archive.asked, world.index.asked, world.compiler.asked) == ([], [], [])


def test_a_lost_or_cut_layer_is_made_again(world: World) -> None:
    """A cache that lost a blob, or kept half of one, heals by itself to the same image."""
    build = world.build()
    image = build_image("tool", build)
    build.store.blob_path(image.layers[0].diff_id).unlink()
    cut = build.store.blob_path(image.layers[1].diff_id)
    cut.write_bytes(cut.read_bytes()[:100])
    assert build_image("tool", world.build()) == image
    assert cut.stat().st_size == image.layers[1].blob.size_bytes


def test_a_changed_program_changes_the_top_layer_only(world: World) -> None:
    """Editing a program leaves every other layer as it was."""
    before = build_image("tool", world.build())
    (world.images / "tool/tool/main.py").write_text("import inner  # changed\n", "utf-8")
    after = build_image("tool", world.build())
    assert before.diff_ids[:-1] == after.diff_ids[:-1]
    assert before.diff_ids[-1] != after.diff_ids[-1]
    assert before.config_digest != after.config_digest


def test_a_moved_archive_gives_a_drifted_image(world: World) -> None:
    """When a locked version is gone, today's is taken, and the image says so in its label and to its caller."""
    world.archive.packages["libc6"] = ("2.36-10", (), deb({"lib/x86_64-linux-gnu/libc.so.6": b"newer"}))
    image = build_image("tool", world.build())
    assert image.drifted == (Drift("libc6", "2.36-9", "2.36-10"),)
    assert str(image.drifted[0]) == "libc6: 2.36-9 -> 2.36-10"
    label = json.loads(image.config)["config"]["Labels"]["org.pairbench.base"]
    assert label == "drifted: libc6=2.36-10"


def test_a_drifted_image_is_remembered(world: World) -> None:
    """A second build of a drifted base asks the archive nothing and is the same image."""
    world.archive.packages["libc6"] = ("2.36-10", (), deb({"lib/x86_64-linux-gnu/libc.so.6": b"newer"}))
    first = build_image("tool", world.build())
    world.archive.asked.clear()
    assert build_image("tool", world.build()) == first
    assert world.archive.asked == []


def test_frozen_refuses_drift(world: World) -> None:
    """A frozen build of a base that can't be had as locked names the packages and builds nothing."""
    world.archive.packages["libc6"] = ("2.36-10", (), deb({"lib/x86_64-linux-gnu/libc.so.6": b"newer"}))
    with pytest.raises(EnvironmentNotReady, match=r"moved on from the locked base: libc6 2\.36-9"):
        build_image("tool", world.build(frozen=True))
    build_image("tool", world.build())
    with pytest.raises(EnvironmentNotReady, match="moved on"):
        build_image("tool", world.build(frozen=True))


def test_a_forged_package_is_refused_and_thrown_away(world: World) -> None:
    """A download whose bytes aren't those of the lock is an error; the next build fetches it anew."""
    world.archive.forged["libc6"] = deb({"lib/libc.so.6": b"forged"})
    with pytest.raises(EvidenceError, match="doesn't have the locked digest"):
        build_image("tool", world.build())
    world.archive.forged.clear()
    assert build_image("tool", world.build()).drifted == ()


def test_a_file_that_is_not_the_declared_one_is_refused(world: World) -> None:
    """A model whose digest isn't the declared one never gets into an image, even from a locked wheel."""
    world.index.wheels["gamma"] = ("3.0", (), wheel({"gamma/model.onnx": b"other"}))
    with pytest.raises(EvidenceError, match=r"gamma/model\.onnx of gamma 3\.0: its digest is"):
        relock(world.build("relock"))


def test_a_layer_that_came_out_otherwise_is_refused(world: World) -> None:
    """Locked inputs that give another layer than the locked one are an error, with what to do."""
    path = world.images / "locks/base.amd64.json"
    text = path.read_text("utf-8")
    locked = json.loads(text)["layer"]
    path.write_text(text.replace(locked, "sha256:" + "0" * 64), "utf-8")
    with pytest.raises(EvidenceError, match="layer 'base' came out as"):
        build_image("tool", world.build())
    record_layers(world.build())
    assert path.read_text("utf-8") == text


def test_a_lock_without_a_declared_wheel_is_refused_before_anything_is_fetched(world: World) -> None:
    """A declaration that moved on from its lock is told at once."""
    path = world.images / "tool/image.toml"
    path.write_text(path.read_text("utf-8").replace('"alpha", version = "1.0"', '"alpha", version = "1.1"'), "utf-8")
    world.archive.asked.clear()
    with pytest.raises(StudyError, match=r"alpha 1\.1 isn't locked"):
        build_image("tool", world.build())
    assert world.archive.asked == []


def test_an_unknown_image_is_refused(world: World) -> None:
    """A name that nobody declared is answered with the names that are."""
    with pytest.raises(StudyError, match=r"no image 'tol' \(known: tool\)"):
        build_images(["tool", "tol"], world.build())


def test_a_declared_program_that_is_not_there_is_named(world: World) -> None:
    """A missing folder of ours is a wrong declaration."""
    path = world.images / "tool/image.toml"
    path.write_text(path.read_text("utf-8").replace('source = "tool"', 'source = "tols"'), "utf-8")
    with pytest.raises(StudyError, match="there is no folder tols"):
        build_image("tool", world.build())


def test_what_is_done_is_said(world: World) -> None:
    """Each step that takes time is told to whoever watches; a warm build says nothing."""
    said: list[str] = []
    build_image("tool", world.build(said=said))
    assert "downloading 2 Debian packages" in said
    said.clear()
    build_image("tool", world.build(said=said))
    assert said == []
