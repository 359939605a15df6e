"""Threat: an archive is made by somebody who wants to write where it shouldn't, or to fill a disk or the memory.

Each one here is sealed: its index is whole and names all of its bytes rightly. It is refused for what it says, with one
error that names the entry and exit code 4, and nothing is written anywhere but in the reader's own folder, which goes.
"""

from __future__ import annotations

import io
import tarfile
import tracemalloc
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest
import zstandard

from runner.archives.frame import SEAL_BYTES
from runner.archives.packing import packed_at_once
from runner.archives.reading import open_archive
from runner.archives.trees import last_line_digest
from runner.archives.trials import tar_chunks
from runner.archives.writing import write_archive
from runner.core.canonical import canonical_line, digest_of, sha256_digest
from runner.core.errors import EvidenceError, ExitCode
from runner.images.tarball import file_header
from tests.fakes.archives import LOCK, PIN, Forger, code, contents, image, lay, run_files, tar

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GIB = 1 << 30


def refusal(data: bytes, folder: Path) -> EvidenceError:
    """The one error of an archive; nothing was written that stays."""
    (folder / "in").mkdir()
    (folder / "in" / "a").write_bytes(data)
    with pytest.raises(EvidenceError) as caught, open_archive(folder / "in" / "a", folder / "in" / "s") as archive:
        archive.unpack_run("demo", folder / "in" / "demo")
    assert caught.value.exit_code == ExitCode.DOES_NOT_VERIFY
    assert sorted(path.name for path in folder.iterdir()) == ["in"]
    assert sorted(path.name for path in (folder / "in").iterdir()) in (["a"], ["a", "s"])
    assert not list((folder / "in").glob("s/*"))
    return caught.value


def tree_of(*lines: dict[str, Any]) -> bytes:
    return b"".join(canonical_line(line) for line in lines)


def file_line(path: str, data: bytes = LOCK) -> dict[str, Any]:
    return {"path": path, "sha256": sha256_digest(data), "size": len(data)}


def test_an_honest_one_is_taken(tmp_path: Path) -> None:
    """What the others here lack is what makes them hostile, and nothing else."""
    trial = b"".join(tar_chunks([("attempt-1/a", 1)], lambda _: [b"x"]))
    (tmp_path / "a").write_bytes(Forger(blobs={"inputs/x": b"x", "trial:t": trial}).bytes())
    with open_archive(tmp_path / "a", tmp_path / "s") as archive:
        archive.unpack_run("demo", tmp_path / "demo")
    assert (tmp_path / "demo" / "trials" / "t" / "attempt-1" / "a").read_bytes() == b"x"


@pytest.mark.parametrize(
    "path",
    [
        *("/etc/passwd", "../outside", "inputs/../../outside", "inputs/./x", "inputs//x", "inputs/", ".", ".."),
        *("inputs\\..\\outside", "inputs/a\0b", "inputs/a\nb", "inputs/\x7f", "C:\\x", "", "/", "inputs/" + "x" * 256),
        *("inputs" + "/x" * 600, "odd.txt", ".ssh/id", "holder.lock", "trials/t/x", "~/x", "-rf"),
    ],
)
def test_paths_that_lead_elsewhere(tmp_path: Path, path: str) -> None:
    """Out of the run, into places that a run hasn't got, or to names that some system reads otherwise."""
    tree = tree_of(*sorted((file_line("lock.json"), file_line(path)), key=lambda line: line["path"]))
    assert "blobs/sha256/" in refusal(Forger(tree=tree).bytes(), tmp_path).problems[0].document


def test_names_that_arent_text(tmp_path: Path) -> None:
    """Half of a surrogate pair names no file."""
    odd = b'{"path":"inputs/\\ud800","sha256":"%s","size":%d}\n' % (sha256_digest(LOCK).encode(), len(LOCK))
    assert "isn't UTF-8" in str(refusal(Forger(tree=odd + tree_of(file_line("lock.json"))).bytes(), tmp_path))


