"""Which request is answered by what: the table of the interface, and what of Qdrant's isn't served here."""

from __future__ import annotations

from qdrant_edge import UpdateOperation

from sidecar import creation, indexes, rendering, searches, updates
from sidecar.collection import translated
from sidecar.reading import Node, parse
from sidecar.refusal import Refused, not_found, not_served, wrong_input
from sidecar.vectors import VectorSpec, point_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from sidecar.collection import Collection
    from sidecar.store import Store
    from sidecar.vectors import Schema

    Handler: TypeAlias = "Callable[[Call], Any]"

TITLE = "qdrant-edge REST shim (not the official server)"
VERSION = "1.20.0"  # the interface's, so that qdrant-client 1.19 to 1.21 work without a warning
HEALTHY = {"healthz": "healthz check passed", "livez": "healthz check passed", "readyz": "all shards are ready"}


class Call:
    """One request after the protocol: whose names in the path, which body, on what store."""

    __slots__ = ("_body", "names", "store")

    def __init__(self, store: Store, names: list[str], body: bytes) -> None:
        """Hold the store, the parts of the path that are names, and the bytes of the body."""
        self.store = store
        self.names = names
        self._body = body

    def body(self) -> Node:
        """Return the body."""
        return parse(self._body)

    def collection(self) -> Collection:
        """Return the collection that the path names."""
        return self.store.collection(self.names[0])


def answer(method: str, segments: list[str], body: bytes, store: Store) -> Any:
    """Return the `result` of a request.

    Raises:
        Refused: whatever can't be answered otherwise.
    """
    allowed = []
    for route_method, pattern, handler in _ROUTES.get(len(segments), ()):
        if all(want in ("*", got) for want, got in zip(pattern, segments, strict=True)):
            if route_method == method:
                names = [got for want, got in zip(pattern, segments, strict=True) if want == "*"]
                return handler(Call(store, names, body))
            allowed.append(route_method)
    what = _unserved(segments)
    if what is not None:
        raise not_served(what)
    if allowed:
        raise Refused(405, f"Method {method} is not allowed here, only: {', '.join(allowed)}")
    raise not_found("no such endpoint")


def returned(segments: list[str], result: Any) -> list[int | str] | None:
    """Return the ids of the points that a search found, best first; None for an answer to anything else."""
    if len(segments) < 4 or segments[0] != "collections" or segments[2:4] != ["points", "query"]:
        return None
    match segments[4:]:
        case []:
            return [point["id"] for point in result["points"]]
        case ["batch"]:
            return [point["id"] for one in result for point in one["points"]]
        case _:
            return [point["id"] for group in result["groups"] for point in group["hits"]]


def _unserved(segments: list[str]) -> str | None:
    head = segments[0] if segments else ""
    if head in _UNSERVED_ROOTS:
        return _UNSERVED_ROOTS[head]
    if head == "collections" and len(segments) > 2:
        return next((what for part, what in _UNSERVED_PARTS.items() if part in segments[2:]), None)
    return None


_UNSERVED_ROOTS = {
    "snapshots": "snapshots",
    "cluster": "clusters",
    "telemetry": "telemetry",
    "metrics": "metrics",
    "issues": "issues",
    "locks": "locks",
    "quotas": "quotas",
    "dashboard": "the web interface",
}
_UNSERVED_PARTS = {
    "snapshots": "snapshots",
    "snapshot": "snapshots",
    "shards": "shards",
    "cluster": "clusters",
    "aliases": "changing aliases",
    "optimizations": "optimizations: nothing is ever optimized",
    "matrix": "the distance matrix",
    "search": "the search interface before 1.16: use points/query",
    "recommend": "the recommend interface before 1.16: use points/query",
    "discover": "the discover interface before 1.16: use points/query",
}


def _version(_call: Call) -> dict[str, str]:
    return {"title": TITLE, "version": VERSION}


def _list(call: Call) -> dict[str, Any]:
    return {"collections": [{"name": name} for name in call.store.names()]}


def _create(call: Call) -> bool:
    call.store.create(call.names[0], creation.read_creation(call.body()))
    return True


def _patch(call: Call) -> bool:
    collection = call.collection()
    echo = collection.meta["config"]
    body = call.body()
    with call.store.writing:
        collection.meta["config"] = creation.changed_echo(echo if isinstance(echo, dict) else {}, body)
        collection.save_meta()
    return True


