"""A run is opened wherever it lies: in its folder, by name, or in an archive, whose copy is gone afterwards."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from runner.archives.writing import write_archive
from runner.core import layout
from runner.core.errors import EvidenceError, PairbenchError, StudyError
from runner.pipeline.opening import opened, opened_run
from tests.fakes.archives import contents, laid, lay, run_files
from tests.fakes.surroundings import RUNS

if TYPE_CHECKING:
    from pathlib import Path

    from runner.pipeline.world import World
    from tests.fakes.surroundings import Surroundings


@pytest.fixture
def world(outside: Surroundings, tmp_path: Path) -> World:
    """The outside, with a cache that is really there."""
    return replace(outside.world, places=replace(outside.world.places, cache=tmp_path / "cache"))


def archived(tmp_path: Path, *names: str) -> Path:
    """An archive of runs called so."""
    runs = {name: lay(tmp_path / "laid" / name, run_files(name)) for name in names}
    path = tmp_path / "runs.pairbench"
    write_archive(contents(runs), path, cache=tmp_path / "cache")
    return path


def test_a_folder_is_opened_where_it_is(world: World, outside: Surroundings, tmp_path: Path) -> None:
    """By its name among the runs."""
    outside.files.put(RUNS / "demo" / layout.LOCK, "{}")
    with opened(world, "demo", tmp_path) as folder:
        assert folder == RUNS / "demo"


def test_the_only_run_of_an_archive_needs_no_name(world: World, tmp_path: Path) -> None:
    """It is unpacked as it was, into the cache, and is gone afterwards."""
    archived(tmp_path, "demo")
    with opened(world, "runs.pairbench", tmp_path) as folder:
        assert folder.is_relative_to(tmp_path / "cache")
        assert folder.name == "demo"
        assert laid(folder) == run_files("demo")
    assert not folder.exists()
    assert [path.name for path in (tmp_path / "cache").iterdir() if path.name.startswith("opened-")] == []


def test_one_run_of_several_is_named(world: World, tmp_path: Path) -> None:
    """Behind a number sign; whoever names none is told which there are."""
    archived(tmp_path, "one", "two")
    with opened(world, "runs.pairbench#two", tmp_path) as folder:
        assert laid(folder) == run_files("two")
    with pytest.raises(StudyError, match="holds 2 runs") as caught, opened(world, "runs.pairbench", tmp_path):
        pass
    assert "runs.pairbench#one, runs.pairbench#two" in caught.value.diagnostics()
    with pytest.raises(StudyError, match="has no run 'three'"), opened(world, "runs.pairbench#three", tmp_path):
        pass


def test_what_is_said_of_an_archived_run_names_the_archive(world: World, tmp_path: Path) -> None:
    """In an error of the same kind: the folder that it was looked at in is gone by then."""
    archived(tmp_path, "one", "two")
    with pytest.raises(PairbenchError) as caught, opened(world, "runs.pairbench#two", tmp_path) as folder:
        raise PairbenchError("the run has no summary yet", document=f"A: {folder}", hint=f"look at {folder}")
    assert str(caught.value) == ("A: runs.pairbench#two: the run has no summary yet (look at runs.pairbench#two)")


def test_the_archive_is_at_hand_while_its_run_is(world: World, outside: Surroundings, tmp_path: Path) -> None:
    """With all that it holds besides; a run in a folder has none."""
    archived(tmp_path, "demo")
    with opened_run(world, "runs.pairbench", tmp_path) as found:
        assert found.archive is not None
        assert [*found.archive.index.runs] == ["demo"]
    outside.files.put(RUNS / "demo" / layout.LOCK, "{}")
    with opened_run(world, "demo", tmp_path) as found:
        assert found.archive is None


def test_a_damaged_archive_is_opened_for_nobody(world: World, tmp_path: Path) -> None:
    """And leaves nothing behind."""
    path = archived(tmp_path, "demo")
    data = bytearray(path.read_bytes())
    data[-3000] ^= 1
    path.write_bytes(data)
    with pytest.raises(EvidenceError), opened(world, "runs.pairbench", tmp_path):
        pass
    assert [item.name for item in (tmp_path / "cache").iterdir() if item.name.startswith("opened-")] == []


def test_what_is_neither_is_said(world: World, tmp_path: Path) -> None:
    """A name that nothing has, with or without a number sign."""
    for name in ("nothing", "nothing#demo"):
        with pytest.raises(StudyError, match="there is no run"), opened(world, name, tmp_path):
            pass