@pytest.mark.parametrize(
    ("paths", "told"),
    [
        (["inputs/x", "inputs/x", "lock.json"], "stands twice"),
        (["inputs/X", "inputs/x", "lock.json"], "differs from inputs/X in case only"),
        (["inputs/A/x", "inputs/a/y", "lock.json"], "its folder differs from inputs/A in case only"),
        (["inputs/x", "inputs/x/y", "lock.json"], "is a file, and a folder of others"),
        (["lock.json", "inputs/x"], "aren't sorted"),
    ],
)
def test_files_that_would_lie_over_one_another(tmp_path: Path, paths: list[str], told: str) -> None:
    """On any file system: also on one that takes no notice of case."""
    assert told in str(refusal(Forger(tree=tree_of(*map(file_line, paths))).bytes(), tmp_path))


@pytest.mark.parametrize("name", ["../x", "..", ".", "", "a/b", "a\\b", "a\0b", "/abs", "x" * 300])
def test_runs_and_trials_whose_names_lead_elsewhere(tmp_path: Path, name: str) -> None:
    """A name is a folder's, and nothing else."""
    (tmp_path / "run").mkdir()
    told = refusal(Forger(name=name).bytes(), tmp_path / "run")
    assert told.problems[0].document == "archive.json"
    (tmp_path / "trial").mkdir()
    line = {"trial": name, "sha256": sha256_digest(LOCK), "size": len(LOCK)}
    refusal(Forger(tree=tree_of(file_line("lock.json"), line)).bytes(), tmp_path / "trial")


@pytest.mark.parametrize(
    "name",
    [
        "latest",
        "LATEST",
        "-rf",
        "~",
        "~root",
        ".hidden",
        "#1",
        "a\x1b[2J",
        "a\u202eb",
        "a\u200bb",
        "a\x85b",
        " a",
        "a ",
    ],
)
def test_runs_whose_names_are_somebody_elses(tmp_path: Path, name: str) -> None:
    """The link to the latest run, an option, a home, and what shows as another name; no writer gives one either."""
    (tmp_path / "in").mkdir()
    told = refusal(Forger(name=name).bytes(), tmp_path / "in").problems[0]
    assert (told.document, told.key) == ("archive.json", f"runs.{name}")
    folder = lay(tmp_path / "run", run_files())
    with pytest.raises(EvidenceError, match="run"):
        write_archive(contents({name: folder}), tmp_path / "a", cache=tmp_path / "c")
    assert not (tmp_path / "a").exists()


def test_a_lock_of_any_size(tmp_path: Path) -> None:
    """32 MiB out of a kilobyte are no lock, and are never held in memory."""
    lock = bytes(32 << 20)
    digest = sha256_digest(lock)

    def change(index: dict[str, Any]) -> None:
        index["runs"]["demo"]["lock_sha256"] = digest
        resealed(index)

    packed = {str(digest): ("zstd", packed_at_once(lock))}
    data = Forger(blobs={"lock.json": lock}, packed=packed, change=change).bytes()
    tracemalloc.start()
    try:
        assert "it has more than 16777216 bytes" in str(refusal(data, tmp_path))
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


def test_a_ledger_of_one_line() -> None:
    """64 MiB without an end of line: no more of them are held than one piece, and none is looked at twice."""
    tracemalloc.start()
    try:
        found = last_line_digest(bytes(1 << 20) for _ in range(64))
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
    assert found == f"sha256:{sha256(bytes(64 << 20)).hexdigest()}"


@pytest.mark.parametrize("step", [1, 2, 3, 5, 100])
@pytest.mark.parametrize(
    ("data", "last"),
    [
        (b"first\nsecond\n", b"second\n"),
        (b"first\nsecond", b"second"),
        (b"first\n\n", b"\n"),
        (b"only\n", b"only\n"),
        (b"only", b"only"),
        (b"\n", b"\n"),
        (b"", b""),
    ],
)
def test_the_last_line_is_the_same_in_any_pieces(data: bytes, last: bytes, step: int) -> None:
    """Wherever a piece ends."""
    pieces = (data[at : at + step] for at in range(0, len(data), step))
    assert last_line_digest(pieces) == sha256_digest(last)


