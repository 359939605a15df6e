"""A run is taken out of an archive for a rerun: laid down among the other runs, with the images that lie beside it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from runner.adapters.disk import Disk
from runner.archives.writing import write_archive
from runner.core import layout
from runner.core.errors import EnvironmentNotReady, EvidenceError, PairbenchError, StudyError
from runner.pipeline.unpacking import in_its_own_image, out_of_archive
from tests.fakes.archives import contents, image, laid, lay, run_files

if TYPE_CHECKING:
    from pathlib import Path

    from runner.pipeline.world import World
    from tests.fakes.surroundings import Surroundings


@pytest.fixture
def world(outside: Surroundings, tmp_path: Path) -> World:
    """The outside, whose files, cache and runs are really there."""
    places = replace(outside.world.places, cache=tmp_path / "cache", runs=tmp_path / "runs")
    return replace(outside.world, files=Disk(), places=places)


def archived(tmp_path: Path, *names: str) -> Path:
    """An archive of runs called so, with an image for pods and one that runs this program."""
    runs = {name: lay(tmp_path / "laid" / name, run_files(name)) for name in names}
    path = tmp_path / "runs.pairbench"
    images = [image("trial", b"one layer"), image("runner", b"another", role="runner")]
    write_archive(contents(runs, images), path, cache=tmp_path / "packed")
    return path


def test_a_run_stays_among_the_others(world: World, tmp_path: Path) -> None:
    """What else was unpacked is gone afterwards; the same run is taken as it is the next time."""
    path = archived(tmp_path, "demo")
    for _ in range(2):
        with out_of_archive(world, path, "") as (folder, _):
            assert folder == tmp_path / "runs" / "demo"
        assert laid(folder) == run_files("demo")
        assert [*(tmp_path / "cache" / "unpacking").iterdir()] == []


def test_an_image_is_given_by_its_digest(world: World, tmp_path: Path) -> None:
    """The very one that a lock pins, and no other of its name."""
    with out_of_archive(world, archived(tmp_path, "demo"), "") as (_, shelf):
        pin = next(pin for pin in shelf.pins if pin.name == "trial")
        assert shelf.holds(pin)
        assert not shelf.holds(pin.model_copy(update={"config_digest": "sha256:" + "0" * 64}))
        assert not shelf.holds(pin.model_copy(update={"diff_ids": ()}))
        data = b"".join(shelf.chunks([pin]))
    assert pin.config_digest.removeprefix("sha256:").encode() in data
    assert b"one layer" in data
    assert b"another" not in data


def test_of_several_runs_one_is_named(world: World, tmp_path: Path) -> None:
    """Whoever names none is told which there are; nothing is laid down."""
    path = archived(tmp_path, "one", "two")
    with pytest.raises(StudyError, match="has 2 runs") as caught, out_of_archive(world, path, ""):
        pass
    assert "name one with --run: one, two" in caught.value.diagnostics()
    with pytest.raises(StudyError, match="has no run 'three'"), out_of_archive(world, path, "three"):
        pass
    assert not (tmp_path / "runs").exists()
    with out_of_archive(world, path, "two") as (folder, _):
        assert laid(folder) == run_files("two")


def test_an_archive_of_images_has_no_run(world: World, tmp_path: Path) -> None:
    """And says so."""
    with pytest.raises(StudyError, match="the archive has no run"), out_of_archive(world, archived(tmp_path), ""):
        pass


@pytest.mark.parametrize("name", [layout.LOCK, layout.SUMMARY])
def test_another_run_of_the_same_name_is_left_alone(world: World, tmp_path: Path, name: str) -> None:
    """Neither used nor written over."""
    path = archived(tmp_path, "demo")
    lay(tmp_path / "runs" / "demo", run_files("demo") | {name: b"{}\n"})
    with pytest.raises(StudyError, match="another run than the archived one"), out_of_archive(world, path, ""):
        pass
    assert (tmp_path / "runs" / "demo" / name).read_bytes() == b"{}\n"


def test_a_run_that_nobody_verified_is_called_that(world: World, outside: Surroundings, tmp_path: Path) -> None:
    """As the archive has it."""
    runs = {"demo": lay(tmp_path / "laid" / "demo", run_files())}
    path = tmp_path / "runs.pairbench"
    write_archive(replace(contents(runs), unverified=frozenset({"demo"})), path, cache=tmp_path / "packed")
    with out_of_archive(world, path, ""):
        pass
    assert "demo did not verify when it was archived, or nobody looked" in outside.watcher.steps


def test_a_damaged_archive_lays_nothing_down(world: World, tmp_path: Path) -> None:
    """Not even the runs that are whole."""
    path = archived(tmp_path, "demo")
    data = bytearray(path.read_bytes())
    data[-3000] ^= 1
    path.write_bytes(data)
    with pytest.raises(EvidenceError), out_of_archive(world, path, ""):
        pass
    assert not (tmp_path / "runs").exists()
    assert [*(tmp_path / "cache" / "unpacking").iterdir()] == []


def test_without_an_engine_the_usual_socket_is_named(world: World, outside: Surroundings, tmp_path: Path) -> None:
    """The one that a machine with an engine has."""
    outside.no_engine.append("nothing answers")
    with out_of_archive(world, archived(tmp_path, "demo"), "") as (_, shelf):
        assert " -v /var/run/docker.sock:/var/run/docker.sock " in shelf.own_code


@pytest.mark.parametrize("error", [StudyError, EvidenceError, PairbenchError])
def test_a_run_that_is_no_good_does_not_stay(world: World, tmp_path: Path, error: type[PairbenchError]) -> None:
    """And is spoken of as the archive's, where it still is; one that stood there before is left alone."""
    path = archived(tmp_path, "demo")
    place = tmp_path / "runs" / "demo"
    with pytest.raises(error) as caught, out_of_archive(world, path, "") as (folder, _):
        raise error("it is no good", document=str(folder), hint=f"look at {folder}")
    assert type(caught.value) is error
    assert str(caught.value) == f"{path}#demo: it is no good (look at {path}#demo)"
    assert not place.exists()
    lay(place, run_files("demo"))
    with pytest.raises(error, match=str(place)), out_of_archive(world, path, "") as (folder, _):
        raise error("it is no good", document=str(folder))
    assert laid(place) == run_files("demo")


