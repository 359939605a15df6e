"""What comes out of an archive is what went in, and appears whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from runner.archives.reading import is_archive, open_archive
from runner.archives.writing import write_archive
from runner.core.errors import EnvironmentNotReady, EvidenceError, StudyError
from runner.images.archive import archive_chunks
from tests.fakes.archives import code, contents, image, laid, lay, read, run_files
from tests.fakes.engine import FakeEngine

if TYPE_CHECKING:
    from runner.archives.writing import Written

LAYER = b"layer " * 5000
NOISE = os.urandom(30_000)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """One run, two images that share a layer, code."""
    written(tmp_path)
    return tmp_path / "a.pairbench"


def written(folder: Path, split_bytes: int | None = None) -> Written:
    run = lay(folder / "runs" / "demo", run_files())
    images = [image("trial", LAYER, NOISE), image("gateway", LAYER), image("runner", LAYER, b"us", role="runner")]
    wanted = contents({"demo": run}, images)
    return write_archive(wanted, folder / "a.pairbench", cache=folder / "c", split_bytes=split_bytes)


def test_a_run_comes_out_as_it_went_in(archive: Path, tmp_path: Path) -> None:
    """Every file, and nothing else."""
    with open_archive(archive, tmp_path / "s") as found:
        found.unpack_run("demo", tmp_path / "out" / "demo")
    assert laid(tmp_path / "out" / "demo") == run_files()


def test_what_comes_out_is_as_readable_as_the_users_mask_allows(archive: Path, tmp_path: Path) -> None:
    """No mode comes out of an archive."""
    old = os.umask(0o027)
    try:
        with open_archive(archive, tmp_path / "s") as found:
            found.unpack_run("demo", tmp_path / "demo")
    finally:
        os.umask(old)
    modes = {stat.S_IMODE((tmp_path / "demo" / name).stat().st_mode) for name in ("", "trials", "lock.json")}
    assert modes == {0o750, 0o640}


def test_nothing_that_stands_there_is_touched(archive: Path, tmp_path: Path) -> None:
    """A run's folder is made, never filled up."""
    (tmp_path / "demo").mkdir()
    with open_archive(archive, tmp_path / "s") as found, pytest.raises(StudyError, match="there already"):
        found.unpack_run("demo", tmp_path / "demo")
    assert list((tmp_path / "demo").iterdir()) == []


