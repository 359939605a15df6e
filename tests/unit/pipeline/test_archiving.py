"""Runs and images go into an archive as their locks have them, and nothing goes in that isn't what it says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from runner.adapters.disk import Disk
from runner.core import layout
from runner.core.canonical import Digest, sha256_digest
from runner.core.errors import EnvironmentNotReady, EvidenceError, StudyError
from runner.core.lock import Lock
from runner.images.relock import relock
from runner.images.store import Store
from runner.pipeline import imaging
from runner.pipeline.archiving import (
    Order,
    archivable,
    archive_images,
    archive_runs,
    load_images,
    opened,
    verify_archive,
)
from runner.pipeline.concluding import conclude
from runner.pipeline.executing import run_study
from runner.pipeline.world import Places
from tests.fakes.archives import laid
from tests.fakes.engine import FakeEngine
from tests.fakes.image_tools import FakeIndex
from tests.fakes.surroundings import CODE, Watcher, build_in, make_images

if TYPE_CHECKING:
    from pathlib import Path

    from runner.core.lock import ImagePin
    from runner.pipeline.world import World
    from tests.fakes.surroundings import Surroundings


@pytest.fixture
def world(outside: Surroundings, tmp_path: Path) -> World:
    """The outside, with the disk and an engine that was never used."""
    places = Places(images=outside.world.places.images, cache=tmp_path / "cache", runs=tmp_path / "runs")
    engine = FakeEngine(outside.pods)
    return replace(outside.world, files=Disk(), places=places, engine=lambda: engine)


@pytest.fixture
def run(outside: Surroundings, world: World) -> Path:
    """A run that ended, on the disk."""
    folder = run_study(outside.world, outside.study()).folder
    conclude(outside.files, folder)
    copy = world.places.runs / folder.name
    for name in outside.files.walk(folder):
        world.files.write(copy / name, outside.files.read(folder / name) or b"")
    return copy


def lock_of(run: Path) -> Lock:
    return Lock.from_bytes((run / layout.LOCK).read_bytes(), layout.LOCK)


def pin_of(run: Path, name: str) -> ImagePin:
    return next(pin for pin in lock_of(run).images if pin.name == name)


def without_cache(world: World, folder: Path) -> World:
    """The same world, whose images' cache is empty."""
    return replace(world, build=replace(world.build, store=Store(folder)))


def test_a_run_its_images_and_its_code_are_archived(world: World, run: Path, tmp_path: Path) -> None:
    """All that its lock names, and the wheel that the run keeps; it was verified, and the index says so."""
    written = archive_runs(world, [run], Order(tmp_path / "a", runner=False))
    assert (written.files, written.left_out) == ((tmp_path / "a",), ())
    with opened(world, tmp_path / "a") as archive:
        index = archive.index
        assert {image.config for image in index.images} == {pin.config_digest for pin in lock_of(run).images}
        assert index.runs[run.name].verified
        assert archive.harness(CODE.pin.source_sha256) == CODE
        archive.unpack_run(run.name, tmp_path / "out")
    assert laid(tmp_path / "out") == {name: data for name, data in laid(run).items() if name != "holder.lock"}


def test_what_comes_out_of_an_archive_verifies(world: World, run: Path, tmp_path: Path) -> None:
    """Every run of it is recomputed from its raw evidence."""
    archive_runs(world, [run], Order(tmp_path / "a", runner=False))
    found = verify_archive(world, tmp_path / "a")
    assert [(one.name, one.verification.holds, one.verification.same_code) for one in found.runs] == [
        (run.name, True, True)
    ]
    assert found.content_sha256.startswith("sha256:")
    assert list((world.places.cache / "scratch").iterdir()) == []


def test_a_run_that_does_not_verify_is_refused(world: World, run: Path, tmp_path: Path) -> None:
    """With what is wrong; on request it is archived, and everybody who reads it is told."""
    (run / layout.SCORES).write_bytes(b"{}\n")
    with pytest.raises(EvidenceError, match=r"scores\.jsonl") as caught:
        archive_runs(world, [run], Order(tmp_path / "a", runner=False))
    assert "--unverified" in caught.value.diagnostics()
    assert not (tmp_path / "a").exists()
    archive_runs(world, [run], Order(tmp_path / "a", runner=False, unverified=True))
    with opened(world, tmp_path / "a") as archive:
        assert not archive.index.runs[run.name].verified
    (found,) = verify_archive(world, tmp_path / "a").runs
    assert [problem.document for problem in found.verification.differences] == [layout.SCORES]


