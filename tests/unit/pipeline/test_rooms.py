"""The image that the code of a run gets: what is at hand is taken, and only what nobody has is built."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from runner.archives.reading import open_archive
from runner.archives.writing import ArchivableImage, write_archive
from runner.core.canonical import canonical_bytes, parse_json, sha256_digest
from runner.core.errors import EnvironmentNotReady, EvidenceError
from runner.images.digests import record_digests
from runner.images.oci import manifest_of
from runner.images.relock import relock
from runner.images.store import Blob, Store
from runner.pipeline import imaging
from runner.pipeline.old_code import other_versions
from runner.pipeline.rooms import room_of
from tests.fakes.archives import contents, image
from tests.fakes.image_tools import FakeIndex, wheel
from tests.fakes.surroundings import CODE, build_in, make_images, surroundings
from tests.unit.pipeline.test_old_code import RUNNER

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from runner.archives.reading import OpenArchive
    from runner.core.canonical import Json
    from tests.fakes.surroundings import Surroundings

CLICK: dict[str, tuple[str, tuple[str, ...], bytes]] = {"click": ("8.0", (), wheel({"click.py": b"C = 1\n"}))}
BUILDING = "building the image that old code runs in: the engine hasn't got it"


@pytest.fixture
def made(tmp_path: Path) -> Surroundings:
    """An outside with tiny images, one of which the program itself runs in."""
    make_images(tmp_path)
    (tmp_path / "images" / "runner").mkdir()
    (tmp_path / "images" / "runner" / "image.toml").write_text(RUNNER, "utf-8")
    relock(build_in(tmp_path, FakeIndex(CLICK)), names=["runner"])
    found = surroundings(tmp_path)
    found.wheels.wheels |= CLICK
    return found


@pytest.fixture
def offline(made: Surroundings, tmp_path: Path) -> Surroundings:
    """The same with an empty cache, and nothing that could be downloaded."""
    made.wheels.wheels.clear()
    emptied = replace(made.world.build, store=Store(tmp_path / "emptied"))
    object.__setattr__(made.world, "build", emptied)
    return made


def runner(arch: str = "amd64", **asks: Json) -> ArchivableImage:
    """The runner of an archive, whose configuration says which wheels it was made of, and `asks` of an engine."""
    says = "wheels: click 8.0.1, Jinja_2 3.1.6+x, what is this"
    plain = image("runner", b"a layer", role="runner")
    value = parse_json(plain.config, "config")
    assert isinstance(value, dict)
    config = canonical_bytes({**value, "config": asks, "architecture": arch, "history": [{"created_by": says}, {}, 1]})
    manifest = manifest_of(config, [Blob(sha256_digest(b"a layer"), 7)])
    identity = sha256_digest(config)
    pin = plain.pin.model_copy(
        update={
            "tag": f"pairbench/runner:{identity.removeprefix('sha256:')}",
            "config_digest": identity,
            "manifest_digest": sha256_digest(manifest),
        }
    )
    return replace(plain, pin=pin, arch=arch, config=config, manifest=manifest)


def archive_of(tmp_path: Path, *images: ArchivableImage) -> AbstractContextManager[OpenArchive]:
    path = tmp_path / "a.pairbench"
    write_archive(contents({}, images), path, cache=tmp_path / "packed")
    return open_archive(path, tmp_path / "scratch")


def test_the_runner_of_an_archive_needs_no_network(offline: Surroundings, tmp_path: Path) -> None:
    """It is loaded once, and says itself what it holds."""
    brought = runner()
    with archive_of(tmp_path, image("trial", b"other"), brought) as archive:
        room = room_of(offline.world, archive)
        assert room_of(offline.world, archive) == room
    assert room.image == brought.pin.tag
    assert room.versions == {"click": "8.0.1", "jinja-2": "3.1.6+x"}
    assert offline.watcher.steps == ["loading runner of the archive into the engine"]


def test_an_archived_image_that_widens_a_container_is_not_loaded(offline: Surroundings, tmp_path: Path) -> None:
    """A volume of its own would be writable; what an image of ours sets is no more than how it starts."""
    before = dict(offline.engine.images)
    with (
        archive_of(tmp_path, runner(Volumes={"/x": {}}, Healthcheck={"Test": ["x"]}, User="0")) as archive,
        pytest.raises(EvidenceError, match="more than an image of ours does: Healthcheck, Volumes"),
    ):
        room_of(offline.world, archive)
    assert offline.engine.images == before
    again = tmp_path / "ours"
    again.mkdir()
    with archive_of(again, runner(Env=["A=b"], Entrypoint=["python3"], WorkingDir="/", Volumes={})) as archive:
        room_of(offline.world, archive)


def test_an_engine_that_loads_another_image_is_not_believed(
    offline: Surroundings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing runs in it."""
    monkeypatch.setattr(offline.engine, "load_images", lambda chunks: [*chunks])
    with (
        archive_of(tmp_path, runner()) as archive,
        pytest.raises(EvidenceError, match="what the engine loaded is not sha256:"),
    ):
        room_of(offline.world, archive)


def test_a_runner_for_another_machine_is_none(made: Surroundings, tmp_path: Path) -> None:
    """Nor is an archive without one: our own is taken."""
    (ours,) = imaging.build(made.world, ["runner"])
    for images in ((runner("arm64"),), (image("trial", b"other"),)):
        folder = tmp_path / images[0].pin.name
        folder.mkdir()
        with archive_of(folder, *images) as archive:
            assert room_of(made.world, archive).image == ours.tag


def test_the_image_that_the_engine_has_is_not_built_again(offline: Surroundings, tmp_path: Path) -> None:
    """Though the cache has lost it, and whatever the engine calls it."""
    with_cache = replace(offline.world, build=build_in(tmp_path, FakeIndex(CLICK)))
    (ours,) = imaging.build(with_cache, ["runner"])
    imaging.load(with_cache, offline.engine, [ours])
    record_digests([ours], "amd64", tmp_path / "images")
    offline.watcher.steps.clear()
    room = room_of(offline.world)
    assert (room.image, room.versions) == (ours.tag, {"click": "8.0"})
    assert other_versions(CODE, room.versions) == ("click is 8.0 here, and was 8.0.1",)
    del offline.engine.images[ours.tag]
    assert room_of(offline.world).image == ours.config_digest
    assert offline.watcher.steps == []


def test_what_nobody_has_is_built_and_that_is_said(made: Surroundings) -> None:
    """First, since it may download."""
    room = room_of(made.world)
    assert made.watcher.steps[0] == BUILDING
    assert made.engine.images[room.image].architecture == "amd64"
    assert room.versions == {"click": "8.0"}


def test_what_nobody_has_and_cannot_be_built_is_in_an_archive(offline: Surroundings) -> None:
    """And how that is used without this program is said."""
    with pytest.raises(EnvironmentNotReady) as caught:
        room_of(offline.world)
    assert caught.value.problems[0].message == "the image that old code runs in is nowhere at hand, and can't be built"
    assert "docker run --rm --network none -v FILE:/archive:ro pairbench/runner:TAG verify /archive" in str(
        caught.value.problems[0].hint
    )
    assert len(caught.value.problems) > 1


def test_where_no_such_image_is_declared_that_is_said(tiny_images: Path) -> None:
    """An installation without a checkout has none."""
    with pytest.raises(EnvironmentNotReady, match="isn't declared here"):
        room_of(surroundings(tiny_images).world)
