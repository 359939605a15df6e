"""An index with sparse vectors, from points to rankings: the sidecar, the client's own store and NumPy agree."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import struct
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from qdrant_client import QdrantClient, models

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    Start = Callable[..., AbstractContextManager[Any]]
    Scores = dict[int, float]

MAIN = Path(__file__).parents[3] / "images" / "qdrant" / "sidecar" / "main.py"
HEADER = {
    "format": "pairbench/points",
    "version": 1,
    "collection": "memory",
    "dimension": 16,
    "distance": "Cosine",
    "sparse": {"bm25": {"modifier": "idf"}},
}
POINTS, TERMS, QUERIES = 400, 120, 25
RRF_K = 60


def encoded(vector: Any) -> str:
    return base64.b64encode(np.asarray(vector, "<f4").tobytes()).decode()


def random_points() -> list[dict[str, Any]]:
    """Points whose terms are as unevenly spread as words; every 40th has none."""
    random = np.random.default_rng(7)
    made = []
    for number in range(1, POINTS + 1):
        terms = sorted({int(term) * 35_791_394 for term in random.zipf(1.3, 12) if term < TERMS})
        if number % 40 == 0:
            terms = []
        weights = [float(np.float32(weight)) for weight in random.uniform(0.2, 2.2, len(terms))]
        dense = random.standard_normal(16)
        made.append(
            {
                "id": number,
                "vector": encoded(dense / np.linalg.norm(dense)),
                "payload": {"workspace": ("harbour", "lighthouse")[number % 2], "n": number},
                "sparse": {"bm25": {"indices": terms, "values": weights}},
            }
        )
    return made


def write(path: Path, *points: dict[str, Any], header: dict[str, Any] = HEADER) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in (header, *points)))
    return path


def build(points: Path, out: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(MAIN), "build", "--points", str(points), "--out", str(out)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def unpack(archive: Path, into: Path) -> None:
    command = [sys.executable, str(MAIN), "unpack", "--archive", str(archive), "--into", str(into)]
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def clients(sidecar: Start, tmp_path: Path) -> Iterator[list[QdrantClient]]:
    """The sidecar with an index of random points, and the client's own store with the same."""
    points = random_points()
    done = build(write(tmp_path / "points.jsonl", *points), tmp_path / "index.tar")
    assert (done.returncode, done.stderr) == (0, "")
    unpack(tmp_path / "index.tar", tmp_path / "index")
    with (
        sidecar("--index", str(tmp_path / "index")) as running,
        closing(QdrantClient(url=f"http://127.0.0.1:{running.ready()['port']}")) as served,
        closing(QdrantClient(":memory:")) as memory,
    ):
        memory.create_collection(
            "memory",
            vectors_config=models.VectorParams(size=16, distance=models.Distance.COSINE),
            sparse_vectors_config={"bm25": models.SparseVectorParams(modifier=models.Modifier.IDF)},
        )
        memory.upsert("memory", [stored(point) for point in points])
        yield [served, memory]


def stored(point: dict[str, Any]) -> models.PointStruct:
    vector: dict[str, Any] = {"": np.frombuffer(base64.b64decode(point["vector"]), "<f4").tolist()}
    if point["sparse"]["bm25"]["indices"]:
        vector["bm25"] = models.SparseVector(**point["sparse"]["bm25"])
    return models.PointStruct(id=point["id"], vector=vector, payload=point["payload"])


def queries() -> list[tuple[list[float], models.SparseVector]]:
    """A dense vector and some terms, a frequent one and an unknown one among them."""
    random = np.random.default_rng(11)
    made = []
    for _ in range(QUERIES):
        terms = sorted({1, 999_983, *(int(term) for term in random.integers(1, TERMS, 3))})
        indices = [term * 35_791_394 if term != 999_983 else term for term in terms]
        made.append(
            (
                random.standard_normal(16).tolist(),
                models.SparseVector(indices=sorted(indices), values=[1.0] * len(indices)),
            )
        )
    return made


def dense_scores(points: list[dict[str, Any]], query: list[float]) -> Scores:
    asked = np.asarray(query) / np.linalg.norm(query)
    return {p["id"]: float(np.frombuffer(base64.b64decode(p["vector"]), "<f4").astype(float) @ asked) for p in points}


