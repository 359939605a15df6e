"""Turns a filter of a request into the engine's filter, condition by condition."""

from __future__ import annotations

import qdrant_edge
from qdrant_edge import (
    FieldCondition,
    Filter,
    GeoBoundingBox,
    GeoPoint,
    GeoPolygon,
    GeoRadius,
    HasIdCondition,
    HasVectorCondition,
    IsEmptyCondition,
    IsNullCondition,
    MatchAny,
    MatchExcept,
    MatchPhrase,
    MatchPrefix,
    MatchSubstring,
    MatchText,
    MatchTextAny,
    MatchValue,
    MinShould,
    NestedCondition,
    RangeDateTime,
    RangeFloat,
    ValuesCount,
)

from sidecar.vectors import point_ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from qdrant_edge import ConditionType

    from sidecar.reading import Node
    from sidecar.vectors import PointId

    MatchType: TypeAlias = (
        "MatchValue | MatchText | MatchTextAny | MatchPhrase | MatchPrefix | MatchSubstring | MatchAny | MatchExcept"
    )

# Filters are written to the engine's log, whose decoder stops at 128 levels; one of ours takes several of its.
DEPTH_LIMIT = 12

_CLAUSES = ("must", "should", "must_not", "min_should")
_FIELD_KEYS = (
    "key",
    "match",
    "range",
    "geo_bounding_box",
    "geo_radius",
    "geo_polygon",
    "values_count",
    "is_empty",
    "is_null",
)
_BOUNDS = ("gte", "gt", "lte", "lt")


class _Truth:
    """A boolean under the name by which the engine recognizes NumPy's.

    The engine tries text, integer, boolean in that order, and Python's own booleans are integers: they'd never match.
    """

    __slots__ = ("_value",)

    def __init__(self, *, value: bool) -> None:
        self._value = value

    def __bool__(self) -> bool:
        return self._value


_Truth.__name__ = "bool_"
_Truth.__module__ = "numpy"


def optional_filter(owner: Node, key: str, excluded: list[PointId] | None = None) -> Filter | None:
    """Return the filter under `key`, which also keeps `excluded` points out; None when there is neither."""
    node = owner.get(key)
    if node is None:
        return Filter(must_not=[HasIdCondition(set(excluded))]) if excluded else None
    return read_filter(node, excluded=excluded)


def read_filter(node: Node, depth: int = 0, excluded: list[PointId] | None = None) -> Filter:
    """Return the engine's filter.

    Raises:
        Refused: with 400, for conditions that Qdrant doesn't have or the engine can't take.
    """
    if depth >= DEPTH_LIMIT:
        raise node.refuse(f"filters nest more than {DEPTH_LIMIT} levels")
    node.object(*_CLAUSES)
    must_not = _conditions(node, "must_not", depth)
    if excluded:
        must_not = [*(must_not or []), HasIdCondition(set(excluded))]
    least = node.get("min_should")
    return Filter(
        must=_conditions(node, "must", depth),
        should=_conditions(node, "should", depth),
        must_not=must_not,
        min_should=None if least is None else _min_should(least, depth),
    )


def _conditions(node: Node, key: str, depth: int) -> list[ConditionType] | None:
    clause = node.get(key)
    return None if clause is None else [condition(item, depth + 1) for item in clause.one_or_many()]


def _min_should(node: Node, depth: int) -> MinShould:
    node.object("conditions", "min_count")
    conditions = [condition(item, depth + 1) for item in node.need("conditions").items()]
    return MinShould(conditions, node.need("min_count").integer())


def condition(node: Node, depth: int = 0) -> ConditionType:
    """Return one condition of a filter.

    Raises:
        Refused: with 400, when it is none.
    """
    if node.has("key"):
        return _field(node)
    if node.has("is_empty"):
        return IsEmptyCondition(_payload_key(node, "is_empty"))
    if node.has("is_null"):
        return IsNullCondition(_payload_key(node, "is_null"))
    if node.has("has_id"):
        return HasIdCondition(set(point_ids(node.object("has_id").need("has_id"))))
    if node.has("has_vector"):
        return HasVectorCondition(node.object("has_vector").need("has_vector").text())
    if node.has("nested"):
        nested = node.object("nested").need("nested").object("key", "filter")
        return NestedCondition(nested.need("key").text(), read_filter(nested.need("filter"), depth + 1))
    if node.has("slice"):
        part = node.object("slice").need("slice").object("total", "index")
        return _slice(part)
    return read_filter(node, depth)