def _exists(call: Call) -> dict[str, bool]:
    return {"exists": call.store.has(call.names[0])}


def _no_aliases(_call: Call) -> dict[str, list[str]]:
    return {"aliases": []}


def _no_aliases_of(call: Call) -> dict[str, list[str]]:
    call.collection()
    return {"aliases": []}


def _refuse_aliases(_call: Call) -> None:
    raise not_served("changing aliases")


def _create_index(call: Call) -> dict[str, Any]:
    collection = call.collection()
    body = call.body().object("field_name", "field_schema")
    field, schema_node = body.need("field_name").text(), body.need("field_schema")
    try:
        operation = UpdateOperation.create_field_index(field, indexes.read_schema(schema_node))
    except (ValueError, TypeError) as error:
        raise translated(error) from error
    return _change_index(call, collection, operation, field, schema_node.value)


def _delete_index(call: Call) -> dict[str, Any]:
    try:
        operation = UpdateOperation.delete_field_index(call.names[1])
    except (ValueError, TypeError) as error:
        raise translated(error) from error
    return _change_index(call, call.collection(), operation, call.names[1], None)


def _change_index(
    call: Call, collection: Collection, operation: UpdateOperation, field: str, shown: Any
) -> dict[str, Any]:
    with call.store.writing:
        collection.update(operation)
        stored = Node(collection.meta, "").need("indexes").members()
        kept = {name: node.value for name, node in stored.items() if name != field}
        collection.meta["indexes"] = kept if shown is None else {**kept, field: shown}
        collection.save_meta()
    return {"operation_id": collection.operations, "status": "completed"}


def _create_vector(call: Call) -> dict[str, Any]:
    collection, name, body = call.collection(), call.names[1], call.body()
    spec, multi = creation.read_named_vector(body)
    schema = collection.schema
    with call.store.writing:
        if spec is None:
            if name in schema.dense:
                raise wrong_input(f"Vector {name} already exists as a dense vector")
            modifier = creation.read_modifier(body.need("sparse"))
            collection.update(UpdateOperation.create_sparse_vector(name, modifier))
            schema.sparse.add(name)
            _show_vector(collection, "sparse_vectors", name, body.need("sparse").value)
        else:
            _check_new_dense(schema, name, spec)
            distance = creation.DISTANCES[spec.distance]
            collection.update(UpdateOperation.create_dense_vector(name, spec.size, distance, multi))
            schema.dense[name] = spec
            _show_vector(collection, "vectors", name, body.need("dense").value)
    return {"operation_id": collection.operations, "status": "completed"}


def _check_new_dense(schema: Schema, name: str, spec: VectorSpec) -> None:
    if name in schema.sparse:
        raise wrong_input(f"Vector {name} already exists as a sparse vector")
    old = schema.dense.get(name)
    if old is not None and (old.size, old.distance, old.is_multi) != (spec.size, spec.distance, spec.is_multi):
        raise wrong_input(f"Vector {name} already exists with a different configuration")


def _delete_vector(call: Call) -> dict[str, Any]:
    collection, name = call.collection(), call.names[1]
    schema = collection.schema
    with call.store.writing:
        if name in schema.dense or name in schema.sparse:
            if len(schema.dense) + len(schema.sparse) == 1:
                raise wrong_input("the only vector of a collection can't be deleted")
            collection.update(UpdateOperation.delete_vector_name(name))
            schema.dense.pop(name, None)
            schema.sparse.discard(name)
            _show_vector(collection, "vectors", name, None)
            _show_vector(collection, "sparse_vectors", name, None)
    return {"operation_id": collection.operations, "status": "completed"}


def _show_vector(collection: Collection, key: str, name: str, value: Any) -> None:
    config = Node(collection.meta, "").need("config").members()
    params = {part: node.value for part, node in config["params"].members().items()}
    shown = params.get(key)
    known = {} if not isinstance(shown, dict) else {"": shown} if "size" in shown else shown
    kept = {other: entry for other, entry in known.items() if other != name}
    if value is not None:
        kept[name] = value
    params[key] = kept
    collection.meta["config"] = {**{part: node.value for part, node in config.items()}, "params": params}
    collection.save_meta()


