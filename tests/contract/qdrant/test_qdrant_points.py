"""What a Qdrant client may rely on about writing, reading and deleting points, whichever backend answers."""

from __future__ import annotations

import gc
import uuid
from typing import TYPE_CHECKING

import pytest
from qdrant_client import models

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

PLANE = models.VectorParams(size=2, distance=models.Distance.DOT)
SPACES = {"a": PLANE, "b": models.VectorParams(size=3, distance=models.Distance.DOT)}
WORDS = {"words": models.SparseVectorParams()}
A_UUID = "550e8400-e29b-41d4-a716-446655440000"


def fill(client: QdrantClient, name: str, count: int = 5) -> None:
    client.create_collection(name, vectors_config=PLANE)
    client.upsert(name, [models.PointStruct(id=n, vector=[1.0, n], payload={"n": n}) for n in range(count)])


def ids(client: QdrantClient, name: str) -> list[object]:
    return [record.id for record in client.scroll(name, limit=100)[0]]


def test_upsert_reports_completion(client: QdrantClient, name: str) -> None:
    """A waited-for upsert is completed."""
    client.create_collection(name, vectors_config=PLANE)
    result = client.upsert(name, [models.PointStruct(id=1, vector=[1.0, 0.0])], wait=True)
    assert result.status == models.UpdateStatus.COMPLETED


def test_payload_of_every_json_type_comes_back(client: QdrantClient, name: str) -> None:
    """A payload comes back as it was given: nested, with null, booleans, large integers and text of any script."""
    payload = {
        "t": "žluťoučký 🐎",
        "i": 2**53,
        "f": 1.5,
        "y": True,
        "z": None,
        "l": [1, "a", [2]],
        "o": {"p": {"q": -1}},
    }
    client.create_collection(name, vectors_config=PLANE)
    client.upsert(name, [models.PointStruct(id=1, vector=[1.0, 0.0], payload=payload)])
    assert client.retrieve(name, [1])[0].payload == payload


def test_vector_comes_back_when_asked_for(client: QdrantClient, name: str) -> None:
    """A look-up has the vector only when it is asked for."""
    fill(client, name)
    assert client.retrieve(name, [2])[0].vector is None
    assert client.retrieve(name, [2], with_vectors=True)[0].vector == [1.0, 2.0]


def test_cosine_vectors_are_stored_normalized(client: QdrantClient, name: str) -> None:
    """With the distance Cosine, what is stored has length 1."""
    client.create_collection(name, vectors_config=models.VectorParams(size=2, distance=models.Distance.COSINE))
    client.upsert(name, [models.PointStruct(id=1, vector=[3.0, 4.0])])
    assert client.retrieve(name, [1], with_vectors=True)[0].vector == pytest.approx([0.6, 0.8])


def test_lookup_keeps_the_order_and_leaves_out_what_is_missing(client: QdrantClient, name: str) -> None:
    """Points come back in the order asked for; ids that don't exist are left out."""
    fill(client, name)
    assert [record.id for record in client.retrieve(name, [3, 77, 0, 4])] == [3, 0, 4]


def test_lookup_of_nothing_finds_nothing(client: QdrantClient, name: str) -> None:
    """An empty list of ids is no error for a look-up."""
    fill(client, name)
    assert client.retrieve(name, []) == []


def test_uuid_and_integer_ids_live_together(client: QdrantClient, name: str) -> None:
    """A point is found under its integer or UUID; a UUID comes back as hyphenated text."""
    client.create_collection(name, vectors_config=PLANE)
    client.upsert(
        name,
        [models.PointStruct(id=A_UUID, vector=[1.0, 0.0]), models.PointStruct(id=2**64 - 1, vector=[0.0, 1.0])],
    )
    assert client.retrieve(name, [A_UUID])[0].id == A_UUID
    assert client.retrieve(name, [uuid.UUID(A_UUID).hex])[0].id == A_UUID
    assert client.retrieve(name, [2**64 - 1])[0].id == 2**64 - 1


def test_second_upsert_replaces_the_point(client: QdrantClient, name: str) -> None:
    """An upsert of a known id replaces vector and payload."""
    fill(client, name)
    client.upsert(name, [models.PointStruct(id=1, vector=[9.0, 9.0], payload={"new": True})])
    found = client.retrieve(name, [1], with_vectors=True)[0]
    assert (found.payload, found.vector, client.count(name).count) == ({"new": True}, [9.0, 9.0], 5)


def test_last_of_equal_ids_in_one_upsert_wins(client: QdrantClient, name: str) -> None:
    """Of two points with one id in a request, the later stays."""
    client.create_collection(name, vectors_config=PLANE)
    client.upsert(name, [models.PointStruct(id=1, vector=[1.0, 0.0], payload={"v": v}) for v in (1, 2)])
    found = client.retrieve(name, [1])
    assert [record.payload for record in found] == [{"v": 2}]


