"""Which points each kind of condition finds, whichever backend answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from qdrant_client import models
from qdrant_client.models import FieldCondition, Filter, MatchAny, MatchExcept, MatchText, MatchValue, Range

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

PAYLOADS: list[dict[str, Any]] = [
    {"city": "Prague", "size": 10, "open": True, "tags": ["a", "b"], "at": "2024-01-01T00:00:00Z", "text": "red fox"},
    {"city": "Brno", "size": 20, "open": False, "tags": [], "at": "2024-02-01T00:00:00Z", "text": "quick red dog"},
    {"city": "Berlin", "size": 3.5, "open": True, "at": "2024-03-01T00:00:00+01:00", "text": "blue sky"},
    {"city": None, "size": -1, "tags": ["b"], "place": {"lat": 50.08, "lon": 14.42}},
    {"size": 0, "rooms": [{"kind": "x", "beds": 1}, {"kind": "y", "beds": 3}], "place": {"lat": 48.2, "lon": 16.37}},
    {"rooms": [{"kind": "x", "beds": 3}], "open": "true", "deep": {"er": {"key": 5}}},
]
PRAGUE = models.GeoPoint(lat=50.08, lon=14.42)


def field(key: str, **condition: Any) -> Filter:
    return Filter(must=[FieldCondition(key=key, **condition)])


CASES: dict[str, tuple[Filter, list[int]]] = {
    "text value": (field("city", match=MatchValue(value="Brno")), [1]),
    "text value is case sensitive": (field("city", match=MatchValue(value="brno")), []),
    "integer value": (field("size", match=MatchValue(value=10)), [0]),
    "true": (field("open", match=MatchValue(value=True)), [0, 2]),
    "false": (field("open", match=MatchValue(value=False)), [1]),
    "value in a list": (field("tags", match=MatchValue(value="b")), [0, 3]),
    "any of texts": (field("city", match=MatchAny(any=["Brno", "Berlin", "Rome"])), [1, 2]),
    "any of integers": (field("size", match=MatchAny(any=[0, 20])), [1, 4]),
    "any of none": (field("city", match=MatchAny(any=[])), []),
    "none of texts": (field("city", match=MatchExcept(**{"except": ["Brno"]})), [0, 2]),
    "substring of a text": (field("text", match=MatchText(text="red")), [0, 1]),
    "range of numbers": (field("size", range=Range(gte=0, lt=20)), [0, 2, 4]),
    "range of one bound": (field("size", range=Range(gt=10)), [1]),
    "range of times": (field("at", range=models.DatetimeRange(gte="2024-02-01T00:00:00Z")), [1, 2]),
    "range of times with zones": (field("at", range=models.DatetimeRange(gte="2024-03-01T00:00:00Z")), []),
    "nested key": (field("deep.er.key", match=MatchValue(value=5)), [5]),
    "key in a list of objects": (field("rooms[].beds", match=MatchValue(value=1)), [4]),
    "count of values": (field("tags", values_count=models.ValuesCount(gte=2)), [0]),
    "circle": (field("place", geo_radius=models.GeoRadius(center=PRAGUE, radius=1000.0)), [3]),
    "box": (
        field(
            "place",
            geo_bounding_box=models.GeoBoundingBox(
                top_left=models.GeoPoint(lat=49.0, lon=16.0), bottom_right=models.GeoPoint(lat=48.0, lon=17.0)
            ),
        ),
        [4],
    ),
    "polygon": (
        field(
            "place",
            geo_polygon=models.GeoPolygon(
                exterior=models.GeoLineString(
                    points=[
                        models.GeoPoint(lat=lat, lon=lon)
                        for lat, lon in ((51.0, 14.0), (51.0, 15.0), (49.0, 15.0), (49.0, 14.0), (51.0, 14.0))
                    ]
                )
            ),
        ),
        [3],
    ),
    "empty": (Filter(must=[models.IsEmptyCondition(is_empty=models.PayloadField(key="tags"))]), [1, 2, 4, 5]),
    "null": (Filter(must=[models.IsNullCondition(is_null=models.PayloadField(key="city"))]), [3]),
    "ids": (Filter(must=[models.HasIdCondition(has_id=[4, 2, 99])]), [2, 4]),
    "no ids": (Filter(must=[models.HasIdCondition(has_id=[])]), []),
    "named vector": (Filter(must=[models.HasVectorCondition(has_vector="extra")]), [0, 2, 4]),
    "one element fits both": (
        Filter(
            must=[
                models.NestedCondition(
                    nested=models.Nested(
                        key="rooms",
                        filter=Filter(
                            must=[
                                FieldCondition(key="kind", match=MatchValue(value="x")),
                                FieldCondition(key="beds", match=MatchValue(value=3)),
                            ]
                        ),
                    )
                )
            ]
        ),
        [5],
    ),
    "must and must not": (
        Filter(
            must=[FieldCondition(key="open", match=MatchValue(value=True))],
            must_not=[FieldCondition(key="city", match=MatchValue(value="Berlin"))],
        ),
        [0],
    ),
    "should": (
        Filter(
            should=[
                FieldCondition(key="city", match=MatchValue(value="Brno")),
                FieldCondition(key="size", range=Range(lt=0)),
            ]
        ),
        [1, 3],
    ),
    "at least two": (
        Filter(
            min_should=models.MinShould(
                conditions=[
                    FieldCondition(key="open", match=MatchValue(value=True)),
                    FieldCondition(key="size", range=Range(gte=5)),
                    FieldCondition(key="tags", match=MatchValue(value="b")),
                ],
                min_count=2,
            )
        ),
        [0],
    ),
    "filter in a filter": (
        Filter(
            must=[
                Filter(
                    should=[
                        FieldCondition(key="city", match=MatchValue(value="Brno")),
                        FieldCondition(key="city", match=MatchValue(value="Berlin")),
                    ]
                ),
                FieldCondition(key="open", match=MatchValue(value=False)),
            ]
        ),
        [1],
    ),
    "one condition without a list": (Filter(must=FieldCondition(key="city", match=MatchValue(value="Brno"))), [1]),
    "nothing": (Filter(), [0, 1, 2, 3, 4, 5]),
}


@pytest.mark.parametrize("case", CASES)
def test_condition_finds_exactly_its_points(client: QdrantClient, name: str, case: str) -> None:
    """Scroll, count and search agree on the points that a condition finds."""
    condition, expected = CASES[case]
    plane = models.VectorParams(size=2, distance=models.Distance.DOT)
    client.create_collection(name, vectors_config={"main": plane, "extra": plane})
    client.upsert(
        name,
        [
            models.PointStruct(
                id=n, vector={"main": [1.0, n]} | ({"extra": [1.0, 1.0]} if n % 2 == 0 else {}), payload=payload
            )
            for n, payload in enumerate(PAYLOADS)
        ],
    )
    assert [record.id for record in client.scroll(name, scroll_filter=condition)[0]] == expected
    assert client.count(name, count_filter=condition).count == len(expected)
    found = client.query_points(name, query=[1.0, 0.0], using="main", query_filter=condition).points
    assert sorted(int(point.id) for point in found) == expected
