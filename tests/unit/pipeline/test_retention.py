"""What nothing needs goes from the cache, and nothing else: no run, no archive, nothing that a lock or a run names."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runner.archives.packing import LIBRARIES
from runner.archives.split import WholeFiles
from runner.archives.writing import write_archive
from runner.core.canonical import Digest, canonical_bytes, digest_of, sha256_digest
from runner.core.lock import CorpusPin, ImagePin, IndexPin, Lock
from runner.images.store import Store
from runner.images.tarball import FIXED_TIME
from runner.pipeline.needs import find_archives, find_runs, unseen
from runner.pipeline.retention import Cleaned, clean, survey
from runner.pipeline.world import Places
from tests.fakes.archives import contents, image, lay, run_files

if TYPE_CHECKING:
    from runner.pipeline.retention import Survey
    from runner.pipeline.world import World
    from tests.fakes.surroundings import Surroundings

PASSAGES = "sha256:" + "7" * 64
ZERO = "sha256:" + "0" * 64
OURS: dict[str, Any] = {"created": FIXED_TIME, "config": {"Labels": {"org.pairbench.base": ZERO}}}


@dataclass
class Disk:
    """A checkout with a cache and a folder of runs, on a real disk."""

    root: Path
    world: World

    @property
    def store(self) -> Store:
        return self.world.build.store

    def write(self, name: str, data: bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def layer(self, data: bytes, *, inputs: str = "") -> Digest:
        """A layer in the store, found by its inputs."""
        key = sha256_digest((inputs or data.decode()).encode())
        return self.store.add_layer(key, [data]).digest

    def image(self, *layers: Digest) -> Digest:
        """The configuration of an image of ours in the store, which names the layers."""
        return self.config(OURS, *layers)

    def config(self, image: dict[str, Any], *layers: Digest) -> Digest:
        """The configuration of any image in the store."""
        value = image | {"rootfs": {"type": "layers", "diff_ids": list(layers)}}
        return self.store.add_blob([canonical_bytes(value)]).digest

    def run(self, lock: Lock) -> Path:
        return self.write(f"runs/{lock.run}/lock.json", lock.to_bytes()).parent

    def images_lock(self, **configs: Digest) -> None:
        value = {"images": {name: {"config": digest, "manifest": ZERO} for name, digest in configs.items()}}
        self.write("images/locks/images.amd64.json", json.dumps(value).encode())

    def survey(self) -> Survey:
        return survey(self.world)

    def left(self, folder: str = "cache") -> list[str]:
        """Every file below a folder."""
        return sorted(
            path.relative_to(self.root / folder).as_posix()
            for path in (self.root / folder).rglob("*")
            if path.is_file()
        )


@pytest.fixture
def disk(outside: Surroundings, tmp_path: Path) -> Disk:
    """A checkout with a lock and a folder of runs in which nothing is named, and no cache."""
    places = Places(images=tmp_path / "images", cache=tmp_path / "cache", runs=tmp_path / "runs")
    build = replace(outside.world.build, images_dir=places.images, store=Store(places.cache / "images"))
    disk = Disk(tmp_path, replace(outside.world, places=places, build=build))
    disk.images_lock()
    places.runs.mkdir()
    return disk


@pytest.fixture
def lock(outside: Surroundings) -> Lock:
    """What a run is pinned to that needs nothing."""
    return Lock(
        run="one",
        protocol_version="1",
        created_at="2026-05-01T00:00:00.000Z",
        evidence="fixture",
        model_shown="scripted-policy (fixture)",
        study_sha256=ZERO,
        labels_sha256="",
        plan_sha256=ZERO,
        prices_sha256=ZERO,
        prompts={},
        client_version="1",
        arms=(),
        images=(),
        corpora={},
        engine={
            "name": "e",
            "version": "1",
            "api_version": "1.41",
            "architecture": "x86_64",
            "kernel": "6",
            "storage_driver": "overlay2",
            "cgroup_version": "2",
            "cpus": 2,
            "memory_bytes": 1,
        },  # type: ignore[arg-type]
        harness=outside.world.harness,
    )


def pin(name: str, config: Digest, *layers: Digest) -> ImagePin:
    return ImagePin(
        name=name,
        tag=f"pairbench/{name}:{config.removeprefix('sha256:')}",
        config_digest=config,
        manifest_digest=ZERO,
        diff_ids=layers,
        drifted=(),
    )


def corpus_pin(archive_sha256: str) -> CorpusPin:
    return CorpusPin(
        corpus_sha256=ZERO,
        tree_sha256=ZERO,
        passages_sha256=PASSAGES,
        files=1,
        passages=1,
        index=IndexPin(logical_sha256=ZERO, archive_sha256=archive_sha256, points=1),
    )


def names(found: Survey, kind: str) -> tuple[list[str], list[str]]:
    """What of a kind stays, and what goes."""
    items = [item for item in found.items if item.kind == kind]
    return [item.name for item in items if item.needed_by], [item.name for item in items if not item.needed_by]


def hexadecimal(digest: str) -> str:
    return digest.removeprefix("sha256:")


def test_a_cache_that_is_not_there_holds_nothing(disk: Disk) -> None:
    """And nothing is made."""
    assert disk.survey().items == ()
    assert clean(disk.survey()) == Cleaned((), ())
    assert not (disk.root / "cache").exists()


def test_layers_of_runs_and_locks_stay(disk: Disk, lock: Lock) -> None:
    """Those that a lock names itself, those of the image that it comes to, and those of runs; each says for whom."""
    locked, ours, ran, orphan = (disk.layer(text) for text in (b"locked", b"program", b"ran", b"orphan"))
    config = disk.image(ours)
    disk.images_lock(trial=config)
    disk.write("images/locks/trial.amd64.json", json.dumps({"layers": {"wheels": locked}, "wheels": []}).encode())
    disk.run(lock.model_copy(update={"images": (pin("trial", config, locked, ran),)}))
    found = disk.survey()
    by = {item.name: item.needed_by for item in found.items if item.kind == "layers"}
    assert by == {
        hexadecimal(locked): ("images/locks", "one"),
        hexadecimal(ours): ("images/locks", "one"),
        hexadecimal(ran): ("one",),
        hexadecimal(config): ("images/locks", "one"),
        hexadecimal(orphan): (),
    }
    removed = clean(found).removed
    assert [item.name for item in removed if item.kind == "layers"] == [hexadecimal(orphan)]
    assert disk.store.layer(sha256_digest(b"orphan")) is None
    assert disk.store.layer(sha256_digest(b"ran")) is not None


def test_records_of_layers_go_with_them(disk: Disk) -> None:
    """A record that leads nowhere helps nobody; several may lead to one layer."""
    kept = disk.layer(b"kept", inputs="first")
    disk.layer(b"kept", inputs="second")
    disk.layer(b"gone")
    disk.write("images/locks/trial.amd64.json", json.dumps({"layers": {"wheels": kept}}).encode())
    for inputs in ("first", "gone"):
        disk.write(f"cache/images/origins/{hexadecimal(sha256_digest(inputs.encode()))}.json", b"{}")
    clean(disk.survey())
    first, second = (hexadecimal(sha256_digest(text)) for text in (b"first", b"second"))
    assert disk.left() == sorted(
        [
            f"images/blobs/sha256/{hexadecimal(kept)}",
            f"images/layers/{first}.json",
            f"images/layers/{second}.json",
            f"images/origins/{first}.json",
        ]
    )


def test_the_base_of_another_image_stays(disk: Disk) -> None:
    """No lock names its layers, and without a network nobody gets them again."""
    layer = disk.store.add_blob([b"foreign"])
    disk.write("cache/images/foreign/x.json", json.dumps([[layer.digest, 7]]).encode())
    (item,) = disk.survey().items
    assert item.needed_by == ("a base taken from another image",)


def test_downloads_that_no_lock_names_go(disk: Disk) -> None:
    """Debian packages by digest, wheels by their files, of every architecture."""
    deb, wheel = "1" * 64, "alpha-1.0-py3-none-any.whl"
    disk.write("images/locks/base.arm64.json", json.dumps({"packages": [{"sha256": f"sha256:{deb}"}]}).encode())
    disk.write("images/locks/trial.amd64.json", json.dumps({"sources": [{"file": wheel}], "wheels": []}).encode())
    for name in (f"debs/{deb}.deb", f"debs/{'2' * 64}.deb", f"wheels/{wheel}", "wheels/beta.whl", "wheels/tmpx/part"):
        disk.write(f"cache/images/downloads/{name}", b"x")
    assert names(disk.survey(), "downloads") == ([f"{deb}.deb", wheel], [f"{'2' * 64}.deb", "beta.whl", "tmpx"])


def test_the_newest_interpreter_of_a_base_stays(disk: Disk) -> None:
    """Builders that changed since unpacked the same base under other names."""
    base = disk.layer(b"base", inputs="old builder")
    disk.layer(b"base", inputs="new builder")
    disk.layer(b"other base")
    disk.write("images/locks/base.amd64.json", json.dumps({"packages": [], "layer": base}).encode())
    folders = [hexadecimal(sha256_digest(text)) for text in (b"old builder", b"new builder", b"other base", b"unknown")]
    for moment, name in enumerate(folders):
        folder = disk.write(f"cache/images/interpreters/{name}/usr/bin/python3", b"ELF").parents[2]
        os.utime(folder, (moment, moment))
    kept, gone = names(disk.survey(), "interpreters")
    assert kept == [folders[1]]
    assert set(gone) == {folders[0], folders[2], folders[3]}


def test_packed_layers_stay_as_long_as_their_layers(disk: Disk) -> None:
    """They are found by the layer, the encoding and the library; those of an older library go."""
    layer = disk.layer(b"layer")
    disk.write("images/locks/trial.amd64.json", json.dumps({"layers": {"wheels": layer}}).encode())
    packed = Store(disk.root / "cache" / "packed")
    now, before = LIBRARIES["zstd"], "zstd 0.0.1"
    keys = [digest_of({"layer": layer, "encoding": "zstd", "library": library}) for library in (now, before)]
    blobs = [packed.add_layer(key, [data]).digest for key, data in zip(keys, (b"new", b"old"), strict=True)]
    kept, gone = names(disk.survey(), "packed")
    assert kept == [f"{hexadecimal(keys[0])}.json", hexadecimal(blobs[0])]
    assert set(gone) == {f"{hexadecimal(keys[1])}.json", hexadecimal(blobs[1])}


def test_indexes_of_runs_and_of_corpora_stay(disk: Disk, lock: Lock) -> None:
    """By what a run was pinned to, or by what our images would make of a frozen corpus."""
    trial, qdrant, retrieval = (disk.image(disk.layer(text)) for text in (b"trial", b"qdrant", b"retrieval"))
    disk.images_lock(trial=trial, qdrant=qdrant, retrieval=retrieval)
    frozen = {
        "format": "pairbench/corpus-lock",
        "version": 1,
        "name": "notes",
        "corpus_sha256": ZERO,
        "tree_sha256": ZERO,
        "passages_sha256": PASSAGES,
        "files": 1,
        "bytes": 1,
        "passages": 1,
        "skipped": 0,
    }
    disk.write("corpora/notes/corpus.lock.json", json.dumps(frozen).encode())
    disk.run(lock.model_copy(update={"corpora": {"notes": corpus_pin("sha256:" + "5" * 64)}}))
    keys = [hexadecimal(digest_of([PASSAGES, trial, qdrant, *more])) for more in ([], [retrieval])]
    for key in keys:
        disk.write(f"cache/indexes/{key}/index.tar", b"made by us")
    disk.write("cache/indexes/ran/pin.json", json.dumps({"archive_sha256": "sha256:" + "5" * 64}).encode())
    disk.write("cache/indexes/orphan/pin.json", json.dumps({"archive_sha256": "sha256:" + "6" * 64}).encode())
    kept, gone = names(disk.survey(), "indexes")
    assert (set(kept), gone) == ({*keys, "ran"}, ["orphan"])


def test_parts_of_corpora_stay_where_a_declaration_names_them(disk: Disk, lock: Lock) -> None:
    """Of this checkout, or of a run, which keeps the declaration that it was read from."""
    disk.write("corpora/h11/corpus.toml", b'parts = [{ kind = "wheel", sha256 = "sha256:' + b"1" * 64 + b'" }]')
    folder = disk.run(lock)
    (folder / "inputs" / "files").mkdir(parents=True)
    (folder / "inputs" / "files" / "corpus.toml").write_text(f'commit = "{"a" * 40}"', "utf-8")
    for name in ("1" * 64 + "/x.whl", "2" * 64 + "/x.whl", "git/" + "a" * 40 + "/HEAD", "git/" + "b" * 40 + "/HEAD"):
        disk.write(f"cache/corpora/{name}", b"x")
    found = disk.survey()
    assert names(found, "corpora") == (["1" * 64, "a" * 40], ["2" * 64, "b" * 40])
    assert {item.needed_by for item in found.items if item.needed_by} == {
        ("corpora/h11/corpus.toml",),
        ("one/inputs/files/corpus.toml",),
    }


def test_commits_stay_where_a_corpus_has_submodules(disk: Disk) -> None:
    """The commits that those lead to are named by the repository, not by the declaration."""
    disk.write("corpora/x/corpus.toml", b'submodules = ["lib"]')
    disk.write("cache/corpora/git/" + "b" * 40 + "/HEAD", b"x")
    assert names(disk.survey(), "corpora") == (["b" * 40], [])


def test_the_model_stays_with_its_layer(disk: Disk) -> None:
    """It is unpacked out of one."""
    layer = disk.layer(b"model")
    disk.write("images/locks/trial.amd64.json", json.dumps({"layers": {"model": layer}}).encode())
    disk.write(f"cache/model/{hexadecimal(layer)}/model.onnx", b"x")
    disk.write(f"cache/model/{'0' * 64}/model.onnx", b"x")
    assert names(disk.survey(), "model") == ([hexadecimal(layer)], ["0" * 64])


def test_what_is_half_made_goes(disk: Disk) -> None:
    """Whoever cleans is alone in the cache: nobody goes on with it."""
    for name in ("images/partial/tmp1", "images/downloads/images/tmp2/image.tar", "packed/partial/tmp3"):
        disk.write(f"cache/{name}", b"x")
    for name in ("scratch/archive-4/blobs/sha256/0", "unpacking/archive-5/x"):
        disk.write(f"cache/{name}", b"x")
    for name in ("opened-abcd1234/archive-6/x", "corpora/git/.fetching-abcd1234/store/HEAD"):
        disk.write(f"cache/{name}", b"x")
    disk.write("corpora/x/corpus.toml", b"submodules = true")
    left = ["tmp1", "tmp2", "tmp3", "archive-4", "archive-5", "opened-abcd1234", ".fetching-abcd1234"]
    assert names(disk.survey(), "partial") == ([], left)
    clean(disk.survey())
    assert disk.left() == []


@pytest.mark.parametrize(
    "damaged", ["runs/two/lock.json", "images/locks/base.amd64.json", "corpora/x/corpus.lock.json"]
)
def test_nothing_goes_that_something_unreadable_may_need(disk: Disk, damaged: str) -> None:
    """Nobody knows what a damaged run needs; it may be the last one of its images."""
    disk.layer(b"orphan")
    disk.write("cache/indexes/orphan/pin.json", b"{}")
    disk.write(damaged, b"not a document")
    found = disk.survey()
    assert found.superfluous == ()
    assert len(found.unknown) == 1
    assert clean(found) == Cleaned((), ())


@pytest.mark.parametrize("state", ["missing", "dangling", "a file", "a run that is elsewhere", "a loop"])
def test_nothing_goes_where_runs_may_be_elsewhere(disk: Disk, state: str) -> None:
    """A disk that isn't mounted holds runs all the same."""
    runs = disk.root / "runs"
    if state == "a run that is elsewhere":
        (runs / "two").symlink_to("/nowhere/two")
    elif state == "a loop":
        (runs / "two").symlink_to("two")
    else:
        runs.rmdir()
        if state == "dangling":
            runs.symlink_to("/nowhere/runs")
        elif state == "a file":
            runs.write_bytes(b"")
    disk.layer(b"orphan")
    disk.write("cache/indexes/orphan/pin.json", b"{}")
    found = disk.survey()
    assert found.superfluous == ()
    assert found.unknown == (str(runs if runs.is_symlink() or not runs.is_dir() else runs / "two"),)


