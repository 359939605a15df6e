"""From a points file to an index archive, to a directory, to a served copy of it."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import struct
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    Start = Callable[..., AbstractContextManager[Any]]

MAIN = Path(__file__).parents[3] / "images" / "qdrant" / "sidecar" / "main.py"
HEADER = {"format": "pairbench/points", "version": 1, "collection": "memory", "dimension": 3, "distance": "Cosine"}
VECTORS = {1: [1.0, 0.0, 0.0], 2: [0.0, 1.0, 0.0], 7: [0.6, 0.8, 0.0]}


def encoded(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def point(identifier: int, **changes: Any) -> dict[str, Any]:
    return {
        "id": identifier,
        "vector": encoded(VECTORS.get(identifier, [1.0, 1.0, 1.0])),
        "payload": {"n": identifier},
    } | changes


def write_points(path: Path, *points: dict[str, Any], header: dict[str, Any] = HEADER) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in (header, *points)))
    return path


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(MAIN), *map(str, arguments)], capture_output=True, text=True, check=False
    )


def build(points: Path, out: Path) -> dict[str, Any]:
    done = command("build", "--points", points, "--out", out)
    assert (done.returncode, done.stderr) == (0, "")
    event: dict[str, Any] = json.loads(done.stdout)
    return event


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """An index archive of three points."""
    build(write_points(tmp_path / "points.jsonl", *map(point, VECTORS)), tmp_path / "index.tar")
    return tmp_path / "index.tar"


def test_build_says_what_it_made(tmp_path: Path) -> None:
    """One line has the counts, the digest of the archive, and that of the points."""
    event = build(write_points(tmp_path / "points.jsonl", *map(point, VECTORS)), tmp_path / "index.tar")
    content = (tmp_path / "index.tar").read_bytes()
    logical = hashlib.sha256()
    for identifier, vector in VECTORS.items():
        payload = b'{"n":%d}' % identifier
        logical.update(struct.pack("<QQ3fQ", identifier, 12, *vector, len(payload)) + payload)
    assert event == {
        "event": "built",
        "format": "pairbench/index",
        "version": 1,
        "collection": "memory",
        "points": 3,
        "dimension": 3,
        "distance": "Cosine",
        "logical_digest": f"sha256:{logical.hexdigest()}",
        "archive_sha256": f"sha256:{hashlib.sha256(content).hexdigest()}",
        "archive_bytes": len(content),
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index.tar", "points.jsonl"]


def test_equal_points_make_equal_archives(tmp_path: Path) -> None:
    """Two builds have the same bytes, whatever the order of lines, keys and white space in the points file."""
    first = build(write_points(tmp_path / "a.jsonl", *map(point, (1, 2, 7))), tmp_path / "a.tar")
    shuffled = [dict(reversed(point(identifier, payload={"b": 1, "a": [1.0]}).items())) for identifier in (7, 1, 2)]
    other = build(write_points(tmp_path / "b.jsonl", *shuffled), tmp_path / "b.tar")
    ordered = [point(identifier, payload={"a": [1], "b": 1}) for identifier in (1, 2, 7)]
    again = build(write_points(tmp_path / "c.jsonl", *ordered), tmp_path / "c.tar")
    assert other["archive_sha256"] == again["archive_sha256"] != first["archive_sha256"]


def test_holes_cost_nothing(archive: Path) -> None:
    """The files of an index have tens of megabytes of zeros, its archive hardly any."""
    with tarfile.open(archive) as opened:
        members = opened.getmembers()
    assert sum(member.size for member in members) > 60_000_000
    assert archive.stat().st_size < 150_000


def test_archive_is_a_plain_tar(archive: Path) -> None:
    """Names are sorted, times 0, the owner is the sidecar's; Python's own reader sees the files."""
    with tarfile.open(archive) as opened:
        members = opened.getmembers()
        described = opened.extractfile("index.json")
        assert described is not None
        assert json.loads(described.read())["points"] == 3
    names = [member.name for member in members]
    assert names == sorted(names)
    assert {(member.mtime, member.uid, member.gid) for member in members} == {(0, 10003, 10003)}
    assert names[-1] == "index.json"


def test_unpacked_files_are_those_of_the_archive(archive: Path, tmp_path: Path) -> None:
    """Content agrees with what Python's own reader extracts; holes stay holes; others may read."""
    done = command("unpack", "--archive", archive, "--into", tmp_path / "index")
    assert (done.returncode, done.stderr, json.loads(done.stdout)["event"]) == (0, "", "unpacked")
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path / "other", filter="data")
    files = sorted(path.relative_to(tmp_path / "index") for path in (tmp_path / "index").rglob("*") if path.is_file())
    assert files == sorted(
        path.relative_to(tmp_path / "other") for path in (tmp_path / "other").rglob("*") if path.is_file()
    )
    for file in files:
        assert (tmp_path / "index" / file).read_bytes() == (tmp_path / "other" / file).read_bytes()
        assert (tmp_path / "index" / file).stat().st_mode & 0o777 == 0o644
    used = sum((tmp_path / "index" / file).stat().st_blocks * 512 for file in files)
    assert used < 1_000_000