@pytest.mark.parametrize("path", ["inputs/harness/x.whl", "plan.json", "inputs/study.json", "inputs/prices.json"])
def test_a_run_that_keeps_code_or_a_document_of_any_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """Whoever recomputes the run reads them whole; no writer puts such a document in either."""
    monkeypatch.setattr("runner.archives.checking.MAX_WHEEL_BYTES", 100)
    monkeypatch.setattr("runner.archives.checking._MOST_BYTES", {path: 100})
    found = refusal(Forger(blobs={path: b"x" * 101}).bytes(), tmp_path).problems[0]
    assert (found.message, found.key) == ("it has more than 100 bytes", path)
    folder = lay(tmp_path / "run", run_files() | {path: b"x" * 101})
    with pytest.raises(EvidenceError, match="no archive holds more than 100"):
        write_archive(contents({"demo": folder}), tmp_path / "a", cache=tmp_path / "c")


@pytest.mark.parametrize("kept", [{}, {"inputs/harness/requirements.txt": b"evil==6.6.6\n"}], ids=["none", "others"])
def test_requirements_that_arent_those_of_the_lock(tmp_path: Path, kept: dict[str, bytes]) -> None:
    """Whoever installs the run's code installs them."""
    lock = canonical_line({"run": "demo", "harness": code().pin.json_value()})
    folder = lay(tmp_path / "run", run_files() | {"lock.json": lock} | kept)
    write_archive(contents({"demo": folder}), tmp_path / "a", cache=tmp_path / "c")
    with (
        pytest.raises(EvidenceError, match=r"inputs/harness/requirements\.txt: it isn't what the lock says"),
        open_archive(tmp_path / "a", tmp_path / "s"),
    ):
        pass


def test_requirements_that_arent_those_of_the_code(tmp_path: Path) -> None:
    """What goes with a wheel is pinned with it."""
    wanted = replace(contents({}), harnesses=[replace(code(), requirements=b"evil==6.6.6\n")])
    write_archive(wanted, tmp_path / "a", cache=tmp_path / "c")
    with (
        pytest.raises(EvidenceError, match=r"archive\.json: harness\..*: its requirements aren't those"),
        open_archive(tmp_path / "a", tmp_path / "s"),
    ):
        pass


def test_an_index_of_any_size(tmp_path: Path) -> None:
    """What a header says is enough: an index is parsed whole."""
    data = tar([("archive.sha256", bytes(SEAL_BYTES))])[:1024] + file_header("archive.json", (64 << 20) + 1)
    assert "it says that it has 67108865 bytes" in str(refusal(data, tmp_path))


def member(name: str, kind: bytes, **facts: Any) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        item = tarfile.TarInfo(name)
        item.type = kind
        for key, value in facts.items():
            setattr(item, key, value)
        archive.addfile(item, io.BytesIO(b"x" * item.size))
    return stream.getvalue()


HONEST = b"".join(tar_chunks([("a", 1)], lambda _: [b"x"]))
FAR = b"".join(tar_chunks([("../../outside", 1)], lambda _: [b"x"]))
LONG = b"".join(tar_chunks([("x" * 99 + "/../../../outside" + "y" * 90, 1)], lambda _: [b"x"]))


