"""Answers the requests that read points: query, batch, groups, scroll, count, facet, look-up."""

from __future__ import annotations

from qdrant_edge import (
    CountRequest,
    FacetRequest,
    IdfParams,
    PayloadSelector,
    Prefetch,
    QueryRequest,
    ScrollRequest,
    SearchParams,
)

from sidecar import rendering
from sidecar.collection import translated
from sidecar.filters import optional_filter, read_filter
from sidecar.reading import Node
from sidecar.refusal import not_served, wrong_input
from sidecar.scoring import Sources, order_by, read_query
from sidecar.vectors import point_id, point_ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from qdrant_edge import Filter, ScoringQueryType

    from sidecar.collection import Collection
    from sidecar.store import Store

DEFAULT_LIMIT = 10
PREFETCH_DEPTH_LIMIT = 8

_SOURCE_KEYS = (
    "shard_key",
    "prefetch",
    "query",
    "using",
    "filter",
    "params",
    "score_threshold",
    "limit",
    "lookup_from",
)
_SHAPE_KEYS = ("with_vector", "with_payload")


def with_payload(owner: Node, *, default: bool) -> Any:
    """Return which parts of a payload to show, in the engine's terms."""
    node = owner.get("with_payload")
    if node is None:
        return default
    if node.is_list():
        return node.texts()
    if not node.is_object():
        return node.flag()
    if node.has("include"):
        return PayloadSelector.Include(node.object("include").need("include").texts())
    return PayloadSelector.Exclude(node.object("exclude").need("exclude").texts())


def with_vector(owner: Node, collection: Collection) -> Any:
    """Return which vectors to show: a flag, or names that the collection has."""
    node = owner.get("with_vector")
    if node is None:
        return False
    if not node.is_list():
        return node.flag()
    names = node.texts()
    for name in names:
        collection.schema.check_name(name)
    return names


def query(body: Node, collection: Collection, store: Store) -> dict[str, Any]:
    """Return the answer to `POST /points/query`."""
    body.object(*_SOURCE_KEYS, *_SHAPE_KEYS, "offset")
    offset = body.get("offset")
    request = _query_request(
        body,
        collection,
        store,
        offset=0 if offset is None else offset.integer(),
        shape=(with_payload(body, default=False), with_vector(body, collection)),
    )
    return {"points": [rendering.scored(point) for point in collection.query(request)]}


def query_batch(body: Node, collection: Collection, store: Store) -> list[dict[str, Any]]:
    """Return the answer to `POST /points/query/batch`."""
    searches = body.object("searches").need("searches").items()
    return [query(search, collection, store) for search in searches]


class _Source:
    """What a query and a prefetch have in common."""

    def __init__(self, body: Node, collection: Collection, store: Store, limit: int, depth: int) -> None:
        if body.has("shard_key"):
            raise not_served("shard keys")
        prefetches = body.get("prefetch")
        self.prefetches = (
            None
            if prefetches is None
            else [_prefetch(item, collection, store, depth + 1) for item in prefetches.one_or_many()]
        )
        using, query_node = body.get("using"), body.get("query")
        sources = Sources(collection, None if using is None else using.text(), _lookup(body, store))
        self.query: ScoringQueryType | None = None if query_node is None else read_query(query_node, sources, limit)
        self.filter: Filter | None = optional_filter(body, "filter", sources.mentioned)
        threshold = body.get("score_threshold")
        self.score_threshold = None if threshold is None else threshold.number()
        self.params = _params(body.get("params"))


def _lookup(body: Node, store: Store) -> tuple[Collection, str | None] | None:
    node = body.get("lookup_from")
    if node is None:
        return None
    node.object("collection", "vector", "shard_key")
    vector = node.get("vector")
    return store.collection(node.need("collection").text()), None if vector is None else vector.text()


def _params(node: Node | None) -> SearchParams:
    """Return parameters that make the search exact, whatever graph settings the request has."""
    if node is None:
        return SearchParams(exact=True)
    node.object("hnsw_ef", "exact", "quantization", "indexed_only", "acorn", "idf")
    idf = node.get("idf")
    if idf is None or not idf.is_object():
        return SearchParams(exact=True)
    return SearchParams(exact=True, idf=IdfParams(read_filter(idf.object("corpus").need("corpus"))))


def _limit(body: Node, collection: Collection) -> int:
    node = body.get("limit")
    return DEFAULT_LIMIT if node is None else collection.at_most_all(node.integer(1))


def _prefetch(body: Node, collection: Collection, store: Store, depth: int) -> Prefetch:
    if depth > PREFETCH_DEPTH_LIMIT:
        raise body.refuse(f"prefetches nest more than {PREFETCH_DEPTH_LIMIT} levels")
    body.object(*_SOURCE_KEYS)
    limit = _limit(body, collection)
    source = _Source(body, collection, store, limit, depth)
    return Prefetch(
        limit=limit,
        query=source.query,
        prefetches=source.prefetches,
        params=source.params,
        filter=source.filter,
        score_threshold=source.score_threshold,
    )


def _query_request(
    body: Node, collection: Collection, store: Store, *, offset: int, shape: tuple[Any, Any]
) -> QueryRequest:
    limit = _limit(body, collection)
    source = _Source(body, collection, store, limit, 0)
    return QueryRequest(
        limit=limit,
        offset=collection.at_most_all(offset),
        query=source.query,
        prefetches=source.prefetches,
        with_payload=shape[0],
        with_vector=shape[1],
        filter=source.filter,
        score_threshold=source.score_threshold,
        params=source.params,
    )


