"""Reads what a collection is made of: the engine's configuration, the schema to check against, and what is echoed.

Searches are exact and nothing is ever optimized, so the settings of graphs, optimizers and logs are accepted, echoed
and have no effect. What would change results without being honoured (quantization, sharding, strict mode) is refused.
"""

from __future__ import annotations

import json

from qdrant_edge import (
    Distance,
    EdgeConfig,
    EdgeSparseVectorParams,
    EdgeVectorParams,
    Modifier,
    MultiVectorComparator,
    MultiVectorConfig,
)

from sidecar.reading import Node
from sidecar.refusal import not_served, wrong_input
from sidecar.vectors import Schema, VectorSpec, payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sidecar.reading import Json

DISTANCES = {
    "Cosine": Distance.Cosine,
    "Euclid": Distance.Euclid,
    "Dot": Distance.Dot,
    "Manhattan": Distance.Manhattan,
}
COMPARATORS = {"max_sim": MultiVectorComparator.MaxSim}
MODIFIERS = {"none": None, "idf": Modifier.Idf}
DIMENSION_LIMIT = 65536

_ECHOED = ("shard_number", "replication_factor", "write_consistency_factor")
_HNSW: dict[str, Json] = {
    "m": 16,
    "ef_construct": 100,
    "full_scan_threshold": 10000,
    "max_indexing_threads": 0,
    "on_disk": False,
}
_OPTIMIZERS: dict[str, Json] = {
    "deleted_threshold": 0.2,
    "vacuum_min_vector_number": 1000,
    "default_segment_number": 0,
    "indexing_threshold": 10000,
    "flush_interval_sec": 5,
}
_WAL: dict[str, Json] = {"wal_capacity_mb": 32, "wal_segments_ahead": 0}
_CREATE_KEYS = (
    "vectors",
    *_ECHOED,
    "sharding_method",
    "on_disk_payload",
    "payload",
    "id_tracker",
    "hnsw_config",
    "wal_config",
    "optimizers_config",
    "quantization_config",
    "sparse_vectors",
    "strict_mode_config",
    "metadata",
)
_HNSW_KEYS = (*_HNSW, "payload_m", "inline_storage", "memory")
_OPTIMIZER_KEYS = (
    *_OPTIMIZERS,
    "max_segment_size",
    "memmap_threshold",
    "max_optimization_threads",
    "prevent_unoptimized",
)
_WAL_KEYS = (*_WAL, "wal_retain_closed")
_VECTOR_KEYS = (
    "size",
    "distance",
    "hnsw_config",
    "quantization_config",
    "on_disk",
    "memory",
    "datatype",
    "multivector_config",
)


class Creation:
    """What a collection is created from."""

    __slots__ = ("config", "echo", "schema")

    def __init__(self, config: EdgeConfig, schema: Schema, echo: dict[str, Json]) -> None:
        """Hold the engine's configuration, the schema, and the configuration that `GET /collections/x` shows."""
        self.config = config
        self.schema = schema
        self.echo = echo


def read_creation(body: Node, *, with_log: bool = True) -> Creation:
    """Return what the body of `PUT /collections/x` asks for; without a log, writes are safe from the next flush on.

    Raises:
        Refused: when it is malformed (400), out of range (422) or not served (501).
    """
    body.object(*_CREATE_KEYS)
    _refuse_unserved(body)
    dense = body.get("vectors")
    sparse = body.get("sparse_vectors")
    schema = read_schema(dense, sparse)
    if not schema.dense and not schema.sparse:
        raise wrong_input("a collection without vectors isn't possible here")
    config = EdgeConfig(
        vectors={name: _edge_vector(node) for name, node in _dense_nodes(dense).items()} or None,
        sparse_vectors={name: _edge_sparse(node) for name, node in _sparse_nodes(sparse).items()} or None,
        wal_enabled=with_log,
    )
    params: dict[str, Json] = {key: node.integer(1) for key in _ECHOED if (node := body.get(key)) is not None}
    params = {"shard_number": 1, "replication_factor": 1, "write_consistency_factor": 1} | params
    on_disk = body.get("on_disk_payload")
    params["on_disk_payload"] = True if on_disk is None else on_disk.flag()
    if dense is not None and dense.value:
        params["vectors"] = _without_null(dense.value)
    if sparse is not None and sparse.value:
        params["sparse_vectors"] = _without_null(sparse.value)
    echo: dict[str, Json] = {
        "params": params,
        "hnsw_config": dict(_HNSW) | _settings(body, "hnsw_config", _HNSW_KEYS),
        "optimizer_config": dict(_OPTIMIZERS) | _settings(body, "optimizers_config", _OPTIMIZER_KEYS),
        "wal_config": dict(_WAL) | _settings(body, "wal_config", _WAL_KEYS),
        "quantization_config": None,
    }
    metadata = body.get("metadata")
    if metadata is not None:
        echo["metadata"] = payload(metadata)
    return Creation(config, schema, echo)