@pytest.mark.parametrize(
    "trial",
    [
        pytest.param(member("link", tarfile.SYMTYPE, linkname="/etc/passwd"), id="a symbolic link"),
        pytest.param(member("link", tarfile.LNKTYPE, linkname="../../lock.json"), id="a hard link"),
        pytest.param(member("dev", tarfile.BLKTYPE, devmajor=8), id="a device"),
        pytest.param(member("pipe", tarfile.FIFOTYPE), id="a pipe"),
        pytest.param(member("folder", tarfile.DIRTYPE), id="a folder"),
        pytest.param(member("file", tarfile.REGTYPE, size=1), id="a file with another time"),
        pytest.param(member("file", tarfile.REGTYPE, size=1, mode=0o4755), id="a set-user-id file"),
        pytest.param(member("/etc/cron.d/x", tarfile.REGTYPE, size=1), id="an absolute path"),
        pytest.param(FAR, id="a path that leaves"),
        pytest.param(LONG, id="a long path that leaves"),
        pytest.param(HONEST[:-512], id="one empty block at the end"),
        pytest.param(HONEST + bytes(512), id="three empty blocks at the end"),
        pytest.param(HONEST[:-1024], id="no end"),
        pytest.param(HONEST[:600], id="cut in a body"),
        pytest.param(HONEST[:100], id="cut in a header"),
        pytest.param(b"", id="nothing"),
        pytest.param(tar([("b", b"1"), ("a", b"2")]), id="unsorted"),
        pytest.param(tar([("a", b"1"), ("a", b"2")]), id="a file twice"),
        pytest.param(tar([("a", b"1"), ("a/b", b"2")]), id="a file that is a folder"),
        pytest.param(tar([("A", b"1"), ("a", b"2")]), id="case only"),
        pytest.param(HONEST.replace(b"00000000001\0", b"77777777777\0", 1), id="a size of 8 GiB"),
        pytest.param(HONEST.replace(b"x" + bytes(511), b"x" + b"hidden" + bytes(505), 1), id="bytes between"),
        pytest.param(b"\xff" * 512 + HONEST, id="no header"),
    ],
)
def test_trials_that_are_no_plain_folders(tmp_path: Path, trial: bytes) -> None:
    """Links, devices, sizes and modes of somebody else's choice, and tars that readers disagree about."""
    found = refusal(Forger(blobs={"trial:t": trial}).bytes(), tmp_path).problems[0]
    assert found.document.startswith(f"blobs/sha256/{sha256_digest(trial).removeprefix('sha256:')}")


def resealed(index: dict[str, Any]) -> None:
    """The index has the name for citing that belongs to what it says now."""
    listed = {key: index[key] for key in ("images", "runs", "harness")}
    blobs = [[key, blob["size"]] for key, blob in sorted(index["blobs"].items())]
    index["content_sha256"] = digest_of({**listed, "blobs": blobs})


def claims(**facts: int) -> Callable[[dict[str, Any]], object]:
    """The index says something else of the run's largest blob."""

    def change(index: dict[str, Any]) -> None:
        digest = max(index["blobs"], key=lambda key: index["blobs"][key]["size"])
        index["blobs"][digest].update(facts)
        resealed(index)

    return change


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"size": 100 * GIB}, "archive.json: it says that it unpacks to 107374182"),
        ({"size": 10 * GIB}, "unpacks to 4000 bytes, and the index says 10737418240"),
        ({"packed": 100 * GIB}, "bytes too early"),
        ({"packed": 7 * GIB}, "bytes too early"),
        ({"size": -1}, "archive.json: blobs"),
        ({"size": 0}, "more than the 0 bytes"),
        ({"packed": 0}, "bytes follow the archive's end"),
    ],
)
def test_sizes_that_are_declared(tmp_path: Path, facts: dict[str, int], told: str) -> None:
    """None is believed: neither is a disk filled nor memory asked for before it shows."""
    assert told in str(refusal(Forger(blobs={"inputs/x": b"x" * 4000}, change=claims(**facts)).bytes(), tmp_path))


def test_a_bomb_of_zeros(tmp_path: Path) -> None:
    """A gigabyte that was packed into a few kilobytes ends at the size that the index says."""
    data = b"x" * 4000
    bomb = zstandard.ZstdCompressor(level=1).compress(bytes(1 << 28))
    forged = Forger(blobs={"inputs/x": data}, packed={sha256_digest(data): ("zstd", bomb)})
    assert "it unpacks to more than the 4000 bytes" in str(refusal(forged.bytes(), tmp_path))


@pytest.mark.parametrize("encoding", ["zstd", "gzip"])
def test_what_is_packed_is_not_what_is_named(tmp_path: Path, encoding: str) -> None:
    """Packed bytes that the index pins rightly, of a size that is right too: the name is a digest."""
    data = b"x" * 4000
    packed = zstandard.ZstdCompressor().compress(b"y" * 4000)
    forged = Forger(blobs={"inputs/x": data}, packed={sha256_digest(data): (encoding, packed)})
    assert "blobs/sha256/" in refusal(forged.bytes(), tmp_path).problems[0].document


