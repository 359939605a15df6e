"""Turns what the engine returns into the JSON that Qdrant's interface defines."""

from __future__ import annotations

from qdrant_edge import SparseVector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias
    from uuid import UUID

    from qdrant_edge import Record, ScoredPoint

    Rendered: TypeAlias = "dict[str, Any]"


def point_id(value: int | str | UUID) -> int | str:
    """Return a point id as JSON has it: a number, or a UUID as text."""
    return value if isinstance(value, int) else str(value)


def vectors(value: Any) -> Any:
    """Return the vectors of a point: dense ones as lists, sparse ones as indices and values, named ones by name."""
    if isinstance(value, SparseVector):
        return {"indices": value.indices, "values": value.values}
    if isinstance(value, dict):
        return {name: vectors(item) for name, item in value.items()}
    return value


def record(found: Record) -> Rendered:
    """Return a point that was looked up or scrolled to."""
    rendered: Rendered = {"id": point_id(found.id)}
    return _with_rest(rendered, found)


def scored(found: ScoredPoint) -> Rendered:
    """Return a point that was ranked."""
    rendered: Rendered = {"id": point_id(found.id), "version": found.version, "score": found.score}
    return _with_rest(rendered, found)


def _with_rest(rendered: Rendered, found: Record | ScoredPoint) -> Rendered:
    payload, vector, order_value = found.payload, found.vector, found.order_value
    if payload is not None:
        rendered["payload"] = payload
    if vector is not None:
        rendered["vector"] = vectors(vector)
    if order_value is not None:
        rendered["order_value"] = order_value
    return rendered