def sparse_scores(points: list[dict[str, Any]], query: models.SparseVector) -> Scores:
    """Sums of weight x ln(1 + (N - n + 0.5) / (n + 0.5)): n points of N have the term, N is every point with terms."""
    vectors = {p["id"]: dict(zip(*p["sparse"]["bm25"].values(), strict=True)) for p in points}
    vectors = {identifier: vector for identifier, vector in vectors.items() if vector}
    have = Counter(term for vector in vectors.values() for term in vector)
    rare = {t: math.log(1 + (len(vectors) - have[t] + 0.5) / (have[t] + 0.5)) for t in query.indices}
    found = {
        identifier: sum(vector[term] * rare[term] for term in query.indices if term in vector)
        for identifier, vector in vectors.items()
    }
    return {identifier: score for identifier, score in found.items() if score}


def same(found: list[models.ScoredPoint], expected: Scores, limit: int) -> None:
    """The ranking is that of `expected`, up to swaps of scores that differ by less than a millionth."""
    best = sorted(expected.values(), reverse=True)[:limit]
    assert [hit.score for hit in found] == pytest.approx(best, abs=1e-5)
    for hit in found:
        assert hit.score == pytest.approx(expected[int(hit.id)], abs=1e-5)
    assert len({hit.id for hit in found}) == len(found)


def harbour() -> models.Filter:
    return models.Filter(must=[models.FieldCondition(key="workspace", match=models.MatchValue(value="harbour"))])


@pytest.mark.parametrize("filtered", [False, True])
def test_sparse_rankings_agree(clients: list[QdrantClient], *, filtered: bool) -> None:
    """With IDF over the whole collection, filter or not; points without a term aren't results."""
    points = random_points()
    for _, sparse in queries():
        expected = sparse_scores(points, sparse)
        if filtered:
            expected = {identifier: score for identifier, score in expected.items() if identifier % 2 == 0}
        for client in clients:
            found = client.query_points(
                "memory", query=sparse, using="bm25", limit=30, query_filter=harbour() if filtered else None
            ).points
            same(found, expected, 30)


def test_dense_rankings_are_what_they_are_without_sparse_vectors(clients: list[QdrantClient]) -> None:
    """A second vector of a point changes nothing about the first."""
    points = random_points()
    for dense, _ in queries():
        for client in clients:
            same(client.query_points("memory", query=dense, limit=30).points, dense_scores(points, dense), 30)


def ranks(scores: Scores, limit: int) -> dict[int, int]:
    ordered = sorted(scores, key=lambda identifier: -scores[identifier])[:limit]
    return {identifier: rank for rank, identifier in enumerate(ordered)}


def test_hybrid_rankings_agree(clients: list[QdrantClient]) -> None:
    """Reciprocal ranks of both, with a declared constant: 1 / (k + rank), ranks from 0."""
    points = random_points()
    for dense, sparse in queries():
        places = [ranks(dense_scores(points, dense), 50), ranks(sparse_scores(points, sparse), 50)]
        expected: Scores = {}
        for place in places:
            for identifier, rank in place.items():
                expected[identifier] = expected.get(identifier, 0.0) + 1 / (RRF_K + rank)
        for client in clients:
            found = client.query_points(
                "memory",
                prefetch=[
                    models.Prefetch(query=dense, limit=50),
                    models.Prefetch(query=sparse, using="bm25", limit=50),
                ],
                query=models.RrfQuery(rrf=models.Rrf(k=RRF_K)),
                limit=40,
            ).points
            same(found, expected, 40)


def test_the_description_and_the_digest_have_the_sparse_vectors(tmp_path: Path) -> None:
    """Computed here from the points, without the engine."""
    points = random_points()[:3]
    done = build(write(tmp_path / "points.jsonl", *points), tmp_path / "index.tar")
    event = json.loads(done.stdout)
    assert (event["sparse"], event["points"]) == ({"bm25": {"modifier": "idf"}}, 3)
    declared = b'{"bm25":{"modifier":"idf"}}'
    logical = hashlib.sha256(struct.pack("<Q", len(declared)) + declared)
    for point in points:
        sparse = point["sparse"]["bm25"]
        logical.update(struct.pack("<Q", point["id"]))
        for part in (
            base64.b64decode(point["vector"]),
            json.dumps(point["payload"], sort_keys=True, separators=(",", ":")).encode(),
            np.asarray(sparse["indices"], "<u4").tobytes(),
            np.asarray(sparse["values"], "<f4").tobytes(),
        ):
            logical.update(struct.pack("<Q", len(part)) + part)
    assert event["logical_digest"] == f"sha256:{logical.hexdigest()}"