def test_what_breaks_off_leaves_no_folder(archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run's folder appears when all of it is written."""

    def refused(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    with open_archive(archive, tmp_path / "s") as found:
        monkeypatch.setattr("pathlib.Path.rename", refused)
        with pytest.raises(EnvironmentNotReady, match=r"No space left on device \(make room and go on\)"):
            found.unpack_run("demo", tmp_path / "out" / "demo")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_run_that_it_hasnt_got_is_named(archive: Path, tmp_path: Path) -> None:
    """With those that it has."""
    with (
        open_archive(archive, tmp_path / "s") as found,
        pytest.raises(StudyError, match=r"no run 'odd' \(it has demo\)"),
    ):
        found.unpack_run("odd", tmp_path / "odd")


def test_what_it_was_unpacked_to_is_gone_at_the_end(archive: Path, tmp_path: Path) -> None:
    """Also when whoever uses it fails."""
    with contextlib.suppress(ZeroDivisionError), open_archive(archive, tmp_path / "s"):
        there = len(list((tmp_path / "s").iterdir()))
        there //= 0
    assert there == 1
    assert list((tmp_path / "s").iterdir()) == []


def test_layers_stay_packed(archive: Path, tmp_path: Path) -> None:
    """They are most of an archive: room for the rest is enough."""
    with open_archive(archive, tmp_path / "s") as found:
        kept = sum(path.stat().st_size for path in (tmp_path / "s").rglob("*") if path.is_file())
        layers = sum(found.index.blobs[layer].size for layer in found.index.layers())
        assert kept == found.index.raw_bytes() - layers
    assert layers == len(LAYER) + len(NOISE) + 2


def test_an_engine_takes_its_images(archive: Path, tmp_path: Path) -> None:
    """By their own ids, whichever way they were packed; all of them, or those that are called."""
    engine = FakeEngine(lambda _: lambda _: 0)
    trial, gateway, runner = image("trial", LAYER, NOISE), image("gateway", LAYER), image("runner", LAYER, b"us")
    with open_archive(archive, tmp_path / "s") as found:
        engine.load_images(found.image_chunks(["gateway", runner.pin.config_digest]))
        assert engine.image(trial.pin.tag) is None
        engine.load_images(found.image_chunks([trial.pin.tag]))
    for made in (trial, gateway, runner):
        facts = engine.image(made.pin.tag)
        assert facts is not None
        assert (facts.identity, facts.diff_ids) == (made.pin.config_digest, made.pin.diff_ids)
    assert engine.contents[trial.pin.config_digest][1:] == [LAYER, NOISE]


def test_images_come_out_as_they_were_built(archive: Path, tmp_path: Path) -> None:
    """Byte for byte what the store would have given the engine."""
    with open_archive(archive, tmp_path / "s") as found:
        images = found.built(["trial"])
        assert images[0].config == image("trial", LAYER, NOISE).config
        assert b"".join(archive_chunks(images, found.store)) == b"".join(found.image_chunks(["trial"]))


def test_an_image_that_it_hasnt_got_is_named(archive: Path, tmp_path: Path) -> None:
    """With those that it has."""
    told = r"no image 'odd' \(it has gateway, runner, trial\)"
    with open_archive(archive, tmp_path / "s") as found, pytest.raises(StudyError, match=told):
        found.images(["odd"])


def test_code_comes_out_by_its_digest(archive: Path, tmp_path: Path) -> None:
    """As the run's folder has it; None for code that isn't there."""
    with open_archive(archive, tmp_path / "s") as found:
        assert found.harness(code().pin.source_sha256) == code()
        assert found.harness("sha256:" + "0" * 64) is None


def test_any_blob_can_be_had(archive: Path, tmp_path: Path) -> None:
    """Those of layers too."""
    with open_archive(archive, tmp_path / "s") as found:
        layer = image("trial", LAYER, NOISE).pin.diff_ids[0]
        assert b"".join(found.blob(layer)) == LAYER
        lock = found.index.runs["demo"].lock_sha256
        assert b"".join(found.blob(lock)) == run_files()["lock.json"]


def test_an_archive_that_changes_while_it_is_open_gives_no_layer(archive: Path, tmp_path: Path) -> None:
    """A layer is held to its digest each time it goes out."""
    with open_archive(archive, tmp_path / "s") as found:
        entry = found.store.entries[image("trial", LAYER, NOISE).pin.diff_ids[1]]
        with archive.open("r+b") as stream:
            stream.seek(entry.body + 100)
            stream.write(b"changed")
        with pytest.raises(EvidenceError, match=entry.name):
            b"".join(found.image_chunks(["trial"]))


def test_parts_are_read_as_one(archive: Path, tmp_path: Path) -> None:
    """Any name leads to them: the archive's, or that of a part."""
    (tmp_path / "b").mkdir()
    done = written(tmp_path / "b", split_bytes=7000)
    assert [path.name for path in done.files[:2]] == ["a.pairbench.part001", "a.pairbench.part002"]
    assert {path.stat().st_size for path in done.files[:-1]} == {7000}
    assert b"".join(path.read_bytes() for path in done.files) == archive.read_bytes()
    whole = read(archive, tmp_path / "s")
    assert read(tmp_path / "b" / "a.pairbench", tmp_path / "s") == whole
    assert read(tmp_path / "b" / "a.pairbench.part001", tmp_path / "s") == whole


@pytest.mark.parametrize(
    ("which", "told"),
    [
        (0, r"a\.pairbench\.part001: this part is missing"),
        (2, r"a\.pairbench\.part003: this part is missing"),
        (-1, r"the archive ends here, \d+ bytes too early \(part a\.pairbench\.part\d+ may be missing\)"),
    ],
)
def test_a_missing_part_is_named(tmp_path: Path, which: int, told: str) -> None:
    """The first, one between others, the last."""
    done = written(tmp_path, split_bytes=7000)
    done.files[which].unlink()
    with pytest.raises(EvidenceError, match=told):
        read(tmp_path / "a.pairbench", tmp_path / "s")


def test_a_surplus_part_is_named(tmp_path: Path) -> None:
    """It belongs to another archive."""
    done = written(tmp_path, split_bytes=7000)
    surplus = tmp_path / f"a.pairbench.part{len(done.files) + 1:03}"
    surplus.write_bytes(b"x")
    with pytest.raises(EvidenceError, match=rf"{surplus.name}: this part is one too many"):
        read(tmp_path / "a.pairbench", tmp_path / "s")


def test_a_cut_part_is_named(tmp_path: Path) -> None:
    """Not the entry that happens to be at its end."""
    done = written(tmp_path, split_bytes=7000)
    done.files[2].write_bytes(done.files[2].read_bytes()[:-1])
    with pytest.raises(EvidenceError, match=r"a\.pairbench\.part003: this part has 6999 bytes, and the first has 7000"):
        read(tmp_path / "a.pairbench", tmp_path / "s")


def test_an_archive_is_a_file_or_its_parts(archive: Path, tmp_path: Path) -> None:
    """A run is a folder, and whatever isn't there is neither."""
    (tmp_path / "b").mkdir()
    written(tmp_path / "b", split_bytes=100_000)
    assert is_archive(archive)
    assert is_archive(tmp_path / "b" / "a.pairbench")
    assert is_archive(tmp_path / "b" / "a.pairbench.part001")
    assert not is_archive(tmp_path / "runs" / "demo")
    assert not is_archive(tmp_path / "absent")


def test_an_archive_is_no_pipe(tmp_path: Path) -> None:
    """It is told before anybody waits for what would come out of it."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/null")):
        with pytest.raises(StudyError, match="it is a pipe, a socket or a device, and an archive must be a file"):
            is_archive(path)
        with (
            pytest.raises(StudyError, match="an archive must be a file"),
            open_archive(path, tmp_path / "s"),
        ):
            pass
    assert not (tmp_path / "s").exists()


def test_an_archive_that_is_not_there_is_no_evidence(tmp_path: Path) -> None:
    """The command was wrong, and not what it names."""
    with pytest.raises(StudyError, match="there is no such archive"):
        read(tmp_path / "absent", tmp_path / "s")


def test_room_is_asked_for_before_anything_is_unpacked(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that would be full halfway is left as it was."""
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10}))
    with pytest.raises(EnvironmentNotReady, match=r"unpacking the archive takes \d+ bytes, and 10 are free"):
        read(archive, tmp_path / "s")
    assert list((tmp_path / "s").iterdir()) == []