def test_columns_are_points_too(client: QdrantClient, name: str) -> None:
    """A batch of columns writes the same points as a list."""
    client.create_collection(name, vectors_config=PLANE)
    batch = models.Batch(ids=[1, 2], vectors=[[1.0, 0.0], [0.0, 1.0]], payloads=[{"n": 1}, {"n": 2}])
    client.upsert(name, batch)
    found = client.retrieve(name, [1, 2], with_vectors=True)
    assert [(record.payload, record.vector) for record in found] == [({"n": 1}, [1.0, 0.0]), ({"n": 2}, [0.0, 1.0])]


def test_columns_of_named_vectors(client: QdrantClient, name: str) -> None:
    """A batch may have a column for each named vector, sparse ones included."""
    client.create_collection(name, vectors_config=SPACES, sparse_vectors_config=WORDS)
    batch = models.Batch(
        ids=[1, 2],
        vectors={
            "a": [[1.0, 0.0], [0.0, 1.0]],
            "words": [models.SparseVector(indices=[1], values=[1.0]), models.SparseVector(indices=[2], values=[2.0])],
        },
    )
    client.upsert(name, batch)
    vector = client.retrieve(name, [2], with_vectors=True)[0].vector
    assert isinstance(vector, dict)
    assert vector["a"] == [0.0, 1.0]
    assert vector["words"] == models.SparseVector(indices=[2], values=[2.0])


def test_point_may_lack_some_named_vectors(client: QdrantClient, name: str) -> None:
    """A point without one of the named vectors is found by its others only."""
    client.create_collection(name, vectors_config=SPACES)
    client.upsert(name, [models.PointStruct(id=1, vector={"a": [1.0, 0.0]})])
    assert len(client.query_points(name, query=[1.0, 0.0], using="a").points) == 1
    assert client.query_points(name, query=[1.0, 0.0, 0.0], using="b").points == []


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # the client leaves its uploader's connection open
def test_upload_helpers_write_all_points(client: QdrantClient, name: str) -> None:
    """The client's bulk upload writes every point, across several requests."""
    client.create_collection(name, vectors_config=PLANE)
    points = (models.PointStruct(id=n, vector=[1.0, n], payload={"n": n}) for n in range(150))
    client.upload_points(name, points, batch_size=40, wait=True)
    assert client.count(name).count == 150
    gc.collect()  # what was left open is found here, and not in some other test


def test_insert_only_leaves_known_points_alone(client: QdrantClient, name: str) -> None:
    """With the mode insert_only, known points stay as they are and new ones are added."""
    fill(client, name, 1)
    points = [models.PointStruct(id=n, vector=[5.0, 5.0], payload={"n": "new"}) for n in (0, 1)]
    client.upsert(name, points, update_mode=models.UpdateMode.INSERT_ONLY)
    assert [record.payload for record in client.retrieve(name, [0, 1])] == [{"n": 0}, {"n": "new"}]


def test_update_only_adds_no_point(client: QdrantClient, name: str) -> None:
    """With the mode update_only, known points are replaced and no other appears."""
    fill(client, name, 1)
    points = [models.PointStruct(id=n, vector=[5.0, 5.0], payload={"n": "new"}) for n in (0, 1)]
    client.upsert(name, points, update_mode=models.UpdateMode.UPDATE_ONLY)
    assert [record.payload for record in client.retrieve(name, [0, 1])] == [{"n": "new"}]


def test_update_filter_protects_other_points(client: QdrantClient, name: str) -> None:
    """An upsert with a filter replaces only the known points that the filter finds."""
    fill(client, name, 2)
    points = [models.PointStruct(id=n, vector=[5.0, 5.0], payload={"n": "new"}) for n in (0, 1)]
    only_one = models.Filter(must=[models.FieldCondition(key="n", match=models.MatchValue(value=1))])
    client.upsert(name, points, update_filter=only_one)
    assert [record.payload for record in client.retrieve(name, [0, 1])] == [{"n": 0}, {"n": "new"}]


def test_deletion_by_ids(client: QdrantClient, name: str) -> None:
    """Deleted points are gone; ids that don't exist are no error."""
    fill(client, name)
    client.delete(name, points_selector=[1, 3, 77])
    assert ids(client, name) == [0, 2, 4]


def test_deletion_by_filter(client: QdrantClient, name: str) -> None:
    """Exactly the points that a filter finds are deleted."""
    fill(client, name)
    small = models.Filter(must=[models.FieldCondition(key="n", range=models.Range(lt=3))])
    client.delete(name, points_selector=models.FilterSelector(filter=small))
    assert ids(client, name) == [3, 4]


def test_deleted_point_can_come_back(client: QdrantClient, name: str) -> None:
    """An id can be used again after its deletion, without anything of the old point."""
    fill(client, name)
    client.delete(name, points_selector=[1])
    client.upsert(name, [models.PointStruct(id=1, vector=[7.0, 7.0])])
    found = client.retrieve(name, [1], with_vectors=True)[0]
    assert (found.payload or {}, found.vector) == ({}, [7.0, 7.0])