def test_bytes_behind_a_frame(tmp_path: Path) -> None:
    """Something that no reader sees is in no file of the run, and the index that names it is of another archive."""
    data = b"x" * 4000
    frame = zstandard.ZstdCompressor().compress(data)
    for number, (hidden, told) in enumerate({b"hidden": "can't be unpacked", frame: "more than the 4000"}.items()):
        forged = Forger(blobs={"inputs/x": data}, packed={sha256_digest(data): ("zstd", frame + hidden)})
        (tmp_path / str(number)).mkdir()
        assert told in str(refusal(forged.bytes(), tmp_path / str(number)))


def _drop_blob(index: dict[str, Any]) -> None:
    index["blobs"].pop(index["runs"]["demo"]["lock_sha256"])


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda index: index.update(version=2), id="another version"),
        pytest.param(lambda index: index.update(format="pairbench/lock"), id="another format"),
        pytest.param(lambda index: index.update(more=1), id="an unknown key"),
        pytest.param(lambda index: index.pop("runs"), id="a missing key"),
        pytest.param(lambda index: index.update(content_sha256="sha256:" + "0" * 64), id="another name for citing"),
        pytest.param(lambda index: index["runs"].update(other=index["runs"]["demo"]), id="a run more"),
        pytest.param(_drop_blob, id="a blob less"),
        pytest.param(lambda index: index["blobs"].update({"sha256:short": {}}), id="a blob with no digest"),
    ],
)
def test_indexes_that_contradict_themselves(tmp_path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Whoever seals an index can write anything in it."""
    assert refusal(Forger(change=change).bytes(), tmp_path).problems[0].document == "archive.json"


def test_a_readme_that_isnt_the_one_of_the_index(tmp_path: Path) -> None:
    """A person follows what it says."""
    forged = Forger(change=lambda index: index["readme"].update(sha256="sha256:" + "0" * 64))
    assert refusal(forged.bytes(), tmp_path).problems[0].document == "README.txt"


def test_a_blob_that_nothing_uses(tmp_path: Path) -> None:
    """An archive carries nothing beside what it says that it holds."""
    assert "nothing in the archive uses it" in str(refusal(Forger(surplus=(b"smuggled",)).bytes(), tmp_path))


def test_a_file_that_isnt_there(tmp_path: Path) -> None:
    """The list names bytes that the archive hasn't got."""
    tree = tree_of(file_line("inputs/x", b"absent"), file_line("lock.json"))
    assert "the archive has no sha256:" in str(refusal(Forger(tree=tree).bytes(), tmp_path))


def test_a_lock_that_isnt_the_one_of_the_index(tmp_path: Path) -> None:
    """What is shown of a run before it is unpacked is what is unpacked."""
    tree = tree_of(file_line("lock.json", b"other\n"))
    assert "its lock isn't the one of the index" in str(
        refusal(Forger(tree=tree, surplus=(b"other\n",)).bytes(), tmp_path)
    )


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("ledger_head", "sha256:" + "0" * 64, "its ledger ends otherwise"),
        ("summary_sha256", "sha256:" + "0" * 64, "its summary isn't the one of the index"),
        ("harness", {**PIN.json_value(), "version": "9.9.9"}, "its code isn't the one of the index"),
    ],
)
def test_what_is_said_of_a_run_is_what_it_says(tmp_path: Path, key: str, value: object, told: str) -> None:
    """A list of what an archive holds is no place to praise a run that isn't in it."""

    def change(index: dict[str, Any]) -> None:
        index["runs"]["demo"][key] = value
        resealed(index)

    assert told in str(refusal(Forger(change=change).bytes(), tmp_path))


@pytest.mark.parametrize(
    "arrange",
    [
        pytest.param(lambda members: [*members[:3], members[3], *members[3:]], id="an entry twice"),
        pytest.param(lambda members: [*members[:3], *reversed(members[3:])], id="unsorted"),
        pytest.param(lambda members: [*members, ("../outside", b"x")], id="an entry that leaves"),
        pytest.param(lambda members: [*members, ("/etc/passwd", b"x")], id="an absolute entry"),
        pytest.param(lambda members: [*members[1:]], id="no seal"),
        pytest.param(lambda members: [members[1], members[0], *members[2:]], id="the seal behind"),
        pytest.param(lambda members: members[:-1], id="an entry less"),
        pytest.param(lambda members: [*members[:2], ("manifest.json", b"[]"), *members[2:]], id="something to load"),
    ],
)
def test_entries_that_arent_those_of_the_index(
    tmp_path: Path, arrange: Callable[[list[tuple[str, bytes]]], list[tuple[str, bytes]]]
) -> None:
    """Readers of tars differ in what they make of such a file: this one takes none."""
    data = Forger(blobs={"inputs/x": b"one", "inputs/y": b"two"}).bytes()
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        members = [(item.name, stream.read()) for item in archive if (stream := archive.extractfile(item))]
    refusal(tar(arrange(members)), tmp_path)


