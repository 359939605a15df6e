"""Reads the requests that write points into checked changes, and applies those.

A change is checked as a whole before the engine sees any of it, because the engine logs an operation first and rejects
it afterwards: a restart would apply what was refused. Points go to the engine one by one, which keeps their internal
order, and with it the order of equal scores, the same in every build.
"""

from __future__ import annotations

from qdrant_edge import Point, PointVectors, UpdateMode, UpdateOperation

from sidecar import rendering
from sidecar.collection import Collection, translated
from sidecar.filters import optional_filter, read_filter
from sidecar.refusal import not_found, not_served, wrong_input
from sidecar.vectors import payload, point_id, point_ids, point_vectors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from qdrant_edge import Filter
    from qdrant_edge import PointId as EngineId

    from sidecar.reading import Node
    from sidecar.vectors import PointId, Schema

    ByIds: TypeAlias = "Callable[[list[EngineId]], UpdateOperation]"
    ByFilter: TypeAlias = "Callable[[Filter], UpdateOperation]"

_MODES = {"upsert": UpdateMode.Upsert, "insert_only": UpdateMode.InsertOnly, "update_only": UpdateMode.UpdateOnly}
# A path deeper than this can't be read back together with the deepest payload.
_KEY_DEPTH_LIMIT = 16


class Change:
    """A checked change: operations for certain points, or one for whatever a filter finds."""

    __slots__ = ("by_filter", "for_points", "needs_points")

    def __init__(
        self,
        for_points: list[tuple[PointId, UpdateOperation]],
        by_filter: UpdateOperation | None = None,
        *,
        needs_points: bool = False,
    ) -> None:
        """Hold the operations; `needs_points` says that a point that doesn't exist is an error."""
        self.for_points = for_points
        self.by_filter = by_filter
        self.needs_points = needs_points


def apply(collection: Collection, changes: list[Change]) -> dict[str, Any]:
    """Apply the changes in order; the caller holds the writers' lock.

    Raises:
        Refused: with 404 for the first point that doesn't exist, after the change has been made to all that do.
    """
    for change in changes:
        if change.by_filter is not None:
            collection.update(change.by_filter)
        missing: PointId | None = None
        known = _existing(collection, change) if change.needs_points else None
        for identifier, operation in change.for_points:
            if known is None or identifier in known:
                collection.update(operation)
            elif missing is None:
                missing = identifier
        if missing is not None:
            raise not_found(f"No point with id {missing} found")
    return {"operation_id": collection.operations, "status": "completed"}


def _existing(collection: Collection, change: Change) -> set[PointId]:
    ids = [identifier for identifier, _ in change.for_points]
    return {rendering.point_id(record.id) for record in collection.retrieve(ids, False, False)}


def read_batch(body: Node, schema: Schema) -> list[Change]:
    """Return the changes of `POST /points/batch`, all of them checked."""
    changes = []
    for operation in body.object("operations").need("operations").items():
        members = operation.members()
        name = next(iter(members), "")
        if len(members) != 1 or name not in OPERATIONS:
            raise operation.refuse(f"an operation is an object with one of: {', '.join(OPERATIONS)}")
        changes.append(OPERATIONS[name](members[name], schema))
    return changes


def read_upsert(body: Node, schema: Schema) -> Change:
    """Return the change of `PUT /points`: a list of points, or columns of ids, vectors and payloads."""
    body.object("points", "batch", "shard_key", "update_filter", "update_mode")
    _refuse_shard_key(body)
    condition, mode_node = optional_filter(body, "update_filter"), body.get("update_mode")
    mode = None if mode_node is None else mode_node.choice(_MODES)
    points = _columns(body.need("batch"), schema) if body.has("batch") else _rows(body.need("points"), schema)
    if not points:
        raise wrong_input("Empty update request")
    return Change(
        [(identifier, UpdateOperation.upsert_points([point], condition, mode)) for identifier, point in points]
    )


def _rows(node: Node, schema: Schema) -> list[tuple[PointId, Point]]:
    points: list[tuple[PointId, Point]] = []
    for item in node.items():
        item.object("id", "vector", "payload")
        identifier = point_id(item.need("id"))
        content = item.get("payload")
        vectors = point_vectors(item.need("vector"), schema)
        points.append((identifier, Point(identifier, vectors, None if content is None else payload(content))))
    return points


def _columns(node: Node, schema: Schema) -> list[tuple[PointId, Point]]:
    node.object("ids", "vectors", "payloads")
    ids, vectors, payloads = point_ids(node.need("ids")), node.need("vectors"), node.get("payloads")
    if vectors.is_object():
        columns = {name: column.items() for name, column in vectors.members().items()}
        lengths = {len(column) for column in columns.values()}
    else:
        columns, lengths = {"": vectors.items()}, {len(vectors.items())}
    contents = None if payloads is None else payloads.items()
    if contents is not None:
        lengths.add(len(contents))
    if not lengths <= {len(ids)}:
        raise wrong_input(f"a batch of {len(ids)} ids has columns of another length: {sorted(lengths)}")
    points: list[tuple[PointId, Point]] = []
    for index, identifier in enumerate(ids):
        row: dict[str, Any] = {}
        for name, column in columns.items():
            if column[index].value is not None:
                row |= _named(name, column[index], schema)
        content = None if contents is None or contents[index].value is None else payload(contents[index])
        points.append((identifier, Point(identifier, row, content)))
    return points