def test_a_run_stays_for_a_machine_that_is_made_ready(world: World, tmp_path: Path) -> None:
    """What is said of it may name files of the run."""
    lacking = EnvironmentNotReady("the code at hand isn't the run's")
    with pytest.raises(EnvironmentNotReady), out_of_archive(world, archived(tmp_path, "demo"), ""):
        raise lacking
    assert laid(tmp_path / "runs" / "demo") == run_files("demo")


def test_the_archived_program_is_started_with_an_engine_alone(world: World, tmp_path: Path) -> None:
    """Without a network; parts are joined before they are loaded; the shelf of an archive says the same."""
    path = archived(tmp_path, "demo")
    with out_of_archive(world, path, "") as (_, shelf):
        tag = next(pin.tag for pin in shelf.pins if pin.name == "runner")
        # No socket of this machine leads to the engine that answers here.
        assert shelf.own_code == in_its_own_image(path, tag, "fake://")
    assert in_its_own_image(path, "runner:1") == (
        f"docker load -i {path} && docker run --rm --network none -v /var/run/docker.sock:/var/run/docker.sock "
        f'-v {path}:/archive:ro -v "$PWD":/study runner:1 rerun /archive'
    )
    assert in_its_own_image(path, "runner:1", "unix:///srv/my engine/docker.sock") == (
        f"export DOCKER_HOST='unix:///srv/my engine/docker.sock' && docker load -i {path} && "
        "docker run --rm --network none -v '/srv/my engine/docker.sock':/var/run/docker.sock "
        f'-v {path}:/archive:ro -v "$PWD":/study runner:1 rerun /archive'
    )
    assert in_its_own_image(path, "runner:1", "tcp://10.0.0.1:2375") == (
        f"export DOCKER_HOST=tcp://10.0.0.1:2375 && docker load -i {path} && "
        "docker run --rm --network host -e DOCKER_HOST=tcp://10.0.0.1:2375 "
        f'-v {path}:/archive:ro -v "$PWD":/study runner:1 rerun /archive'
    )
    parts = tmp_path / "of two"
    assert in_its_own_image(parts, "runner:1").startswith(
        f"cat '{parts}'.part* > '{parts}' && docker load -i '{parts}' && "
    )
