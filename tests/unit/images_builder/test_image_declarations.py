"""Declarations and locks are read strictly; every problem is named at once, with document and key."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from runner.core.errors import StudyError
from runner.images.locks import lock_bytes, read_base_lock, read_image_lock
from runner.images.relock import relock
from runner.images.spec import read_base, read_image

if TYPE_CHECKING:
    from tests.unit.images_builder.conftest import World


def edit(world: World, path: str, old: str, new: str) -> None:
    place = world.images / path
    text = place.read_text("utf-8")
    assert old in text
    place.write_text(text.replace(old, new), "utf-8")


def test_every_problem_is_told_at_once(world: World) -> None:
    """Three mistakes in one declaration are three lines, each with its key."""
    edit(world, "tool/image.toml", 'user = "10002"', 'user = "agent"\ncolour = "red"')
    edit(world, "tool/image.toml", 'to = "/opt/model/model.onnx"', 'to = "/opt/../model.onnx"')
    with pytest.raises(StudyError) as error:
        read_image("tool", world.images)
    assert sorted(problem.key for problem in error.value.problems) == ["colour", "files[0].to", "user"]
    assert all(problem.document.endswith("tool/image.toml") for problem in error.value.problems)


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('suite = "bookworm"', 'suite = "book worm"', "suite"),
        ('packages = ["python3"]', 'packages = ["-o=Dir::Etc=/x"]', "packages[0]"),
        ('mode = "1777"', 'mode = "6777"', "folders[0].mode"),
        ('mode = "1777"', 'mode = "rwx"', "folders[0].mode"),
        ('name = "agent"', 'name = "a:0:0:root"', "users[1].name"),
        ('path = "/usr/bin/awk"', 'path = "usr/bin/awk"', "links[0].path"),
    ],
)
def test_a_bad_base_is_refused(world: World, old: str, new: str, key: str) -> None:
    """What could reach a command line, or make a file system that surprises, isn't taken."""
    edit(world, "base/base.toml", old, new)
    with pytest.raises(StudyError) as error:
        read_base(world.images)
    assert [problem.key for problem in error.value.problems] == [key]


def test_broken_toml_is_named(world: World) -> None:
    """A file that isn't TOML is said to be none, with its path."""
    (world.images / "base/base.toml").write_text("format = ", "utf-8")
    with pytest.raises(StudyError, match=r"base\.toml: not TOML"):
        read_base(world.images)


def test_a_missing_lock_says_what_to_do(world: World) -> None:
    """An image without a lock can't be built; the message names the command that makes one."""
    (world.images / "locks/tool.amd64.json").unlink()
    with pytest.raises(StudyError, match=r"tool\.amd64\.json: can't be read: .*images relock"):
        read_image_lock("tool", read_image("tool", world.images), "amd64", world.images)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"version": "2.36-9"', '"version": "2.36-9 -o X"'),
        ('"name": "libc6"', '"name": "--help"'),
        ('"sha256": "sha256:', '"sha256": "'),
        ('"format": "pairbench/base-lock"', '"format": "pairbench/lock"'),
        ('"version": 1', '"version": 2'),
        ('"arch": "amd64",\n', '"arch": "amd64",\n "url": "somewhere",\n'),
    ],
)
def test_a_bad_lock_is_refused(world: World, old: str, new: str) -> None:
    """A lock holds names, versions and digests of a known format, and nothing else."""
    edit(world, "locks/base.amd64.json", old, new)
    with pytest.raises(StudyError, match=r"base\.amd64\.json"):
        read_base_lock(read_base(world.images), "amd64", world.images)


def test_a_lock_has_a_line_for_each_thing(world: World) -> None:
    """A lock reads line by line, comes back as it was, and is the same when written again."""
    path = world.images / "locks/base.amd64.json"
    lines = path.read_text("utf-8").splitlines()
    assert [json.loads(line.rstrip(","))["name"] for line in lines if line.startswith("  ")] == ["libc6", "python3"]
    lock = read_base_lock(read_base(world.images), "amd64", world.images)
    assert lock_bytes(lock) == path.read_bytes()


def test_relocking_what_did_not_change_changes_nothing(world: World) -> None:
    """Locks are written for both architectures, with layers for this machine's alone, and come out the same again."""
    before = {path.name: path.read_bytes() for path in (world.images / "locks").iterdir()}
    assert sorted(before) == [
        "base.amd64.json",
        "base.arm64.json",
        "images.amd64.json",
        "tool.amd64.json",
        "tool.arm64.json",
    ]
    relock(world.build("relock"))
    assert {path.name: path.read_bytes() for path in (world.images / "locks").iterdir()} == before
    recorded = {name: json.loads(data).get("layer") or json.loads(data).get("layers") for name, data in before.items()}
    assert sum(bool(layers) for layers in recorded.values()) == 2


def test_an_omitted_package_is_not_locked(world: World) -> None:
    """What only installation scripts need is left out of the lock."""
    lock = read_base_lock(read_base(world.images), "amd64", world.images)
    assert [package.name for package in lock.packages] == ["libc6", "python3"]