def test_a_folder_of_points_is_one_file(tmp_path: Path) -> None:
    """In any cut and any order of lines: the archive has the same bytes."""
    points = random_points()[:20]
    whole = json.loads(build(write(tmp_path / "points.jsonl", *points), tmp_path / "a.tar").stdout)
    folder = tmp_path / "points"
    folder.mkdir()
    lines = (tmp_path / "points.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "00001").write_bytes(b"".join(lines[:8]))
    (folder / "00002").write_bytes(b"".join(lines[8:]))
    assert json.loads(build(folder, tmp_path / "b.tar").stdout) == whole
    (folder / "00002").write_bytes(b"".join(reversed(lines[8:])))
    assert json.loads(build(folder, tmp_path / "c.tar").stdout) == whole
    (folder / "00003").write_bytes(lines[2])
    done = build(folder, tmp_path / "d.tar")
    message = f"sidecar build: {folder}/00003: line 1: the id 2 was given in {folder}/00001: line 3 already\n"
    assert (done.returncode, done.stderr) == (2, message)


def sparse_point(**changes: Any) -> dict[str, Any]:
    point = random_points()[0]
    return {**point, "sparse": {"bm25": {"indices": [1, 2], "values": [0.5, 1.0]} | changes}}


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "missing": ({"sparse": None}, "missing field `sparse`"),
    "another name": ({"sparse": {"bm26": {}}}, "sparse: unknown field `bm26`"),
    "no name": ({"sparse": {}}, "sparse: missing field `bm25`"),
    "lengths": (sparse_point(values=[0.5]), "sparse.bm25: 2 indices, but 1 values"),
    "falling": (sparse_point(indices=[2, 1]), "sparse.bm25: indices must rise"),
    "twice": (sparse_point(indices=[2, 2]), "sparse.bm25: indices must rise"),
    "negative": (sparse_point(indices=[-1, 2]), "sparse.bm25: indices must be from 0 to 4294967295"),
    "33 bits": (sparse_point(indices=[1, 2**32]), "sparse.bm25: indices must be from 0 to 4294967295"),
    "text": (sparse_point(indices=["1", 2]), "sparse.bm25.indices: a list of integers is expected"),
    "flag": (sparse_point(values=[True, 1.0]), "sparse.bm25.values: a list of numbers is expected"),
    "huge": (sparse_point(values=[1e39, 1.0]), "sparse.bm25: values: too large for float32"),
    "more": (sparse_point(extra=1), "sparse.bm25: unknown field `extra`"),
}


@pytest.mark.parametrize(("changes", "message"), WRONG.values(), ids=WRONG)
def test_a_sparse_vector_that_is_wrong_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    """By its line; the engine would take some of them."""
    path = write(tmp_path / "points.jsonl", {**random_points()[0], **changes})
    done = build(path, tmp_path / "index.tar")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith(f"sidecar build: {path}: line 2: {message}")


def test_nan_is_no_value(tmp_path: Path) -> None:
    """As in any JSON."""
    path = write(tmp_path / "points.jsonl", sparse_point(values=[math.nan, 1.0]))
    done = build(path, tmp_path / "index.tar")
    assert (done.returncode, "line 2: NaN is not JSON" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("sparse", "message"),
    [
        ({}, "names of sparse vectors are expected"),
        ({"": {"modifier": "idf"}}, "names of sparse vectors are expected"),
        ({"bm25": {}}, "missing field `modifier`"),
        ({"bm25": {"modifier": "tf"}}, "unknown variant `tf`"),
        ({"bm25": {"modifier": "idf", "on_disk": True}}, "unknown field `on_disk`"),
        ([], "an object is expected"),
    ],
)
def test_a_declaration_that_is_wrong_is_refused(tmp_path: Path, sparse: Any, message: str) -> None:
    """Before any point is read."""
    path = write(tmp_path / "points.jsonl", header={**HEADER, "sparse": sparse})
    done = build(path, tmp_path / "index.tar")
    assert done.returncode == 2
    assert f"{path}: line 1: " in done.stderr
    assert message in done.stderr
