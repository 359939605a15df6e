"""Rankings are exact: they agree with NumPy in double precision, on random, filtered and named vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from qdrant_client import models

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from qdrant_client import QdrantClient

DIMENSION = 48
POINTS = 600
TOP = 10


@pytest.fixture(scope="module")
def vectors() -> NDArray[np.float32]:
    """Vectors as a client sends them."""
    return np.random.default_rng(7).standard_normal((POINTS, DIMENSION)).astype(np.float32)


@pytest.fixture(scope="module")
def questions() -> NDArray[np.float32]:
    """Query vectors."""
    return np.random.default_rng(11).standard_normal((20, DIMENSION)).astype(np.float32)


def scores(
    distance: models.Distance, vectors: NDArray[np.float32], question: NDArray[np.float32]
) -> NDArray[np.float64]:
    """What each vector is worth by definition, larger is better."""
    rows, row = vectors.astype(np.float64), question.astype(np.float64)
    worth: NDArray[np.float64] = rows @ row
    if distance == models.Distance.COSINE:
        worth = worth / (np.linalg.norm(rows, axis=1) * np.linalg.norm(row))
    elif distance == models.Distance.EUCLID:
        worth = -np.sqrt(((rows - row) ** 2).sum(axis=1))
    elif distance == models.Distance.MANHATTAN:
        worth = -np.abs(rows - row).sum(axis=1)
    return worth


def upload(client: QdrantClient, name: str, distance: models.Distance, vectors: NDArray[np.float32]) -> None:
    client.create_collection(name, vectors_config=models.VectorParams(size=DIMENSION, distance=distance))
    numbers = range(len(vectors))
    payloads: list[models.Payload] = [{"third": n % 3} for n in numbers]
    client.upsert(name, models.Batch(ids=list(numbers), vectors=vectors.tolist(), payloads=payloads))


@pytest.mark.parametrize("distance", list(models.Distance))
def test_order_and_scores_are_those_of_numpy(
    client: QdrantClient,
    name: str,
    distance: models.Distance,
    vectors: NDArray[np.float32],
    questions: NDArray[np.float32],
) -> None:
    """The ten best of 600 points, their order and their scores agree with the definition, for each distance."""
    upload(client, name, distance, vectors)
    sign = 1.0 if distance in (models.Distance.COSINE, models.Distance.DOT) else -1.0
    for question in questions:
        worth = scores(distance, vectors, question)
        best = np.argsort(-worth)[:TOP]
        found = client.query_points(name, query=question.tolist(), limit=TOP).points
        assert [point.id for point in found] == best.tolist()
        assert [point.score for point in found] == pytest.approx((sign * worth[best]).tolist(), rel=1e-5, abs=1e-5)


def test_filtered_order_is_that_of_numpy(
    client: QdrantClient, name: str, vectors: NDArray[np.float32], questions: NDArray[np.float32]
) -> None:
    """A filter that finds a third of the points loses none of the best of them."""
    upload(client, name, models.Distance.COSINE, vectors)
    third = models.Filter(must=[models.FieldCondition(key="third", match=models.MatchValue(value=1))])
    for question in questions:
        worth = scores(models.Distance.COSINE, vectors, question)
        worth[np.arange(POINTS) % 3 != 1] = -np.inf
        found = client.query_points(name, query=question.tolist(), query_filter=third, limit=TOP).points
        assert [point.id for point in found] == np.argsort(-worth)[:TOP].tolist()


@pytest.mark.filterwarnings("ignore:Local mode performs exact")
def test_graph_settings_change_nothing(
    client: QdrantClient, name: str, vectors: NDArray[np.float32], questions: NDArray[np.float32]
) -> None:
    """A request for a rougher search is answered as exactly as any other."""
    upload(client, name, models.Distance.COSINE, vectors)
    rough = models.SearchParams(hnsw_ef=1)
    for question in questions[:5]:
        worth = scores(models.Distance.COSINE, vectors, question)
        found = client.query_points(name, query=question.tolist(), search_params=rough, limit=TOP).points
        assert [point.id for point in found] == np.argsort(-worth)[:TOP].tolist()


def test_whole_ranking_is_complete(
    client: QdrantClient, name: str, vectors: NDArray[np.float32], questions: NDArray[np.float32]
) -> None:
    """A limit of all points ranks every one of them once."""
    upload(client, name, models.Distance.DOT, vectors)
    found = client.query_points(name, query=questions[0].tolist(), limit=POINTS).points
    worth = scores(models.Distance.DOT, vectors, questions[0])
    assert [point.id for point in found] == np.argsort(-worth).tolist()
