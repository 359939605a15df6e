"""Point ids, vectors and payloads of requests, checked before the engine sees them.

The engine writes an operation to its log first and looks at it afterwards: what is wrong must not get that far. It
takes NaN for a vector, and a payload that nests more deeply than its own decoder reads makes a shard unreadable for
good.
"""

from __future__ import annotations

import math
import re

from qdrant_edge import SparseVector

from sidecar.refusal import not_served, wrong_input

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from sidecar.reading import Json, Node

    PointId: TypeAlias = "int | str"
    Dense: TypeAlias = "list[float]"
    AnyVector: TypeAlias = "list[float] | list[list[float]] | SparseVector"
    Vectors: TypeAlias = "list[float] | list[list[float]] | dict[str, AnyVector]"

UINT64_MAX = 2**64 - 1
UINT32_MAX = 2**32 - 1
# The square of a distance between two vectors of this length still fits into a float32.
NORM_LIMIT = 9.0e18
# serde_json, the engine's payload decoder, stops at 128 levels; a payload key may add some.
PAYLOAD_DEPTH_LIMIT = 64

_UUID = re.compile(r"[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}")


class VectorSpec:
    """What a named dense vector of a collection must look like."""

    __slots__ = ("distance", "is_multi", "size")

    def __init__(self, size: int, distance: str, *, is_multi: bool) -> None:
        """Hold the number of dimensions, the distance's REST name, and whether a point has several such vectors."""
        self.size = size
        self.distance = distance
        self.is_multi = is_multi


class Schema:
    """The vectors that points of one collection may have."""

    __slots__ = ("dense", "sparse")

    def __init__(self, dense: dict[str, VectorSpec], sparse: set[str]) -> None:
        """Hold the dense vectors by name ("" is the unnamed one) and the names of sparse vectors."""
        self.dense = dense
        self.sparse = sparse

    def check_name(self, name: str) -> None:
        """Accept a vector name that exists.

        Raises:
            Refused: with 400, for any other.
        """
        if name not in self.dense and name not in self.sparse:
            raise wrong_input(f"Not existing vector name error: {name}")


def point_id(node: Node) -> PointId:
    """Return a point id: an unsigned 64-bit integer, or a UUID in its hyphenated lower-case form.

    Raises:
        Refused: with 400, for anything else.
    """
    value = node.value
    if type(value) is int and 0 <= value <= UINT64_MAX:
        return value
    if isinstance(value, str):
        identifier = canonical_uuid(value)
        if identifier is not None:
            return identifier
    shown = str(value)[:80]
    raise node.refuse(f"value {shown} is not a valid point ID, valid values are either an unsigned integer or a UUID")


def canonical_uuid(text: str) -> str | None:
    """Return the hyphenated lower-case form of a UUID, or None when `text` isn't one."""
    bare = text.removeprefix("urn:uuid:")
    if bare.startswith("{") and bare.endswith("}"):
        bare = bare[1:-1]
    if not _UUID.fullmatch(bare):
        return None
    digits = bare.replace("-", "").lower()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def point_ids(node: Node) -> list[PointId]:
    """Return the ids of a list."""
    return [point_id(item) for item in node.items()]


def floats(node: Node) -> Dense:
    """Return a non-empty list of numbers that float32 arithmetic can hold."""
    value = node.value
    if not isinstance(value, list) or not value or not set(map(type, value)) <= {int, float}:
        raise node.refuse("a non-empty list of numbers is expected")
    numbers: list[float] = value  # type: ignore[assignment]
    try:
        norm = math.hypot(*numbers)
    except OverflowError:
        norm = math.inf
    if not norm <= NORM_LIMIT:
        raise wrong_input(f"{node.where}: the vector is too large for float32 arithmetic")
    return numbers


def sparse(node: Node) -> SparseVector:
    """Return a sparse vector: as many distinct 32-bit indices as finite values."""
    node.object("indices", "values")
    indices = [item.integer(0, UINT32_MAX) for item in node.need("indices").items()]
    values_node = node.need("values")
    values = floats(values_node) if values_node.value else []
    if len(indices) != len(values):
        raise wrong_input(f"{node.where}: {len(indices)} indices, but {len(values)} values")
    if len(set(indices)) != len(indices):
        raise wrong_input(f"{node.where}: indices must be unique")
    return SparseVector(indices, values)


def _check_size(where: str, vector: Dense, size: int) -> Dense:
    if len(vector) != size:
        raise wrong_input(f"Vector dimension error: expected dim: {size}, got {len(vector)} (at {where})")
    return vector


def named_vector(node: Node, name: str, schema: Schema) -> AnyVector:
    """Return one vector that fits `name` of `schema`.

    Raises:
        Refused: with 400, when there is no such name, or the vector is of another kind or size.
    """
    schema.check_name(name)
    if node.has("text") or node.has("image") or node.has("object") or node.has("model"):
        raise not_served("inference: send vectors, not documents")
    if name in schema.sparse:
        if not node.is_object():
            raise wrong_input(f"Wrong usage of sparse vectors: `{name}` needs indices and values")
        return sparse(node)
    if node.is_object():
        raise wrong_input(f"Wrong usage of sparse vectors: `{name}` is dense")
    spec = schema.dense[name]
    # A node for each number would cost more than everything else that is done with an upsert.
    is_rows = isinstance(node.value, list) and bool(node.value) and isinstance(node.value[0], list)
    if is_rows and not spec.is_multi:
        raise wrong_input(f"Wrong usage of multi vectors: `{name}` holds one vector a point")
    if spec.is_multi:
        return [_check_size(row.where, floats(row), spec.size) for row in (node.items() if is_rows else [node])]
    return _check_size(node.where, floats(node), spec.size)


def point_vectors(node: Node, schema: Schema) -> Vectors:
    """Return all vectors of one point: an unnamed one as it is, named ones by name."""
    if node.is_object():
        if node.has("text") or node.has("model"):
            raise not_served("inference: send vectors, not documents")
        return {name: named_vector(member, name, schema) for name, member in node.members().items()}
    if "" not in schema.dense:
        raise wrong_input("Not existing vector name error: ")
    return named_vector(node, "", schema)  # type: ignore[return-value]


def payload(node: Node, extra_depth: int = 0) -> dict[str, Json]:
    """Return a payload that the engine can store and read again.

    Raises:
        Refused: with 400, when it is too deep, or holds a number or text that isn't representable.
    """
    if not isinstance(node.value, dict):
        raise node.refuse("an object is expected")
    _check_payload(node, node.value, extra_depth + 1)
    return node.value


def _check_payload(node: Node, value: Json, depth: int) -> None:
    if depth > PAYLOAD_DEPTH_LIMIT:
        raise node.refuse(f"a payload of more than {PAYLOAD_DEPTH_LIMIT} levels")
    if isinstance(value, dict):
        for key in value:
            type(node)(key, node.where).text()
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            _check_payload(node, item, depth + 1 if isinstance(item, dict | list) else depth)
    elif isinstance(value, str):
        type(node)(value, node.where).text()
    elif isinstance(value, float):
        type(node)(value, node.where).number()
    elif isinstance(value, int) and not -(2**63) <= value <= UINT64_MAX:
        raise node.refuse("an integer that needs more than 64 bits")
