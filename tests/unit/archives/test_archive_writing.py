"""What goes into an archive, that its bytes follow from that alone, and that nothing half-made is ever left."""

from __future__ import annotations

import gzip
import io
import json
import os
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import zstandard

from runner.archives.frame import seal_of
from runner.archives.split import refuse_taken
from runner.archives.trees import read_tree
from runner.archives.writing import LayerSource, write_archive
from runner.core.canonical import sha256_digest
from runner.core.errors import EvidenceError, StudyError
from tests.fakes.archives import code, contents, image, lay, read, run_files

if TYPE_CHECKING:
    from collections.abc import Iterator

BASE = b"base layer " * 3000
NOISE = os.urandom(20_000)


def entries(data: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return {member.name: stream.read() for member in archive if (stream := archive.extractfile(member))}


def made(folder: Path, name: str = "a.pairbench", cache: str = "cache") -> bytes:
    run = lay(folder / "runs" / "demo", run_files())
    images = [image("trial", BASE, b"programs"), image("gateway", BASE, b"other programs")]
    write_archive(contents({"demo": run}, images), folder / name, cache=folder / cache)
    return (folder / name).read_bytes()


def test_its_entries_stand_in_order(tmp_path: Path) -> None:
    """The seal, the index that it seals, what people read, then blobs by their digests."""
    names = [member.name for member in tarfile.open(fileobj=io.BytesIO(made(tmp_path)))]  # noqa: SIM115
    assert names[:3] == ["archive.sha256", "archive.json", "README.txt"]
    assert names[3:] == sorted(names[3:])
    assert all(name.startswith("blobs/sha256/") for name in names[3:])


def test_the_seal_is_what_sha256sum_checks(tmp_path: Path) -> None:
    """Whoever has no program of ours can hold the index against it."""
    found = entries(made(tmp_path))
    assert found["archive.sha256"] == seal_of(sha256_digest(found["archive.json"]))
    assert found["archive.sha256"].endswith(b"  archive.json\n")


def test_every_blob_can_be_checked_by_hand(tmp_path: Path) -> None:
    """Unpacked by its suffix, it has the digest that names it."""
    found = {name: data for name, data in entries(made(tmp_path)).items() if name.startswith("blobs/")}
    for name, data in found.items():
        stem, _, suffix = name.removeprefix("blobs/sha256/").partition(".")
        raw = zstandard.ZstdDecompressor().decompress(data) if suffix == "zst" else data
        assert sha256_digest(raw) == f"sha256:{stem}"
    assert {name.partition(".")[2] for name in found} == {"", "zst"}


def test_its_bytes_follow_from_what_it_holds(tmp_path: Path) -> None:
    """Not from folders, the user's mask, times of files, what the cache has, or the order in which files were made."""
    first = made(tmp_path / "one")
    old = os.umask(0o077)
    try:
        other = lay(tmp_path / "two" / "elsewhere" / "runs" / "demo", dict(reversed(run_files().items())))
    finally:
        os.umask(old)
    for path in other.rglob("*"):
        os.utime(path, (1, 1))
    images = [image("gateway", BASE, b"other programs"), image("trial", BASE, b"programs")]
    for name in ("cold", "warm"):
        write_archive(contents({"demo": other}, images), tmp_path / "two" / name, cache=tmp_path / "two" / "cache")
        assert (tmp_path / "two" / name).read_bytes() == first


def test_its_name_for_citing_says_nothing_of_who_packed_it(tmp_path: Path) -> None:
    """Another version of the program may pack otherwise; what the archive holds is the same."""
    run = lay(tmp_path / "demo", run_files())
    ours = contents({"demo": run})
    theirs = replace(ours, created_by=ours.created_by.model_copy(update={"version": "9.9.9"}))
    first, second = (
        write_archive(what, tmp_path / name, cache=tmp_path / "c") for what, name in ((ours, "a"), (theirs, "b"))
    )
    assert first.content_sha256 == second.content_sha256
    assert first.index_sha256 != second.index_sha256


def test_two_runs_over_one_image_set_cost_one_image_set(tmp_path: Path) -> None:
    """Layers, corpora and code are there once: a second run adds its own few files and nothing else."""
    images = [image("trial", os.urandom(400_000), b"programs")]
    runs = {name: lay(tmp_path / name, run_files(name)) for name in ("first", "second")}
    one = write_archive(contents({"first": runs["first"]}, images), tmp_path / "one", cache=tmp_path / "c")
    two = write_archive(contents(runs, images), tmp_path / "two", cache=tmp_path / "c")
    assert one.size_bytes > 400_000
    assert 2_000 < two.size_bytes - one.size_bytes < 9_000


def test_an_engine_alone_finds_the_runner_in_it(tmp_path: Path) -> None:
    """`docker load` is led to the image that runs us, whose blobs are as an engine reads them, and to no other."""
    images = [image("trial", BASE, b"programs"), image("runner", BASE, b"our own code" * 100, role="runner")]
    write_archive(contents({}, images), tmp_path / "a", cache=tmp_path / "c")
    found = entries((tmp_path / "a").read_bytes())
    (loadable,) = json.loads(found["manifest.json"])
    assert loadable["RepoTags"] == [images[1].pin.tag]
    assert found[loadable["Config"]] == images[1].config
    assert [gzip.decompress(found[name]) for name in loadable["Layers"]] == [BASE, b"our own code" * 100]


def test_without_a_runner_there_is_nothing_to_load(tmp_path: Path) -> None:
    """An engine that is given such an archive must say so."""
    assert "manifest.json" not in entries(made(tmp_path))


def test_what_is_no_part_of_a_run_stays_behind(tmp_path: Path) -> None:
    """The lock of a runner, a torn write, and what somebody laid there; it is said of what not every run has."""
    files = run_files() | {"holder.lock": b"me", "trials/first.r1.on/.writing-x": b"torn", "notes/mine.txt": b"private"}
    written = write_archive(contents({"demo": lay(tmp_path / "demo", files)}), tmp_path / "a", cache=tmp_path / "c")
    assert written.left_out == ("demo/notes/mine.txt", "demo/trials/first.r1.on/.writing-x")
    assert b"private" not in (tmp_path / "a").read_bytes()
    assert b"holder.lock" not in (tmp_path / "a").read_bytes()


def test_its_commands_hold_in_a_folder_with_a_space(tmp_path: Path) -> None:
    """What a stranger copies out of it to a shell keeps the path in one piece."""
    held = contents({"demo": lay(tmp_path / "demo", run_files())}, [image("runner", BASE, role="runner")])
    write_archive(held, tmp_path / "a", cache=tmp_path / "c")
    readme = entries((tmp_path / "a").read_bytes())["README.txt"].decode()
    commands = [line for line in readme.splitlines() if "$PWD" in line]
    assert [line.count('"$PWD/FILE":/archive:ro') for line in commands] == [1, 1]
    assert [line.count("$PWD") - line.count('"$PWD') for line in commands] == [0, 0]


def test_it_says_what_a_compose_file_of_a_run_may_do(tmp_path: Path) -> None:
    """Whoever unpacks a run by hand reads that its Compose files are programs; without a run there are none."""
    said = []
    for name, runs in (("a", {"demo": lay(tmp_path / "demo", run_files())}), ("b", {})):
        write_archive(contents(runs), tmp_path / name, cache=tmp_path / "c")
        said.append(entries((tmp_path / name).read_bytes())["README.txt"].decode())
    assert "compose.yaml makes it once more. It is a program with the rights of the container engine" in said[0]
    assert "before you start one,\nverify FILE with a Pairbench that isn't out of it." in said[0]
    assert "compose.yaml" not in said[1]


def test_the_index_says_what_a_run_is(tmp_path: Path) -> None:
    """Its lock and summary by digest, the last line of its ledger, the code that ran it, and whether it verified."""
    run = lay(tmp_path / "demo", run_files())
    write_archive(
        replace(contents({"demo": run}), unverified=frozenset({"demo"})), tmp_path / "a", cache=tmp_path / "c"
    )
    found = read(tmp_path / "a", tmp_path / "s").runs["demo"]
    assert found.lock_sha256 == sha256_digest((run / "lock.json").read_bytes())
    assert found.summary_sha256 == sha256_digest((run / "summary.json").read_bytes())
    assert found.ledger_head == sha256_digest(b'{"seq":2}\n')
    assert (found.harness.version, found.verified) == ("0.1.0", False)


def test_the_code_of_its_runs_is_in_it(tmp_path: Path) -> None:
    """By the digest of its sources, with what it needs."""
    write_archive(contents({}), tmp_path / "a", cache=tmp_path / "c")
    index = read(tmp_path / "a", tmp_path / "s")
    (found,) = index.harness.values()
    assert found.pin == code().pin
    assert found.wheel.file == "pairbench-0.1.0-py3-none-any.whl"
    assert found.requirements == sha256_digest(b"click==8.1\n")


@pytest.mark.parametrize("taken", ["a.pairbench", "a.pairbench.part001", "a.pairbench.part007"])
def test_nothing_is_overwritten(tmp_path: Path, taken: str) -> None:
    """Neither a file nor a part of one that stands there already."""
    (tmp_path / taken).write_bytes(b"precious")
    with pytest.raises(StudyError, match="there already"):
        write_archive(contents({}), tmp_path / "a.pairbench", cache=tmp_path / "c")
    assert (tmp_path / taken).read_bytes() == b"precious"


def test_where_no_archive_can_be_is_told(tmp_path: Path) -> None:
    """A folder, a device, a folder that isn't there, and a file in place of one."""
    for path, said in (
        (tmp_path, "it is a folder"),
        (Path("/dev/null"), "it is there already"),
        (tmp_path / "absent/a", "there is no such folder for the archive"),
        (tmp_path / "file/a", "there is no such folder for the archive"),
    ):
        (tmp_path / "file").write_bytes(b"")
        with pytest.raises(StudyError, match=said):
            refuse_taken(path)


def test_a_part_of_another_archive_is_no_hindrance(tmp_path: Path) -> None:
    """Only names of parts count."""
    (tmp_path / "a.partial").write_bytes(b"mine")
    write_archive(contents({}), tmp_path / "a", cache=tmp_path / "c")
    assert read(tmp_path / "a", tmp_path / "s").runs == {}


@pytest.mark.parametrize("fault", [EvidenceError("no"), KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_what_is_broken_off_leaves_nothing(tmp_path: Path, fault: BaseException) -> None:
    """An error, an interruption, a full disk: no archive, and no part of one."""

    def breaks() -> Iterator[bytes]:
        yield b"some"
        raise fault

    odd = image("odd", b"x" * 5000)
    broken = replace(odd, layers={digest: LayerSource(5000, breaks) for digest in odd.layers})
    (tmp_path / "out").mkdir()
    with pytest.raises((EvidenceError, KeyboardInterrupt, Exception)):
        write_archive(contents({}, [broken]), tmp_path / "out" / "a", cache=tmp_path / "c", split_bytes=1000)
    assert list((tmp_path / "out").iterdir()) == []
    assert [path for path in (tmp_path / "c").rglob("*") if path.is_file()] == []


def test_an_interruption_while_parts_appear_leaves_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of an archive's files are there, or none."""
    link = os.link
    made_links: list[Path] = []

    def interrupted(source: Path, target: Path) -> None:
        if len(made_links) == 2:
            raise KeyboardInterrupt
        made_links.append(target)
        link(source, target)

    monkeypatch.setattr(os, "link", interrupted)
    (tmp_path / "out").mkdir()
    with pytest.raises(KeyboardInterrupt):
        write_archive(contents({}, [image("a", NOISE)]), tmp_path / "out" / "a", cache=tmp_path / "c", split_bytes=5000)
    assert list((tmp_path / "out").iterdir()) == []


def test_a_file_system_without_hard_links_takes_an_archive_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is renamed there."""

    def refused(source: Path, target: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    write_archive(contents({}), tmp_path / "a", cache=tmp_path / "c")
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["a"]


def test_a_layer_that_changed_in_the_cache_is_refused(tmp_path: Path) -> None:
    """The archive would say something else than the lock."""
    odd = image("odd", b"x" * 5000)
    changed = replace(odd, layers={digest: LayerSource(5000, lambda: [b"y" * 5000]) for digest in odd.layers})
    with pytest.raises(EvidenceError, match=r"image odd: its bytes aren't those of sha256:"):
        write_archive(contents({}, [changed]), tmp_path / "a", cache=tmp_path / "c")


def test_a_packed_layer_that_changed_in_the_cache_is_packed_anew(tmp_path: Path) -> None:
    """The cache may be damaged: what comes out of it is held to its digest."""
    images = [image("trial", BASE)]
    write_archive(contents({}, images), tmp_path / "a", cache=tmp_path / "c")
    (kept,) = (tmp_path / "c" / "packed" / "blobs" / "sha256").iterdir()
    data = bytearray(kept.read_bytes())
    data[-1] ^= 1
    kept.write_bytes(data)
    write_archive(contents({}, images), tmp_path / "b", cache=tmp_path / "c")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_links_are_refused(tmp_path: Path) -> None:
    """What they lead to isn't the run's, and may be anything tomorrow."""
    run = lay(tmp_path / "demo", run_files())
    (run / "trials" / "first.r1.on" / "odd").symlink_to("/etc/passwd")
    with pytest.raises(EvidenceError, match=r"trials/first\.r1\.on/odd: it is no regular file"):
        write_archive(contents({"demo": run}), tmp_path / "a", cache=tmp_path / "c")


def test_a_run_without_lock_is_none(tmp_path: Path) -> None:
    """It pins nothing."""
    files = run_files()
    del files["lock.json"]
    with pytest.raises(EvidenceError, match=r"demo/lock\.json: the file is missing"):
        write_archive(contents({"demo": lay(tmp_path / "demo", files)}), tmp_path / "a", cache=tmp_path / "c")


def test_a_large_file_is_packed_piece_by_piece(tmp_path: Path) -> None:
    """Above the size that is held in memory the same holds: known once, packed where it pays."""
    text, noise = b"all work and no play " * 250_000, os.urandom(1 << 20) * 5
    files = run_files(inputs__text=text, trials__first_r1_on__noise=noise)
    run = lay(tmp_path / "demo", files)
    written = write_archive(contents({"demo": run}), tmp_path / "a", cache=tmp_path / "c")
    assert written.size_bytes < 6_000_000
    index = read(tmp_path / "a", tmp_path / "s")
    assert index.blobs[sha256_digest(text)].encoding == "zstd"


def test_a_file_that_cant_be_packed_stands_as_it_is(tmp_path: Path) -> None:
    """Unpacking it would cost time for ever and save nothing."""
    large, small = os.urandom(5_000_000), os.urandom(1000)
    run = lay(tmp_path / "demo", run_files(inputs__large=large, inputs__small=small))
    write_archive(contents({"demo": run}), tmp_path / "a", cache=tmp_path / "c")
    blobs = read(tmp_path / "a", tmp_path / "s").blobs
    assert [blobs[sha256_digest(data)].encoding for data in (large, small)] == ["identity", "identity"]


def test_the_list_of_a_runs_files_names_each_trial_once(tmp_path: Path) -> None:
    """A trial is one blob, whatever number of files it left."""
    run = lay(tmp_path / "demo", run_files())
    write_archive(contents({"demo": run}), tmp_path / "a", cache=tmp_path / "c")
    index = read(tmp_path / "a", tmp_path / "s")
    stem = index.runs["demo"].tree.removeprefix("sha256:")
    found = entries((tmp_path / "a").read_bytes())
    data = next(data for name, data in found.items() if stem in name)
    tree = read_tree(zstandard.ZstdDecompressor().decompress(data), "the list")
    assert sorted(tree.trials) == ["first.r1.off", "first.r1.on"]
    assert "inputs/corpora/notes.tar" in tree.files