def query_groups(body: Node, collection: Collection, store: Store) -> dict[str, Any]:
    """Return the answer to `POST /points/query/groups`.

    Every point is ranked and grouped here, so the groups are exact, which the server's repeated requests only approach.
    """
    body.object(*_SOURCE_KEYS, *_SHAPE_KEYS, "group_by", "group_size", "with_lookup")
    group_by = body.need("group_by").text()
    size_node = body.get("group_size")
    size, limit = 3 if size_node is None else size_node.integer(1), _limit(body, collection)
    everything = max(1, collection.points_count())
    wide = Node(_widened(body.value, everything), body.where)
    ranked = collection.query(
        _query_request(wide, collection, store, offset=0, shape=(PayloadSelector.Include([group_by]), False))
    )
    groups: dict[tuple[type, Any], list[dict[str, Any]]] = {}
    for point in ranked:
        for value in _group_values(point.payload, group_by):
            hits = groups.setdefault((type(value), value), [])
            if len(hits) < size:
                hits.append({"id": rendering.point_id(point.id), "version": point.version, "score": point.score})
    kept = list(groups.items())[:limit]
    ids = [hit["id"] for _, hits in kept for hit in hits]
    found = collection.retrieve(ids, with_payload(body, default=False), with_vector(body, collection))
    shown = {entry["id"]: entry for entry in map(rendering.record, found)}
    answer = [
        {"id": key[1], "hits": [{**shown[hit["id"]], **hit} for hit in hits if hit["id"] in shown]}
        for key, hits in kept
    ]
    if body.has("with_lookup"):
        _add_lookups(answer, body.need("with_lookup"), store)
    return {"groups": answer}


def _widened(value: Any, limit: int) -> Any:
    """Return a request whose limits, of its prefetches too, are `limit`."""
    if isinstance(value, list):
        return [_widened(item, limit) for item in value]
    widened = {**value, "limit": limit}
    if value.get("prefetch") is not None:
        widened["prefetch"] = _widened(value["prefetch"], limit)
    return widened


def _group_values(payload: dict[str, Any] | None, group_by: str) -> list[str | int]:
    """Return the groups that a point belongs to: none, when any of its values can't name a group."""
    values: list[Any] = [payload or {}]
    for step in group_by.replace("[]", "").split("."):
        flat = [item for value in values for item in (value if isinstance(value, list) else [value])]
        values = [item[step] for item in flat if isinstance(item, dict) and step in item]
    values = [item for value in values for item in (value if isinstance(value, list) else [value])]
    if any(type(value) not in (str, int) for value in values):
        return []
    return list(dict.fromkeys(values))


def _add_lookups(groups: list[dict[str, Any]], node: Node, store: Store) -> None:
    if node.is_text():
        other, shape = store.collection(node.text()), (True, False)
    else:
        node.object("collection", "with_payload", "with_vectors")
        other = store.collection(node.need("collection").text())
        vectors = Node({"with_vector": node.members()["with_vectors"].value}, "") if node.has("with_vectors") else node
        shape = (with_payload(node, default=True), with_vector(vectors, other))
    for group in groups:
        try:
            identifier = point_id(Node(group["id"], "id"))
        except Exception:  # a group named by a text that is no point id has nothing to look up  # noqa: S112
            continue
        for record in other.retrieve([identifier], *shape):
            group["lookup"] = rendering.record(record)


def scroll(body: Node, collection: Collection) -> dict[str, Any]:
    """Return the answer to `POST /points/scroll`."""
    body.object("shard_key", "offset", "limit", "filter", *_SHAPE_KEYS, "order_by")
    if body.has("shard_key"):
        raise not_served("shard keys")
    order, offset = body.get("order_by"), body.get("offset")
    if order is not None and offset is not None:
        raise wrong_input("Cannot use an `offset` when using `order_by`; use `order_by.start_from` and a filter")
    request = ScrollRequest(
        offset=None if offset is None else point_id(offset),
        limit=_limit(body, collection),
        filter=optional_filter(body, "filter"),
        with_payload=with_payload(body, default=True),
        with_vector=with_vector(body, collection),
        order_by=None if order is None else order_by(order),
    )
    try:
        points, after = collection.shard.scroll(request)
    except Exception as error:
        raise translated(error) from error
    next_offset = None if after is None else rendering.point_id(after)
    return {"points": [rendering.record(point) for point in points], "next_page_offset": next_offset}


def count(body: Node, collection: Collection) -> dict[str, Any]:
    """Return the answer to `POST /points/count`; the count is exact in any case."""
    body.object("shard_key", "filter", "exact")
    try:
        return {"count": collection.shard.count(CountRequest(exact=True, filter=optional_filter(body, "filter")))}
    except Exception as error:
        raise translated(error) from error


def facet(body: Node, collection: Collection) -> dict[str, Any]:
    """Return the answer to `POST /facet`; the counts are exact in any case."""
    body.object("shard_key", "key", "limit", "filter", "exact")
    limit = _limit(body, collection)
    request = FacetRequest(body.need("key").text(), limit=limit, exact=True, filter=optional_filter(body, "filter"))
    try:
        hits = collection.shard.facet(request).hits
    except Exception as error:
        raise translated(error) from error
    return {"hits": [{"value": _facet_value(hit.value), "count": hit.count} for hit in hits]}


def _facet_value(value: Any) -> bool | int | str:
    return value if isinstance(value, bool | int | str) else str(value)


def retrieve(body: Node, collection: Collection) -> list[dict[str, Any]]:
    """Return the answer to `POST /points`."""
    body.object("shard_key", "ids", *_SHAPE_KEYS)
    shape = (with_payload(body, default=True), with_vector(body, collection))
    found = collection.retrieve(point_ids(body.need("ids")), *shape)
    return [rendering.record(record) for record in found]