def test_a_run_that_is_not_finished_is_archived_on_request_only(world: World, run: Path, tmp_path: Path) -> None:
    """That is wrong usage, and no damage; of such an archive it is said which run isn't."""
    for name in (layout.RECORDS, layout.SCORES, layout.SUMMARY, layout.CHECKSUM):
        (run / name).unlink()
    with pytest.raises(StudyError, match=f"^{run.name}: it isn't finished.*--unverified"):
        archive_runs(world, [run], Order(tmp_path / "a", runner=False))
    archive_runs(world, [run], Order(tmp_path / "a", runner=False, unverified=True))
    (found,) = verify_archive(world, tmp_path / "a").runs
    assert (found.name, found.finished, found.verification.holds) == (run.name, False, False)
    assert [problem.document for problem in found.verification.differences] == [layout.SUMMARY]


def test_a_run_without_a_ledger_is_told_and_not_archived(world: World, run: Path, tmp_path: Path) -> None:
    """What can't be recomputed at all doesn't verify either."""
    (run / layout.LEDGER).unlink()
    with pytest.raises(EvidenceError, match=r"ledger\.jsonl"):
        archive_runs(world, [run], Order(tmp_path / "a", runner=False))


def test_images_come_out_of_the_engine_where_the_cache_has_lost_them(world: World, run: Path, tmp_path: Path) -> None:
    """The archive is the same, and the cache has them again."""
    imaging.load(world, world.engine(), imaging.build(world, ["gateway", "qdrant", "trial"]))
    archive_runs(world, [run], Order(tmp_path / "a", runner=False))
    poorer = without_cache(world, tmp_path / "empty")
    archive_runs(poorer, [run], Order(tmp_path / "b", runner=False))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    pin = pin_of(run, "trial")
    assert all(poorer.build.store.blob_path(Digest(digest)).exists() for digest in (pin.config_digest, *pin.diff_ids))


def test_an_image_that_is_nowhere_is_named(world: World, run: Path, tmp_path: Path) -> None:
    """Neither the cache nor the engine has it; what to do is said."""
    poorer = without_cache(world, tmp_path / "empty")
    with pytest.raises(EnvironmentNotReady, match=r"image gateway: neither the cache nor the engine has sha256:\w+"):
        archive_runs(poorer, [run], Order(tmp_path / "a", runner=False))


def test_without_an_engine_the_cache_is_missed(world: World, run: Path, tmp_path: Path) -> None:
    """Both are told: what the cache lacks, and why nothing else can give it."""

    def nobody() -> FakeEngine:
        raise EnvironmentNotReady("no container engine answers")

    poorer = replace(without_cache(world, tmp_path / "empty"), engine=nobody)
    with pytest.raises(EnvironmentNotReady) as caught:
        archive_runs(poorer, [run], Order(tmp_path / "a", runner=False))
    assert "the cache hasn't got all of sha256:" in caught.value.diagnostics()
    assert "no container engine answers" in caught.value.diagnostics()


def test_another_image_under_the_same_tag_is_refused(world: World, run: Path, tmp_path: Path) -> None:
    """An engine that gives something else than it says isn't believed."""
    engine = world.engine()
    assert isinstance(engine, FakeEngine)
    built = imaging.build(world, ["trial"])
    imaging.load(world, engine, built)
    engine.contents[built[0].config_digest][1] = b"another layer"
    with pytest.raises(EvidenceError, match="image trial: what the engine saved isn't what the lock says"):
        archivable(without_cache(world, tmp_path / "empty"), pin_of(run, "trial"))


def test_a_layer_that_changed_in_the_cache_is_refused(world: World, run: Path, tmp_path: Path) -> None:
    """It is of the right length and of another digest."""
    poorer = without_cache(world, tmp_path / "own")
    imaging.build(poorer, ["gateway", "qdrant", "trial"])
    path = poorer.build.store.blob_path(Digest(pin_of(run, "trial").diff_ids[-1]))
    path.write_bytes(bytes(path.stat().st_size))
    with pytest.raises(EvidenceError, match="image trial: its bytes aren't those of sha256:"):
        archive_runs(poorer, [run], Order(tmp_path / "a", runner=False))
    assert not (tmp_path / "a").exists()


def test_two_runs_of_one_name_are_refused(world: World, run: Path, tmp_path: Path) -> None:
    """One would lie over the other."""
    with pytest.raises(StudyError, match=f"two runs are called {run.name}"):
        archive_runs(world, [run, tmp_path / "elsewhere" / run.name], Order(tmp_path / "a"))