def _named(name: str, node: Node, schema: Schema) -> dict[str, Any]:
    if name == "":
        return {"": point_vectors(node, schema)}
    wrapped = type(node)({name: node.value}, node.where)
    vectors = point_vectors(wrapped, schema)
    return vectors if isinstance(vectors, dict) else {}


def read_delete(body: Node, _schema: Schema) -> Change:
    """Return the change of `POST /points/delete`; points that don't exist are no error."""
    body.object("points", "filter", "shard_key")
    return _selected(body, UpdateOperation.delete_points, UpdateOperation.delete_points_by_filter, needs_points=False)


def read_set_payload(body: Node, _schema: Schema) -> Change:
    """Return the change of `POST /points/payload`."""
    content, key = _payload_and_key(body)
    return _selected(
        body,
        lambda ids: UpdateOperation.set_payload(ids, content, key),
        lambda found: UpdateOperation.set_payload_by_filter(found, content, key),
    )


def read_overwrite_payload(body: Node, _schema: Schema) -> Change:
    """Return the change of `PUT /points/payload`."""
    content, key = _payload_and_key(body)
    return _selected(
        body,
        lambda ids: UpdateOperation.overwrite_payload(ids, content, key),
        lambda found: UpdateOperation.overwrite_payload_by_filter(found, content, key),
    )


def _payload_and_key(body: Node) -> tuple[dict[str, Any], str | None]:
    body.object("payload", "points", "filter", "shard_key", "key")
    key_node = body.get("key")
    key = None if key_node is None else key_node.text()
    if key is not None and key.count(".") + key.count("[") >= _KEY_DEPTH_LIMIT:
        raise wrong_input(f"the key has more than {_KEY_DEPTH_LIMIT} steps")
    return payload(body.need("payload")), key


def read_delete_payload(body: Node, _schema: Schema) -> Change:
    """Return the change of `POST /points/payload/delete`."""
    keys = body.object("keys", "points", "filter", "shard_key").need("keys").texts()
    return _selected(
        body,
        lambda ids: UpdateOperation.delete_payload(ids, keys),
        lambda found: UpdateOperation.delete_payload_by_filter(found, keys),
    )


def read_clear_payload(body: Node, _schema: Schema) -> Change:
    """Return the change of `POST /points/payload/clear`."""
    body.object("points", "filter", "shard_key")
    return _selected(body, UpdateOperation.clear_payload, UpdateOperation.clear_payload_by_filter)


def read_update_vectors(body: Node, schema: Schema) -> Change:
    """Return the change of `PUT /points/vectors`."""
    body.object("points", "shard_key", "update_filter")
    _refuse_shard_key(body)
    condition = optional_filter(body, "update_filter")
    operations: list[tuple[PointId, UpdateOperation]] = []
    for item in body.need("points").items():
        identifier = point_id(item.object("id", "vector").need("id"))
        vectors = PointVectors(identifier, point_vectors(item.need("vector"), schema))
        operations.append((identifier, UpdateOperation.update_vectors([vectors], condition)))
    if not operations:
        raise wrong_input("must specify points to update")
    return Change(operations, needs_points=True)


def read_delete_vectors(body: Node, schema: Schema) -> Change:
    """Return the change of `POST /points/vectors/delete`."""
    names = body.object("points", "filter", "vector", "shard_key").need("vector").texts()
    if not names:
        raise wrong_input("must specify vector names to delete")
    for name in names:
        schema.check_name(name)
    return _selected(
        body,
        lambda ids: UpdateOperation.delete_vectors(ids, names),
        lambda found: UpdateOperation.delete_vectors_by_filter(found, names),
    )


def _refuse_shard_key(body: Node) -> None:
    if body.has("shard_key"):
        raise not_served("shard keys")


def _selected(body: Node, by_ids: ByIds, by_filter: ByFilter, *, needs_points: bool = True) -> Change:
    _refuse_shard_key(body)
    points, condition = body.get("points"), body.get("filter")
    if points is None and condition is None:
        raise wrong_input("No filter or points provided")
    if points is not None and condition is not None:
        raise wrong_input("either points or a filter, not both")
    try:
        if condition is not None:
            return Change([], by_filter(read_filter(condition)))
        ids = point_ids(body.need("points"))
        if not ids:
            raise wrong_input("Empty update request")
        return Change([(identifier, by_ids([identifier])) for identifier in ids], needs_points=needs_points)
    except (ValueError, TypeError) as error:
        raise translated(error) from error


OPERATIONS: dict[str, Callable[[Node, Schema], Change]] = {
    "upsert": read_upsert,
    "delete": read_delete,
    "set_payload": read_set_payload,
    "overwrite_payload": read_overwrite_payload,
    "delete_payload": read_delete_payload,
    "clear_payload": read_clear_payload,
    "update_vectors": read_update_vectors,
    "delete_vectors": read_delete_vectors,
}
