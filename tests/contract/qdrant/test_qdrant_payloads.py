"""What a Qdrant client may rely on about changing payloads, whichever backend answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from qdrant_client import models

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

PLANE = models.VectorParams(size=2, distance=models.Distance.DOT)
EVEN = models.Filter(must=[models.FieldCondition(key="parity", match=models.MatchValue(value="even"))])


@pytest.fixture
def points(client: QdrantClient, name: str) -> str:
    """The name of a collection with the points 0 to 3, each with its number and parity."""
    client.create_collection(name, vectors_config=PLANE)
    client.upsert(
        name,
        [
            models.PointStruct(id=n, vector=[1.0, n], payload={"n": n, "parity": ("even", "odd")[n % 2]})
            for n in range(4)
        ],
    )
    return name


def payloads(client: QdrantClient, name: str) -> list[dict[str, Any] | None]:
    return [record.payload for record in client.scroll(name, limit=10)[0]]


def test_set_payload_merges(client: QdrantClient, points: str) -> None:
    """Set keys are added or replaced; the others stay."""
    client.set_payload(points, payload={"n": "x", "more": [1]}, points=[1])
    assert payloads(client, points)[1] == {"n": "x", "parity": "odd", "more": [1]}


def test_set_payload_by_filter(client: QdrantClient, points: str) -> None:
    """Exactly the points that a filter finds are changed."""
    client.set_payload(points, payload={"seen": True}, points=EVEN)
    assert [bool((payload or {}).get("seen")) for payload in payloads(client, points)] == [True, False, True, False]


def test_set_payload_below_a_key(client: QdrantClient, points: str) -> None:
    """A payload can be set below a path, which comes into being."""
    client.set_payload(points, payload={"c": 1}, points=[0], key="a.b")
    assert payloads(client, points)[0] == {"n": 0, "parity": "even", "a": {"b": {"c": 1}}}


def test_overwrite_payload_replaces(client: QdrantClient, points: str) -> None:
    """An overwritten payload has nothing of the old one."""
    client.overwrite_payload(points, payload={"only": 1}, points=[2])
    assert payloads(client, points)[2] == {"only": 1}


def test_delete_payload_keys(client: QdrantClient, points: str) -> None:
    """Deleted keys are gone; keys that a point lacks are no error."""
    client.delete_payload(points, keys=["n", "absent"], points=[0, 1])
    assert payloads(client, points)[:3] == [{"parity": "even"}, {"parity": "odd"}, {"n": 2, "parity": "even"}]


def test_delete_nested_payload_key(client: QdrantClient, points: str) -> None:
    """A path names a key within an object."""
    client.overwrite_payload(points, payload={"a": {"b": 1, "c": 2}}, points=[0])
    client.delete_payload(points, keys=["a.b"], points=[0])
    assert payloads(client, points)[0] == {"a": {"c": 2}}


def test_clear_payload(client: QdrantClient, points: str) -> None:
    """A cleared point has no payload, but is still there."""
    client.clear_payload(points, points_selector=models.FilterSelector(filter=EVEN))
    assert payloads(client, points) == [{}, {"n": 1, "parity": "odd"}, {}, {"n": 3, "parity": "odd"}]


def test_filters_follow_changed_payloads(client: QdrantClient, points: str) -> None:
    """A filter sees what a payload is now, not what it was."""
    client.set_payload(points, payload={"parity": "even"}, points=[1])
    assert client.count(points, count_filter=EVEN).count == 3


def test_change_of_a_missing_point_is_reported(client: QdrantClient, points: str) -> None:
    """Points that exist are changed, then the first that doesn't is named."""
    with pytest.raises(Exception, match="77"):
        client.set_payload(points, payload={"seen": True}, points=[0, 77, 1])
    assert [(payload or {}).get("seen") for payload in payloads(client, points)] == [True, True, None, None]