def test_nothing_goes_where_a_run_may_not_be_entered(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is somebody's run, of whom nobody here knows what it needs."""
    theirs = disk.write("runs/theirs/lock.json", b"{}").parent
    monkeypatch.setattr(os, "access", lambda path, _mode: Path(path) != theirs)
    assert unseen((disk.root / "runs",), ()) == (str(theirs),)


def test_a_folder_of_runs_that_is_named_must_be_there(disk: Disk) -> None:
    """Of the usual two, one is enough: not everybody has runs in both. `latest` may lead to a run that was removed."""
    (disk.root / "runs" / "latest").symlink_to("gone")
    here, nowhere = disk.root / "runs", disk.root / "nowhere"
    assert unseen((nowhere, here), ()) == ()
    assert unseen((nowhere,), (here,)) == ()
    assert unseen((here,), (nowhere,)) == (str(nowhere),)
    assert unseen((nowhere, disk.root / "nothing"), ()) == (str(nowhere),)


def test_runs_of_the_checkout_count_wherever_one_works(disk: Disk, lock: Lock) -> None:
    """The cache is the checkout's, and so are the runs in it."""
    layer = disk.layer(b"ran")
    disk.run(lock.model_copy(update={"images": (pin("trial", Digest(ZERO), layer),)}))
    elsewhere = disk.root / "elsewhere"
    elsewhere.mkdir()
    world = replace(disk.world, places=replace(disk.world.places, runs=elsewhere / "runs"))
    found = survey(world)
    assert names(found, "layers") == ([hexadecimal(layer)], [])
    assert [use.run for use in found.runs] == ["one"]


def test_nothing_goes_without_the_locks_of_images(disk: Disk) -> None:
    """Nobody has removed all of them on purpose."""
    (disk.root / "images" / "locks" / "images.amd64.json").unlink()
    disk.layer(b"orphan")
    assert disk.survey().superfluous == ()
    assert disk.survey().unknown == ("images/locks",)


def test_a_corpus_behind_a_link_counts(disk: Disk) -> None:
    """Wherever it is kept, and also when links lead in a circle; one that leads nowhere may be any corpus."""
    disk.write("elsewhere/h11/corpus.toml", f'commit = "{"a" * 40}"'.encode())
    disk.write(f"cache/corpora/git/{'a' * 40}/HEAD", b"x")
    (disk.root / "corpora").mkdir()
    (disk.root / "corpora" / "h11").symlink_to("../elsewhere/h11")
    (disk.root / "elsewhere" / "h11" / "again").symlink_to(".")
    assert names(disk.survey(), "corpora") == (["a" * 40], [])
    (disk.root / "corpora" / "other").symlink_to("nowhere")
    assert disk.survey().unknown == ("corpora/other",)


def test_links_in_a_run_are_not_followed(disk: Disk, lock: Lock) -> None:
    """A run may be a stranger's: what its links lead to says nothing of what it needs."""
    disk.write("elsewhere/h11/corpus.toml", f'commit = "{"a" * 40}"'.encode())
    disk.write(f"cache/corpora/git/{'a' * 40}/HEAD", b"x")
    inputs = disk.run(lock) / "inputs"
    inputs.mkdir()
    (inputs / "h11").symlink_to(disk.root / "elsewhere" / "h11")
    (inputs / "other").symlink_to("nowhere")
    found = disk.survey()
    assert names(found, "corpora") == ([], ["a" * 40])
    assert found.unknown == ()


def test_images_of_a_study_stay_unless_one_asks(disk: Disk) -> None:
    """Only the engine that built them had them; also one on top of an image of ours, of which it has the label."""
    base, theirs, orphan = (disk.layer(text) for text in (b"base", b"theirs", b"orphan"))
    foreign = disk.config({"created": "2026-05-01T00:00:00Z"}, theirs)
    upon = disk.config(OURS | {"created": "2026-05-01T00:00:00Z"}, base, theirs)
    ours = disk.image(orphan)
    stay, go = names(disk.survey(), "layers")
    assert stay == sorted(map(hexadecimal, (base, theirs, foreign, upon)))
    assert go == sorted(map(hexadecimal, (orphan, ours)))
    assert names(survey(disk.world, user_images=False), "layers")[0] == []


def unfinished(disk: Disk) -> tuple[Path, ...]:
    """What a process that was killed leaves beside its archive in two parts, and beside one that it had just begun."""
    source = lay(disk.root / "elsewhere", run_files("one"))
    whole = disk.root / "elsewhere" / "one.tar"
    write_archive(contents({"one": source}), whole, cache=disk.root / "other-cache")
    data = whole.read_bytes()
    return (
        disk.write("runs/.one.tar.ab_d1234.partial", data[:2048]),
        disk.write("runs/.one.tar.efgh5678.partial", data[2048:]),
        disk.write("runs/.two.tar.abcd1234.partial", b""),
    )


def test_an_archive_that_nobody_will_finish_goes(disk: Disk) -> None:
    """Every part of it; what only has such a name is somebody else's."""
    left = unfinished(disk)
    others = [
        disk.write("runs/.film.mkv.abcd1234.partial", b"half a film"),
        disk.write("runs/one.tar.abcd1234.partial", left[0].read_bytes()),
        disk.write("runs/.one.tar.partial", left[0].read_bytes()),
    ]
    (disk.root / "runs" / ".three.tar.abcd1234.partial").symlink_to(left[0])
    assert names(disk.survey(), "partial") == ([], [path.name for path in left])
    clean(disk.survey())
    assert not any(path.exists() for path in left)
    assert all(path.exists() for path in others)


def test_an_archive_that_somebody_writes_stays(disk: Disk) -> None:
    """Another checkout has a cache of its own, and its processes aren't seen by this one's lock."""
    first, second, _ = unfinished(disk)
    with second.open("ab"):
        assert names(disk.survey(), "partial") == ([second.name], [first.name, ".two.tar.abcd1234.partial"])
    assert names(disk.survey(), "partial")[0] == []


def test_an_archive_is_known_by_the_names_that_its_writer_gives(disk: Disk) -> None:
    """As long as it is being written it stays."""
    begun = unfinished(disk)[0].read_bytes()
    writing = WholeFiles(disk.root / "runs" / "new.tar", 3072)
    writing.write(begun + bytes(4096))
    stay, go = names(disk.survey(), "partial")
    assert [name.startswith(".new.tar.") for name in stay] == [True, True]
    assert len(go) == 3
    writing.drop()
    assert names(disk.survey(), "partial")[0] == []


def test_an_archive_of_which_nobody_can_tell_stays(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not every file system knows who has a file open."""
    unfinished(disk)

    def refused(_handle: int, _operation: int, _argument: int = 0) -> int:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(fcntl, "fcntl", refused)
    assert names(disk.survey(), "partial")[1] == []


def test_other_things_in_the_cache_are_not_looked_at(disk: Disk) -> None:
    """The private engine, vectors and package lists have owners of their own."""
    others = ["engine/data/x", "images/apt/amd64/lists/x", "slots/embedder-0.lock", "vectors.sqlite"]
    for name in others:
        disk.write(f"cache/{name}", b"x")
    assert disk.survey().items == ()
    clean(disk.survey())
    assert disk.left() == others


def test_a_survey_changes_nothing(disk: Disk, lock: Lock) -> None:
    """Whatever it finds."""
    disk.layer(b"orphan")
    disk.run(lock)
    disk.write("cache/images/partial/tmp1", b"x")
    before = {path: path.stat().st_mtime_ns for path in disk.root.rglob("*")}
    assert len(disk.survey().superfluous) == 3
    assert {path: path.stat().st_mtime_ns for path in disk.root.rglob("*")} == before


def test_runs_are_never_touched(disk: Disk, lock: Lock) -> None:
    """Not even the leftovers in them."""
    folder = disk.run(lock)
    (folder / ".writing-x").write_bytes(b"torn")
    disk.write("runs/not-a-run/file", b"x")
    disk.layer(b"orphan")
    before = disk.left("runs")
    clean(disk.survey())
    assert disk.left("runs") == before


def test_what_a_run_takes_is_told(disk: Disk, lock: Lock) -> None:
    """Its folder, what it needs of the cache, and what would be free without it."""
    shared, own = disk.layer(b"12345"), disk.layer(b"1234567")
    folder = disk.run(lock.model_copy(update={"images": (pin("trial", Digest(ZERO), shared, own),)}))
    other = lock.model_copy(update={"run": "two", "images": (pin("trial", Digest(ZERO), shared),)})
    disk.run(other)
    (folder / "trials").mkdir()
    (folder / "trials" / "answer").write_bytes(b"x" * 100)
    size = (folder / "lock.json").stat().st_size
    first, second = disk.survey().runs
    assert (first.run, first.folder_bytes, first.cache_bytes, first.alone_bytes) == ("one", size + 100, 12, 7)
    assert (second.run, second.cache_bytes, second.alone_bytes, second.archives_bytes) == ("two", 5, 0, 0)


def test_runs_are_found_by_what_stands_in_them(disk: Disk, lock: Lock) -> None:
    """`latest` leads to one of them and is none of its own; of two folders, runs of one name keep their paths."""
    one = disk.run(lock)
    (disk.root / "runs" / "latest").symlink_to("one")
    elsewhere = disk.write("elsewhere/one/lock.json", lock.to_bytes()).parent
    found = find_runs((disk.root / "runs", disk.root / "elsewhere", disk.root / "nowhere"))
    assert found == {"one": one, str(elsewhere): elsewhere}


@pytest.mark.parametrize("split", [None, 4000])
def test_archives_count_for_their_runs_and_need_their_layers(disk: Disk, lock: Lock, split: int | None) -> None:
    """Also one in parts: it is one archive. None of its files is ever in the way."""
    layer = disk.layer(b"archived")
    disk.run(lock)
    source = lay(disk.root / "elsewhere", run_files("one", trials__first__noise_bin=os.urandom(9000)))
    written = write_archive(
        contents({"one": source}, [image("trial", b"archived")]),
        disk.root / "runs" / "one.tar",
        cache=disk.root / "other-cache",
        split_bytes=split,
    )
    found = disk.survey()
    assert [item.needed_by for item in found.items if item.name == hexadecimal(layer)] == [("one.tar",)]
    assert [use.archives_bytes for use in found.runs] == [written.size_bytes]
    clean(found)
    assert (disk.root / "runs" / ("one.tar.part001" if split else "one.tar")).is_file()


def test_what_only_looks_like_an_archive_is_passed_over(disk: Disk) -> None:
    """It needs nothing that could be told, and stays where it is."""
    from_tar = b"archive.sha256" + bytes(498)
    disk.write("runs/x.tar", from_tar)
    disk.write("runs/y.tar", b"")
    assert list(find_archives((disk.root / "runs",))) == []


def test_what_the_disk_keeps_is_told(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the rest goes."""
    disk.layer(b"first")
    stuck = disk.store.blob_path(sha256_digest(b"first"))
    disk.layer(b"second")
    unlink = type(stuck).unlink

    def refused(path: Path, *, missing_ok: bool = False) -> None:
        if path == stuck:
            raise PermissionError(1, "Operation not permitted")
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(type(stuck), "unlink", refused)
    done = clean(disk.survey())
    assert [(item.name, reason) for item, reason in done.kept] == [
        (hashlib.sha256(b"first").hexdigest(), "Operation not permitted")
    ]
    assert not disk.store.blob_path(sha256_digest(b"second")).exists()


def test_folders_that_nobody_may_write_to_go_too(disk: Disk) -> None:
    """A base has such folders, and a build unpacks it as it is."""
    folder = disk.write(f"cache/images/interpreters/{'0' * 64}/usr/lib/x", b"x").parent
    folder.chmod(0o555)
    folder.parent.chmod(0o500)
    assert clean(disk.survey()).kept == ()
    assert disk.left() == []