def test_vectors_can_be_replaced(client: QdrantClient, name: str) -> None:
    """An update of one named vector leaves the other and the payload alone."""
    client.create_collection(name, vectors_config=SPACES)
    client.upsert(name, [models.PointStruct(id=1, vector={"a": [1.0, 0.0], "b": [1.0, 2.0, 3.0]}, payload={"k": 1})])
    client.update_vectors(name, [models.PointVectors(id=1, vector={"a": [4.0, 5.0]})])
    found = client.retrieve(name, [1], with_vectors=True)[0]
    assert (found.vector, found.payload) == ({"a": [4.0, 5.0], "b": [1.0, 2.0, 3.0]}, {"k": 1})


def test_vectors_can_be_deleted(client: QdrantClient, name: str) -> None:
    """A point whose named vector was deleted stays, without that vector."""
    client.create_collection(name, vectors_config=SPACES)
    client.upsert(name, [models.PointStruct(id=1, vector={"a": [1.0, 0.0], "b": [1.0, 2.0, 3.0]})])
    client.delete_vectors(name, vectors=["b"], points=[1])
    assert client.retrieve(name, [1], with_vectors=True)[0].vector == {"a": [1.0, 0.0]}


def test_batch_of_operations_is_applied_in_order(client: QdrantClient, name: str) -> None:
    """Operations of one batch see what earlier ones did."""
    client.create_collection(name, vectors_config=PLANE)
    points = [models.PointStruct(id=n, vector=[1.0, n]) for n in range(3)]
    client.batch_update_points(
        name,
        update_operations=[
            models.UpsertOperation(upsert=models.PointsList(points=points)),
            models.SetPayloadOperation(set_payload=models.SetPayload(payload={"x": 1}, points=[0, 1])),
            models.DeletePayloadOperation(delete_payload=models.DeletePayload(keys=["x"], points=[0])),
            models.UpdateVectorsOperation(
                update_vectors=models.UpdateVectors(points=[models.PointVectors(id=0, vector=[8.0, 8.0])])
            ),
            models.DeleteOperation(delete=models.PointIdsList(points=[2])),
        ],
    )
    found = client.retrieve(name, [0, 1, 2], with_vectors=True)
    assert [(record.id, record.payload, record.vector) for record in found] == [
        (0, {}, [8.0, 8.0]),
        (1, {"x": 1}, [1.0, 1.0]),
    ]


def test_count_is_exact_with_and_without_filter(client: QdrantClient, name: str) -> None:
    """A count counts every point, or those that a filter finds."""
    fill(client, name, 30)
    large = models.Filter(must=[models.FieldCondition(key="n", range=models.Range(gte=10))])
    assert (client.count(name).count, client.count(name, count_filter=large).count) == (30, 20)


def test_scrolling_visits_every_point_once_in_order(client: QdrantClient, name: str) -> None:
    """Pages follow each other in the order of ids, until none is left."""
    fill(client, name, 25)
    seen: list[object] = []
    offset: object = None
    for expected in (10, 10, 5):
        page, offset = client.scroll(name, limit=10, offset=offset)  # type: ignore[arg-type]
        assert len(page) == expected
        seen += [record.id for record in page]
    assert (seen, offset) == (list(range(25)), None)


def test_scrolling_with_a_filter(client: QdrantClient, name: str) -> None:
    """A filtered scroll skips what the filter doesn't find and says where to go on."""
    fill(client, name, 10)
    odd = models.Filter(must=[models.FieldCondition(key="n", match=models.MatchAny(any=[1, 3, 5, 7, 9]))])
    page, after = client.scroll(name, scroll_filter=odd, limit=3)
    assert ([record.id for record in page], after) == ([1, 3, 5], 7)


def test_payload_can_be_left_out_or_chosen(client: QdrantClient, name: str) -> None:
    """A request chooses all, none, some or all but some of the payload."""
    client.create_collection(name, vectors_config=PLANE)
    client.upsert(name, [models.PointStruct(id=1, vector=[1.0, 0.0], payload={"a": 1, "b": {"c": 2, "d": 3}})])
    assert not client.retrieve(name, [1], with_payload=False)[0].payload
    assert client.retrieve(name, [1], with_payload=["a"])[0].payload == {"a": 1}
    assert client.retrieve(name, [1], with_payload=["b.c"])[0].payload == {"b": {"c": 2}}
    exclude = models.PayloadSelectorExclude(exclude=["b"])
    assert client.retrieve(name, [1], with_payload=exclude)[0].payload == {"a": 1}


def test_some_named_vectors_can_be_chosen(client: QdrantClient, name: str) -> None:
    """A request chooses which named vectors come back."""
    client.create_collection(name, vectors_config=SPACES)
    client.upsert(name, [models.PointStruct(id=1, vector={"a": [1.0, 0.0], "b": [1.0, 2.0, 3.0]})])
    assert client.retrieve(name, [1], with_vectors=["b"])[0].vector == {"b": [1.0, 2.0, 3.0]}