def _slice(node: Node) -> ConditionType:
    total = node.need("total").integer(1, 2**32 - 1)
    index = node.need("index").integer(0, total - 1)
    slice_condition = qdrant_edge.SliceCondition  # type: ignore[attr-defined]  # the engine has it, its stub doesn't
    return slice_condition(total=total, index=index)  # type: ignore[no-any-return]


def _payload_key(node: Node, name: str) -> str:
    return node.object(name).need(name).object("key").need("key").text()


def _field(node: Node) -> FieldCondition:
    node.object(*_FIELD_KEYS)
    parts: dict[str, Any] = {}
    for name, read in _FIELD_READERS.items():
        part = node.get(name)
        if part is not None:
            parts[name] = read(part)
    if not parts:
        raise node.refuse(f"a condition needs one of: {', '.join(_FIELD_READERS)}")
    return FieldCondition(node.need("key").text(), **parts)


def _match(node: Node) -> MatchType:
    for name, build in _MATCHES.items():
        if node.has(name):
            return build(node.object(name).need(name))
    raise node.refuse(f"a match needs one of: {', '.join(_MATCHES)}")


def _match_value(node: Node) -> MatchValue:
    if isinstance(node.value, bool):
        return MatchValue(_Truth(value=node.value))  # type: ignore[arg-type]
    if isinstance(node.value, str):
        return MatchValue(node.text())
    return MatchValue(node.integer(-(2**63), 2**63 - 1))


def _variants(node: Node) -> list[str] | list[int]:
    items = node.items()
    if items and not items[0].is_text():
        return [item.integer(-(2**63), 2**63 - 1) for item in items]
    return [item.text() for item in items]


def _range(node: Node) -> RangeFloat | RangeDateTime:
    node.object(*_BOUNDS)
    bounds = {name: bound for name in _BOUNDS if (bound := node.get(name)) is not None}
    if any(bound.is_text() for bound in bounds.values()):
        return RangeDateTime(**{name: bound.text() for name, bound in bounds.items()})
    return RangeFloat(**{name: bound.number() for name, bound in bounds.items()})


def _values_count(node: Node) -> ValuesCount:
    node.object(*_BOUNDS)
    return ValuesCount(**{name: bound.integer() for name in _BOUNDS if (bound := node.get(name)) is not None})


def geo_point(node: Node) -> GeoPoint:
    """Return a point on Earth, degrees of longitude and latitude."""
    node.object("lon", "lat")
    return GeoPoint(lon=node.need("lon").number(), lat=node.need("lat").number())


def _geo_box(node: Node) -> GeoBoundingBox:
    node.object("top_left", "bottom_right")
    return GeoBoundingBox(geo_point(node.need("top_left")), geo_point(node.need("bottom_right")))


def _geo_radius(node: Node) -> GeoRadius:
    node.object("center", "radius")
    return GeoRadius(geo_point(node.need("center")), node.need("radius").number())


def _line(node: Node) -> list[GeoPoint]:
    return [geo_point(point) for point in node.object("points").need("points").items()]


def _geo_polygon(node: Node) -> GeoPolygon:
    node.object("exterior", "interiors")
    interiors = node.get("interiors")
    inner = None if interiors is None else [_line(line) for line in interiors.items()]
    return GeoPolygon(_line(node.need("exterior")), inner)


_MATCHES: dict[str, Callable[[Node], MatchType]] = {
    "value": _match_value,
    "text": lambda node: MatchText(node.text()),
    "text_any": lambda node: MatchTextAny(node.text()),
    "phrase": lambda node: MatchPhrase(node.text()),
    "prefix": lambda node: MatchPrefix(node.text()),
    "substring": lambda node: MatchSubstring(node.text()),
    "any": lambda node: MatchAny(_variants(node)),
    "except": lambda node: MatchExcept(_variants(node)),
}

_FIELD_READERS: dict[str, Callable[[Node], object]] = {
    "match": _match,
    "range": _range,
    "geo_bounding_box": _geo_box,
    "geo_radius": _geo_radius,
    "geo_polygon": _geo_polygon,
    "values_count": _values_count,
    "is_empty": lambda node: node.flag(),
    "is_null": lambda node: node.flag(),
}