def changed_echo(echo: dict[str, Json], body: Node) -> dict[str, Json]:
    """Return the shown configuration after `PATCH /collections/x`; nothing that is served depends on it."""
    body.object(
        "vectors",
        "optimizers_config",
        "params",
        "hnsw_config",
        "quantization_config",
        "sparse_vectors",
        "strict_mode_config",
        "metadata",
    )
    _refuse_unserved(body)
    if body.has("vectors") or body.has("sparse_vectors"):
        raise not_served("changing the settings of a vector")
    changed = Node(json.loads(json.dumps(echo)), "").members()
    merged: dict[str, Json] = {name: node.value for name, node in changed.items()}
    for key, name, known in (
        ("hnsw_config", "hnsw_config", _HNSW_KEYS),
        ("optimizers_config", "optimizer_config", _OPTIMIZER_KEYS),
        ("params", "params", ("replication_factor", "write_consistency_factor", "on_disk_payload")),
    ):
        old = merged[name]
        merged[name] = (old if isinstance(old, dict) else {}) | _settings(body, key, known)
    metadata = body.get("metadata")
    if metadata is not None:
        old = merged.get("metadata")
        merged["metadata"] = (old if isinstance(old, dict) else {}) | payload(metadata)
    return merged


def read_schema(dense: Node | None, sparse: Node | None) -> Schema:
    """Return the schema of `vectors` and `sparse_vectors` as requests and stored configurations have them."""
    specs = {name: _spec(node) for name, node in _dense_nodes(dense).items()}
    names = set(_sparse_nodes(sparse))
    for name in names & specs.keys():
        raise wrong_input(f"the vector `{name}` is declared both dense and sparse")
    return Schema(specs, names)


def read_named_vector(body: Node) -> tuple[VectorSpec | None, MultiVectorConfig | None]:
    """Return the specification of a dense vector that is added to a collection; None for the first means sparse."""
    body.object("dense", "sparse")
    if body.has("sparse"):
        _refuse_datatype(body.need("sparse").object("modifier", "datatype"))
        return None, None
    node = body.need("dense").object("size", "distance", "multivector_config", "datatype")
    _refuse_datatype(node)
    return _spec(node), _multi(node)


def read_modifier(node: Node) -> Modifier | None:
    """Return how the values of a sparse vector are weighed."""
    modifier = node.get("modifier")
    return None if modifier is None else modifier.choice(MODIFIERS)


def _refuse_unserved(body: Node) -> None:
    if body.has("quantization_config"):
        raise not_served("quantization: every search is exact")
    method = body.get("sharding_method")
    if method is not None and method.value != "auto":
        raise not_served("custom sharding")
    strict = body.get("strict_mode_config")
    if strict is not None and strict.has("enabled") and strict.need("enabled").flag():
        raise not_served("strict mode")


def _settings(body: Node, key: str, known: tuple[str, ...]) -> dict[str, Json]:
    node = body.get(key)
    if node is None:
        return {}
    node.object(*known)
    return {name: item.value for name, item in node.members().items() if item.value is not None}


def _without_null(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _without_null(item) for key, item in value.items() if item is not None}
    return value


def _dense_nodes(node: Node | None) -> dict[str, Node]:
    if node is None:
        return {}
    return {"": node} if node.has("size") and not node.need("size").is_object() else node.members()


def _sparse_nodes(node: Node | None) -> dict[str, Node]:
    return {} if node is None else node.members()


def _spec(node: Node) -> VectorSpec:
    size = node.need("size").integer(1, DIMENSION_LIMIT)
    distance = node.need("distance")
    distance.choice(DISTANCES)
    return VectorSpec(size, distance.text(), is_multi=node.has("multivector_config"))


def _multi(node: Node) -> MultiVectorConfig | None:
    multi = node.get("multivector_config")
    if multi is None:
        return None
    return MultiVectorConfig(multi.object("comparator").need("comparator").choice(COMPARATORS))


def _refuse_datatype(node: Node) -> None:
    datatype = node.get("datatype")
    if datatype is not None and datatype.value != "float32":
        raise not_served("vectors of another type than float32")


def _edge_vector(node: Node) -> EdgeVectorParams:
    node.object(*_VECTOR_KEYS)
    if node.has("quantization_config"):
        raise not_served("quantization: every search is exact")
    _refuse_datatype(node)
    # Vectors "on disk" aren't read ahead, holes included, when a shard is opened: 30 MB of a tmpfs and 25 ms less.
    on_disk = node.get("on_disk")
    return EdgeVectorParams(
        size=node.need("size").integer(1, DIMENSION_LIMIT),
        distance=node.need("distance").choice(DISTANCES),
        on_disk=True if on_disk is None else on_disk.flag(),
        multivector_config=_multi(node),
    )


def _edge_sparse(node: Node) -> EdgeSparseVectorParams:
    node.object("index", "modifier")
    index = node.get("index")
    if index is not None:
        _refuse_datatype(index.object("full_scan_threshold", "on_disk", "memory", "datatype"))
    return EdgeSparseVectorParams(modifier=read_modifier(node))