@pytest.mark.parametrize(
    "facts",
    [{"type": b"2", "linkname": "/etc/passwd"}, {"mode": 0o4777}, {"uid": 1000}, {"mtime": 0}, {"uname": "root"}],
)
def test_entries_with_headers_of_somebody_else(tmp_path: Path, facts: dict[str, Any]) -> None:
    """A link, a mode, an owner, a time: nothing of them would be used, and none is let pass."""
    data = Forger().bytes()
    stream = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(data)) as archive,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as other,
    ):
        for item in archive.getmembers():
            body = archive.extractfile(item)
            if item.name == "README.txt":
                for key, value in facts.items():
                    setattr(item, key, value)
            other.addfile(item, body)
    assert refusal(stream.getvalue()[: len(data)], tmp_path).problems[0].document == "README.txt"


@pytest.mark.parametrize("tag", ["debian:12", "pairbench/trial:latest", "pairbench/../x:y", "evil/pairbench/trial"])
def test_images_under_names_of_others(tmp_path: Path, tag: str) -> None:
    """Whoever loads an archive isn't given another `debian:12` by it."""
    honest = image("trial", b"layer")
    forged = replace(honest, pin=honest.pin.model_copy(update={"tag": tag}))
    write_archive(contents({}, [forged]), tmp_path / "a", cache=tmp_path / "c")
    with (
        pytest.raises(EvidenceError, match=r"archive\.json: images\.trial: .* isn't a tag"),
        open_archive(tmp_path / "a", tmp_path / "s"),
    ):
        pass


@pytest.mark.parametrize(
    "facts",
    [
        {"arch": "arm64"},
        {"config": b'{"architecture":"amd64","os":"linux","rootfs":{"type":"layers","diff_ids":[]}}'},
        {"config": b"[]"},
        {"manifest": b"{}"},
    ],
)
def test_images_whose_documents_dont_lead_to_one_another(tmp_path: Path, facts: dict[str, Any]) -> None:
    """What an engine would make of them isn't what the index says."""
    forged = replace(image("trial", b"layer"), **facts)
    digests = {"config_digest": sha256_digest(forged.config), "manifest_digest": sha256_digest(forged.manifest)}
    tag = f"pairbench/trial:{digests['config_digest'].removeprefix('sha256:')}"
    forged = replace(forged, pin=forged.pin.model_copy(update={**digests, "tag": tag}))
    write_archive(contents({}, [forged]), tmp_path / "a", cache=tmp_path / "c")
    with (
        pytest.raises(EvidenceError, match=r"blobs/sha256/\w+: image trial: it isn't the"),
        open_archive(tmp_path / "a", tmp_path / "s"),
    ):
        pass


def test_code_that_isnt_the_code_that_is_named(tmp_path: Path) -> None:
    """A wheel is run by whoever verifies an old run: it is held to the digest that the lock has."""
    wanted = contents({})
    (code,) = wanted.harnesses
    forged = replace(code, wheel=code.wheel.replace(b"def main(): ...", b"def main(): 666"))
    write_archive(replace(wanted, harnesses=[forged]), tmp_path / "a", cache=tmp_path / "c")
    with pytest.raises(EvidenceError, match=r"blobs/sha256/\w+"), open_archive(tmp_path / "a", tmp_path / "s"):
        pass


def test_something_else_altogether(tmp_path: Path) -> None:
    """A file of another kind is told from a damaged archive by nothing but words."""
    for number, data in enumerate((b"", b"PK\x03\x04", bytes(4096), b"x" * 100_000)):
        (tmp_path / str(number)).mkdir()
        assert refusal(data, tmp_path / str(number)).problems[0].document == "archive.sha256"