@pytest.fixture
def index(archive: Path, tmp_path: Path) -> Path:
    """An unpacked index of three points, which nobody may change."""
    command("unpack", "--archive", archive, "--into", tmp_path / "index")
    return tmp_path / "index"


def tree_digest(root: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        digest.update(str(path.relative_to(root)).encode() + (path.read_bytes() if path.is_file() else b""))
    return digest.hexdigest()


def test_served_copy_answers_and_takes_writes(index: Path, sidecar: Start, tmp_path: Path) -> None:
    """A copy is served with all its points, may be changed, and leaves the index as it was."""
    before = tree_digest(index)
    with sidecar("--index", str(index)) as running:
        ready = running.ready()
        assert (ready["collections"], ready["points"]) == (["memory"], 3)
        assert ready["logical_digest"].startswith("sha256:")
        query = {"query": [0.6, 0.8, 0.0], "limit": 2, "with_payload": True}
        found = running.ask("POST", "/collections/memory/points/query", query)[1]["result"]["points"]
        assert [(hit["id"], hit["payload"]) for hit in found] == [(7, {"n": 7}), (2, {"n": 2})]
        more = {"points": [{"id": 9, "vector": [0.0, 0.0, 2.0], "payload": {"n": 9}}]}
        assert running.ask("PUT", "/collections/memory/points", more)[0] == 200
        assert running.ask("POST", "/collections/memory/points/delete", {"points": [1]})[0] == 200
        assert running.stop() == 0
    assert tree_digest(index) == before
    used = sum(path.stat().st_blocks * 512 for path in (tmp_path / "storage").rglob("*") if path.is_file())
    assert used < 2_000_000
    with sidecar() as running:
        found = running.ask("POST", "/collections/memory/points/scroll", {})[1]["result"]["points"]
        assert [record["id"] for record in found] == [2, 7, 9]


def test_index_is_never_copied_over_other_data(index: Path, sidecar: Start, capfd: pytest.CaptureFixture[str]) -> None:
    """A storage that holds something already is refused, so that no trial sees another's memory."""
    with sidecar("--index", str(index)) as running:
        running.ready()
        running.stop()
    with sidecar("--index", str(index)) as running:
        assert running.process.wait(timeout=30) == 2
    assert "the storage isn't empty" in capfd.readouterr().err


@pytest.mark.parametrize("exists", [True, False])
def test_no_index_is_an_empty_store(sidecar: Start, tmp_path: Path, *, exists: bool) -> None:
    """A missing or empty index directory is an empty store, which can be filled."""
    if exists:
        (tmp_path / "nothing").mkdir()
    with sidecar("--index", str(tmp_path / "nothing")) as running:
        assert running.ready()["collections"] == []
        status, _ = running.ask("PUT", "/collections/c", {"vectors": {"size": 2, "distance": "Dot"}})
        assert status == 200


def test_half_an_index_is_refused(index: Path, sidecar: Start, capfd: pytest.CaptureFixture[str]) -> None:
    """An index whose description is missing was not laid out to its end."""
    (index / "index.json").unlink()
    with sidecar("--index", str(index)) as running:
        assert running.process.wait(timeout=30) == 2
    assert "isn't a whole index" in capfd.readouterr().err


def test_link_in_an_index_is_refused(index: Path, sidecar: Start, capfd: pytest.CaptureFixture[str]) -> None:
    """An index holds files and directories; a link could bring anything into the copy."""
    (index / "collections" / "link").symlink_to("/etc")
    with sidecar("--index", str(index)) as running:
        assert running.process.wait(timeout=30) == 2
    assert "neither a directory nor a file" in capfd.readouterr().err


BAD_LINES: dict[str, tuple[Any, str]] = {
    "not JSON": ("{", "line 3: "),
    "duplicate id": (point(1), "line 3: the id 1 was given in line 2 already"),
    "negative id": (point(-1), "line 3: "),
    "text id": (point(1, id="x"), "line 3: id: an integer is expected"),
    "NaN": (point(2, vector=encoded([float("nan"), 0.0, 0.0])), "line 3: vector: NaN or infinity"),
    "infinity": (point(2, vector=encoded([float("inf"), 0.0, 0.0])), "line 3: vector: NaN or infinity"),
    "huge": (point(2, vector=encoded([3e38, 0.0, 0.0])), "line 3: vector: too large for float32 arithmetic"),
    "zeros": (point(2, vector=encoded([0.0, 0.0, 0.0])), "line 3: vector: all zeros"),
    "wrong dimension": (point(2, vector=encoded([1.0, 2.0])), "line 3: vector: 8 bytes, but 3 dimensions need 12"),
    "bad base64": (point(2, vector="$$$"), "line 3: vector: bad base64"),
    "base64 with white space": (point(2, vector=encoded([1.0, 2.0, 3.0])[:8] + "\n"), "line 3: vector: bad base64"),
    "vector as a list": (point(2, vector=[1.0, 0.0, 0.0]), "line 3: vector: a string is expected"),
    "payload missing": ({"id": 2, "vector": encoded([1.0, 0.0, 0.0])}, "line 3: missing field `payload`"),
    "payload a list": (point(2, payload=[1]), "line 3: payload: an object is expected"),
    "payload integer too large": (
        point(2, payload={"a": 2**60}),
        "line 3: the integer 1152921504606846976 isn't exact",
    ),
    "unknown key": (point(2, score=1), "line 3: unknown field `score`"),
}


@pytest.mark.parametrize("case", BAD_LINES)
def test_bad_point_is_refused_by_its_line(tmp_path: Path, case: str) -> None:
    """A wrong line ends the build with one message that names it, exit code 2, and no archive."""
    line, message = BAD_LINES[case]
    path = write_points(tmp_path / "points.jsonl", point(1))
    with path.open("a") as file:
        file.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
    done = command("build", "--points", path, "--out", tmp_path / "index.tar")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"sidecar build: {path}: {message}")
    assert done.stderr.count("\n") == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["points.jsonl"]


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"format": "other"}, "not the header of a pairbench/points of version 1"),
        ({"version": 2}, "not the header of a pairbench/points of version 1"),
        ({"dimension": 0}, "dimension: value 0 invalid"),
        ({"distance": "Hamming"}, "distance: unknown variant `Hamming`"),
        ({"collection": "../x"}, "a collection name can't contain '/'"),
        ({"more": 1}, "unknown field `more`"),
    ],
)
def test_bad_header_is_refused(tmp_path: Path, header: dict[str, Any], message: str) -> None:
    """A header that isn't understood ends the build before any point is read."""
    path = write_points(tmp_path / "points.jsonl", point(1), header=HEADER | header)
    done = command("build", "--points", path, "--out", tmp_path / "index.tar")
    assert done.returncode == 2
    assert "line 1: " in done.stderr
    assert message in done.stderr


