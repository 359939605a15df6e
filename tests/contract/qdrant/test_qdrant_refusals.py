"""What every backend refuses, and that a refused request changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from qdrant_client import models
from qdrant_client.http.exceptions import UnexpectedResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from qdrant_client import QdrantClient

# The library's own store raises the first two, a client of a server the last.
REFUSALS = (ValueError, KeyError, UnexpectedResponse)
PLANE = models.VectorParams(size=2, distance=models.Distance.DOT)
ROWS = models.VectorParams(
    size=2,
    distance=models.Distance.DOT,
    multivector_config=models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM),
)


@pytest.fixture
def points(client: QdrantClient, name: str) -> str:
    """The name of a collection with three points that have every kind of vector."""
    client.create_collection(
        name,
        vectors_config={"main": PLANE, "rows": ROWS},
        sparse_vectors_config={"words": models.SparseVectorParams()},
    )
    client.upsert(name, [point(n) for n in range(3)])
    return name


def point(identifier: Any, **vectors: Any) -> models.PointStruct:
    usual: dict[str, Any] = {
        "main": [1.0, 2.0],
        "rows": [[1.0, 2.0], [3.0, 4.0]],
        "words": models.SparseVector(indices=[1], values=[1.0]),
    }
    return models.PointStruct(id=identifier, vector=usual | vectors, payload={"n": str(identifier)})


BAD_POINTS: dict[str, dict[str, Any]] = {
    "too few dimensions": {"main": [1.0]},
    "too many dimensions": {"main": [1.0, 2.0, 3.0]},
    "no dimension": {"main": []},
    "unknown vector": {"nobody": [1.0, 2.0]},
    "a ragged row": {"rows": [[1.0, 2.0], [3.0]]},
    "no row": {"rows": []},
    "sparse index twice": {"words": models.SparseVector(indices=[1, 1], values=[1.0, 2.0])},
    "sparse lengths differ": {"words": models.SparseVector(indices=[1, 2], values=[1.0])},
    "dense for sparse": {"words": [1.0, 2.0]},
    "sparse for dense": {"main": models.SparseVector(indices=[1], values=[1.0])},
}


@pytest.mark.parametrize("case", BAD_POINTS)
def test_batch_with_one_bad_point_changes_nothing(client: QdrantClient, points: str, case: str) -> None:
    """Of a batch with a good, a bad and a good point, none is written."""
    with pytest.raises(REFUSALS):
        client.upsert(points, [point(10), point(11, **BAD_POINTS[case]), point(12)])
    assert [record.id for record in client.scroll(points)[0]] == [0, 1, 2]


BAD_CALLS: dict[str, Callable[[QdrantClient, str], object]] = {
    "query of another size": lambda client, name: client.query_points(name, query=[1.0], using="main"),
    "query of an unknown vector": lambda client, name: client.query_points(name, query=[1.0, 2.0], using="nobody"),
    "query of the absent unnamed vector": lambda client, name: client.query_points(name, query=[1.0, 2.0]),
    "query by a missing point": lambda client, name: client.query_points(name, query=77, using="main"),
    "fusion of nothing": lambda client, name: client.query_points(
        name, query=models.FusionQuery(fusion=models.Fusion.RRF)
    ),
    "recommendation from nothing": lambda client, name: client.query_points(
        name, query=models.RecommendQuery(recommend=models.RecommendInput(positive=[])), using="main"
    ),
    "update of a missing point": lambda client, name: client.update_vectors(
        name, [models.PointVectors(id=77, vector={"main": [1.0, 1.0]})]
    ),
    "deletion of an unknown vector": lambda client, name: client.delete_vectors(name, ["nobody"], points=[0]),
    "empty deletion": lambda client, name: client.delete(name, points_selector=[]),
    "offset with an order": lambda client, name: client.scroll(name, order_by="n", offset=1),
    "diversity above one": lambda client, name: client.query_points(
        name, query=models.NearestQuery(nearest=[1.0, 1.0], mmr=models.Mmr(diversity=1.5)), using="main"
    ),
}


@pytest.mark.parametrize("case", BAD_CALLS)
def test_meaningless_requests_are_refused(client: QdrantClient, points: str, case: str) -> None:
    """A request that can't mean anything raises, and the collection stays as it was."""
    with pytest.raises(REFUSALS):
        BAD_CALLS[case](client, points)
    assert client.count(points).count == 3