@pytest.mark.parametrize("place", [".", "taken", "absent/a"])
def test_where_it_goes_is_looked_at_first(world: World, run: Path, tmp_path: Path, place: str) -> None:
    """Nothing is verified, built or packed for an archive that could be written nowhere."""
    (tmp_path / "taken").write_bytes(b"precious")
    said: list[str] = []
    watched = replace(world, progress=Watcher(said))
    with pytest.raises(StudyError, match=r"it is a folder|it is there already|there is no such folder"):
        archive_runs(watched, [run], Order(tmp_path / place))
    with pytest.raises(StudyError, match=r"it is a folder|it is there already|there is no such folder"):
        archive_images(watched, [], Order(tmp_path / place))
    assert said == []


def test_what_is_packed_is_counted(world: World, run: Path, tmp_path: Path) -> None:
    """One run is no plural."""
    said: list[str] = []
    archive_runs(replace(world, progress=Watcher(said)), [run], Order(tmp_path / "a", runner=False))
    archive_images(replace(world, progress=Watcher(said)), ["trial"], Order(tmp_path / "b"))
    assert [line for line in said if line.startswith("packing")] == ["packing 1 run and 3 images", "packing 1 image"]


def test_our_images_are_archived_and_loaded(world: World, tmp_path: Path) -> None:
    """Those that are named, or all that pods are made of; the engine's ids are those of the locks."""
    archive_images(world, ["trial"], Order(tmp_path / "one"))
    archive_images(world, [], Order(tmp_path / "all"))
    assert [image.name for image in load_images(world, tmp_path / "one")] == ["trial"]
    loaded = load_images(world, tmp_path / "all", ["gateway", "qdrant"])
    assert [image.name for image in loaded] == ["gateway", "qdrant"]
    built = {image.name: image for image in imaging.build(world)}
    imaging.hold(world.engine(), [built["trial"], *loaded])
    assert [image.config_digest for image in loaded] == [built["gateway"].config_digest, built["qdrant"].config_digest]
    assert world.engine().image(built["retrieval"].tag) is None


def test_nothing_reaches_an_engine_out_of_a_damaged_archive(world: World, tmp_path: Path) -> None:
    """Everything is checked first, the images that aren't asked for among it."""
    archive_images(world, [], Order(tmp_path / "a"))
    data = bytearray((tmp_path / "a").read_bytes())
    data[-1100] ^= 1
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(EvidenceError, match="blobs/sha256/"):
        load_images(world, tmp_path / "a", ["gateway"])
    engine = world.engine()
    assert isinstance(engine, FakeEngine)
    assert (engine.images, engine.calls) == ({}, [])


def test_an_engine_that_keeps_something_else_is_told(world: World, tmp_path: Path) -> None:
    """What it says after the load is held against the archive."""

    class Odd(FakeEngine):
        def image(self, reference: str):  # type: ignore[no-untyped-def]
            facts = super().image(reference)
            return None if facts is None else replace(facts, diff_ids=("sha256:" + "0" * 64,))

    odd = Odd(lambda _: lambda _: 0)
    archive_images(world, ["trial"], Order(tmp_path / "a"))
    with pytest.raises(EvidenceError, match="the engine's layers are"):
        load_images(replace(world, engine=lambda: odd), tmp_path / "a")


def test_the_image_that_runs_us_goes_along(outside: Surroundings, world: World, run: Path, tmp_path: Path) -> None:
    """With the code at hand in it, packed as an engine reads it by itself."""
    make_images(tmp_path / "more")
    folder = tmp_path / "more" / "images" / "runner"
    (folder / "program").mkdir(parents=True)
    text = (tmp_path / "more" / "images" / "trial" / "image.toml").read_text("utf-8")
    (folder / "image.toml").write_text(text.replace("version = 1\n", "version = 1\npod = false\n"), "utf-8")
    (folder / "program" / "main.py").write_text("NAME = 'runner'\n", "utf-8")
    build = build_in(tmp_path / "more", FakeIndex())
    relock(build)
    richer = replace(world, build=replace(build, store=world.build.store))
    archive_runs(richer, [run], Order(tmp_path / "a"))
    with opened(richer, tmp_path / "a") as archive:
        (runner,) = (image for image in archive.index.images if image.role == "runner")
        code = b"".join(archive.blob(runner.layers[-1]))
    assert b"opt/pairbench/harness/runner/cli/__init__.py" in code
    assert sha256_digest(code) == runner.pin.diff_ids[-1]
    archive_images(richer, ["runner", "trial"], Order(tmp_path / "b"))
    with opened(richer, tmp_path / "b") as archive:
        assert [image.role for image in archive.index.images] == ["runner", "pod"]