def test_points_file_without_a_point_makes_an_empty_index(tmp_path: Path, sidecar: Start) -> None:
    """A header alone is an index without points, which can be served."""
    event = build(write_points(tmp_path / "points.jsonl"), tmp_path / "index.tar")
    assert event["points"] == 0
    command("unpack", "--archive", tmp_path / "index.tar", "--into", tmp_path / "index")
    with sidecar("--index", str(tmp_path / "index")) as running:
        assert (running.ready()["collections"], running.ready()["points"]) == (["memory"], 0)


def test_empty_points_file_is_refused(tmp_path: Path) -> None:
    """A file without a header says nothing."""
    (tmp_path / "points.jsonl").touch()
    done = command("build", "--points", tmp_path / "points.jsonl", "--out", tmp_path / "index.tar")
    assert (done.returncode, done.stderr) == (
        2,
        f"sidecar build: {tmp_path}/points.jsonl: line 1: the header is missing\n",
    )


def test_existing_archive_is_replaced_only_by_a_whole_one(archive: Path, tmp_path: Path) -> None:
    """A build that fails leaves the archive that was there."""
    before = archive.read_bytes()
    bad = write_points(tmp_path / "bad.jsonl", point(1), point(1))
    assert command("build", "--points", bad, "--out", archive).returncode == 2
    assert archive.read_bytes() == before


def test_unpacking_into_a_used_directory_is_refused(archive: Path, tmp_path: Path) -> None:
    """What is in a directory already stays as it is."""
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "mine").write_text("kept")
    done = command("unpack", "--archive", archive, "--into", tmp_path / "used")
    assert (done.returncode, done.stderr) == (2, f"sidecar unpack: {tmp_path}/used: the directory isn't empty\n")
    assert os.listdir(tmp_path / "used") == ["mine"]


@pytest.mark.parametrize("share", [0.0, 0.5, 0.999])
def test_cut_archive_leaves_nothing(archive: Path, tmp_path: Path, share: float) -> None:
    """An archive that ends early is refused by name, and nothing half laid out stays behind."""
    cut = tmp_path / "cut.tar"
    content = archive.read_bytes()
    cut.write_bytes(content[: int(len(content) * share)])
    done = command("unpack", "--archive", cut, "--into", tmp_path / "index")
    assert (done.returncode, done.stderr) == (2, f"sidecar unpack: {cut}: the archive is cut short\n")
    assert os.listdir(tmp_path / "index") == []


def test_archive_of_something_else_leaves_nothing(tmp_path: Path) -> None:
    """A tar that holds no index is refused, and nothing of it stays behind."""
    with tarfile.open(tmp_path / "other.tar", "w") as opened:
        opened.add(MAIN, "main.py")
    done = command("unpack", "--archive", tmp_path / "other.tar", "--into", tmp_path / "index")
    assert done.returncode == 2
    assert "the archive has a member" in done.stderr
    assert os.listdir(tmp_path / "index") == []


def test_commands_explain_themselves() -> None:
    """Each command lists its options; no command is wrong usage."""
    for name, option in (("serve", "--storage"), ("build", "--points"), ("unpack", "--archive")):
        done = command(name, "--help")
        assert (done.returncode, option in done.stdout) == (0, True)
    assert command().returncode == 2
    assert command("help").returncode == 2