def _get_point(call: Call) -> dict[str, Any]:
    text = call.names[1]
    identifier = point_id(Node(int(text) if text.isascii() and text.isdigit() and len(text) < 30 else text, "id"))
    found = call.collection().retrieve([identifier], True, True)
    if not found:
        raise not_found(f"Point with id {identifier} doesn't exist!")
    return rendering.record(found[0])


def _write(read: Callable[[Node, Schema], updates.Change]) -> Handler:
    def handle(call: Call) -> dict[str, Any]:
        collection, body = call.collection(), call.body()
        with call.store.writing:
            return updates.apply(collection, [_checked(read, body, collection)])

    return handle


def _checked(read: Callable[[Node, Schema], updates.Change], body: Node, collection: Collection) -> updates.Change:
    try:
        return read(body, collection.schema)
    except (ValueError, TypeError) as error:
        raise translated(error) from error


def _batch(call: Call) -> list[dict[str, Any]]:
    collection, body = call.collection(), call.body()
    with call.store.writing:
        try:
            changes = updates.read_batch(body, collection.schema)
        except (ValueError, TypeError) as error:
            raise translated(error) from error
        return [updates.apply(collection, [change]) for change in changes]


def _read(search: Callable[[Node, Collection], Any]) -> Handler:
    def handle(call: Call) -> Any:
        collection, body = call.collection(), call.body()
        try:
            return search(body, collection)
        except (ValueError, TypeError) as error:
            raise translated(error) from error

    return handle


def _rank(search: Callable[[Node, Collection, Store], Any]) -> Handler:
    def handle(call: Call) -> Any:
        collection, body = call.collection(), call.body()
        try:
            return search(body, collection, call.store)
        except (ValueError, TypeError) as error:
            raise translated(error) from error

    return handle


_TABLE: tuple[tuple[str, str, Handler], ...] = (
    ("GET", "", _version),
    ("GET", "collections", _list),
    ("GET", "aliases", _no_aliases),
    ("POST", "collections/aliases", _refuse_aliases),
    ("GET", "collections/*", lambda call: call.collection().shown()),
    ("PUT", "collections/*", _create),
    ("PATCH", "collections/*", _patch),
    ("DELETE", "collections/*", lambda call: call.store.delete(call.names[0])),
    ("GET", "collections/*/exists", _exists),
    ("GET", "collections/*/aliases", _no_aliases_of),
    ("PUT", "collections/*/index", _create_index),
    ("DELETE", "collections/*/index/*", _delete_index),
    ("PUT", "collections/*/vectors/*", _create_vector),
    ("DELETE", "collections/*/vectors/*", _delete_vector),
    ("POST", "collections/*/facet", _read(searches.facet)),
    ("GET", "collections/*/points/*", _get_point),
    ("POST", "collections/*/points", _read(searches.retrieve)),
    ("PUT", "collections/*/points", _write(updates.read_upsert)),
    ("POST", "collections/*/points/delete", _write(updates.read_delete)),
    ("POST", "collections/*/points/payload", _write(updates.read_set_payload)),
    ("PUT", "collections/*/points/payload", _write(updates.read_overwrite_payload)),
    ("POST", "collections/*/points/payload/delete", _write(updates.read_delete_payload)),
    ("POST", "collections/*/points/payload/clear", _write(updates.read_clear_payload)),
    ("PUT", "collections/*/points/vectors", _write(updates.read_update_vectors)),
    ("POST", "collections/*/points/vectors/delete", _write(updates.read_delete_vectors)),
    ("POST", "collections/*/points/batch", _batch),
    ("POST", "collections/*/points/query", _rank(searches.query)),
    ("POST", "collections/*/points/query/batch", _rank(searches.query_batch)),
    ("POST", "collections/*/points/query/groups", _rank(searches.query_groups)),
    ("POST", "collections/*/points/scroll", _read(searches.scroll)),
    ("POST", "collections/*/points/count", _read(searches.count)),
)


def _by_length() -> dict[int, list[tuple[str, list[str], Handler]]]:
    routes: dict[int, list[tuple[str, list[str], Handler]]] = {}
    for method, path, handler in _TABLE:
        pattern = path.split("/") if path else []
        routes.setdefault(len(pattern), []).append((method, pattern, handler))
    return routes


_ROUTES = _by_length()
