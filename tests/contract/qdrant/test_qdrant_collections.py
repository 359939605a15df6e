"""What a Qdrant client may rely on about collections, whichever backend answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from qdrant_client import models

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

PLANE = models.VectorParams(size=2, distance=models.Distance.DOT)


def test_created_collection_exists_and_is_listed(client: QdrantClient, name: str) -> None:
    """A collection exists from its creation on, and is listed once."""
    assert not client.collection_exists(name)
    assert client.create_collection(name, vectors_config=PLANE)
    assert client.collection_exists(name)
    assert [entry.name for entry in client.get_collections().collections].count(name) == 1


def test_deleted_collection_is_gone(client: QdrantClient, name: str) -> None:
    """A deleted collection neither exists nor answers."""
    client.create_collection(name, vectors_config=PLANE)
    assert client.delete_collection(name)
    assert not client.collection_exists(name)
    with pytest.raises(Exception, match=r"(?i)not found"):
        client.get_collection(name)


def test_deleting_a_missing_collection_says_so(client: QdrantClient, name: str) -> None:
    """Deleting what doesn't exist is no error, but isn't true either."""
    assert not client.delete_collection(name)


def test_second_creation_is_refused(client: QdrantClient, name: str) -> None:
    """A collection can't be created over another, which keeps its points."""
    client.create_collection(name, vectors_config=PLANE)
    client.upsert(name, [models.PointStruct(id=1, vector=[1.0, 0.0])])
    with pytest.raises(Exception, match="already exists"):
        client.create_collection(name, vectors_config=PLANE)
    assert client.count(name).count == 1


def test_info_shows_the_declared_vector(client: QdrantClient, name: str) -> None:
    """The configuration of the unnamed vector can be read back."""
    client.create_collection(name, vectors_config=models.VectorParams(size=3, distance=models.Distance.COSINE))
    vectors = client.get_collection(name).config.params.vectors
    assert isinstance(vectors, models.VectorParams)
    assert (vectors.size, vectors.distance) == (3, models.Distance.COSINE)


def test_info_shows_named_and_sparse_vectors(client: QdrantClient, name: str) -> None:
    """The configuration of named, multiple and sparse vectors can be read back."""
    multi = models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM)
    client.create_collection(
        name,
        vectors_config={
            "text": models.VectorParams(size=4, distance=models.Distance.EUCLID),
            "tokens": models.VectorParams(size=2, distance=models.Distance.DOT, multivector_config=multi),
        },
        sparse_vectors_config={"words": models.SparseVectorParams(modifier=models.Modifier.IDF)},
    )
    params = client.get_collection(name).config.params
    assert isinstance(params.vectors, dict)
    assert params.vectors["text"].distance == models.Distance.EUCLID
    assert params.vectors["tokens"].multivector_config == multi
    assert params.sparse_vectors is not None
    assert params.sparse_vectors["words"].modifier == models.Modifier.IDF


def test_info_counts_points(client: QdrantClient, name: str) -> None:
    """The information about a collection counts its points and calls it green."""
    client.create_collection(name, vectors_config=PLANE)
    client.upsert(name, [models.PointStruct(id=number, vector=[1.0, number]) for number in range(3)])
    info = client.get_collection(name)
    assert (info.points_count, info.status) == (3, models.CollectionStatus.GREEN)


def test_metadata_is_kept(client: QdrantClient, name: str) -> None:
    """What a creator notes about a collection can be read back."""
    client.create_collection(name, vectors_config=PLANE, metadata={"corpus": "x", "build": 7})
    assert client.get_collection(name).config.metadata == {"corpus": "x", "build": 7}


def test_no_aliases(client: QdrantClient, name: str) -> None:
    """A fresh collection has no alias."""
    client.create_collection(name, vectors_config=PLANE)
    assert client.get_collection_aliases(name).aliases == []
    assert client.get_aliases().aliases == []


def test_missing_collection_is_not_found(client: QdrantClient, name: str) -> None:
    """Reading and writing a collection that doesn't exist are refused by naming it."""
    with pytest.raises(Exception, match=r"(?i)not found"):
        client.count(name)
    with pytest.raises(Exception, match=r"(?i)not found"):
        client.upsert(name, [models.PointStruct(id=1, vector=[1.0])])
    with pytest.raises(Exception, match=r"(?i)not found"):
        client.query_points(name, query=[1.0])


@pytest.mark.filterwarnings("ignore:Payload indexes have no effect")
def test_payload_index_can_be_made_and_dropped(client: QdrantClient, name: str) -> None:
    """An index on a payload key changes no answer."""
    client.create_collection(name, vectors_config=PLANE)
    client.upsert(name, [models.PointStruct(id=n, vector=[1.0, n], payload={"city": "ab"[n % 2]}) for n in range(4)])
    only_a = models.Filter(must=[models.FieldCondition(key="city", match=models.MatchValue(value="a"))])
    client.create_payload_index(name, "city", models.PayloadSchemaType.KEYWORD)
    assert client.count(name, count_filter=only_a).count == 2
    client.delete_payload_index(name, "city")
    assert client.count(name, count_filter=only_a).count == 2


def test_vector_can_be_added_and_removed(client: QdrantClient, name: str) -> None:
    """A named vector added to a collection can be written and searched; after its removal it is unknown."""
    client.create_collection(name, vectors_config={"first": PLANE})
    client.upsert(name, [models.PointStruct(id=1, vector={"first": [1.0, 0.0]})])
    dense = models.DenseVectorConfig(size=2, distance=models.Distance.DOT)
    client.create_vector_name(name, "second", models.DenseVectorNameConfig(dense=dense))
    client.update_vectors(name, [models.PointVectors(id=1, vector={"second": [0.0, 2.0]})])
    assert client.query_points(name, query=[0.0, 1.0], using="second").points[0].score == 2.0
    client.delete_vector_name(name, "second")
    with pytest.raises(Exception, match="second"):
        client.query_points(name, query=[0.0, 1.0], using="second")


def test_recreated_collection_is_empty(client: QdrantClient, name: str) -> None:
    """A name can be used again after a deletion, and finds nothing of what was there before."""
    client.create_collection(name, vectors_config=PLANE)
    client.upsert(name, [models.PointStruct(id=1, vector=[1.0, 0.0])])
    client.delete_collection(name)
    client.create_collection(name, vectors_config=models.VectorParams(size=3, distance=models.Distance.DOT))
    assert client.count(name).count == 0
    client.upsert(name, [models.PointStruct(id=1, vector=[1.0, 0.0, 0.0])])
