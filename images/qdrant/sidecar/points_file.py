"""Reads a points file (`pairbench/points` 1): a header line, then one point a line, all checked."""

from __future__ import annotations

import base64
import binascii
import math
import sys
from array import array

from sidecar.canonical import canonical_json
from sidecar.creation import DIMENSION_LIMIT, DISTANCES
from sidecar.reading import parse
from sidecar.refusal import FatalError, Refused
from sidecar.store import check_name
from sidecar.vectors import NORM_LIMIT, UINT64_MAX, payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sidecar.reading import Node

FORMAT, VERSION = "pairbench/points", 1


class PointsFile:
    """What a points file says: how a collection is made, and its points in the order of their ids."""

    __slots__ = ("collection", "dimension", "distance", "points")

    def __init__(self, collection: str, dimension: int, distance: str) -> None:
        """Hold the header; points are added to `points` as (id, little-endian float32, canonical payload)."""
        self.collection = collection
        self.dimension = dimension
        self.distance = distance
        self.points: list[tuple[int, bytes, bytes]] = []


def read_points(path: str) -> PointsFile:
    """Return the content of a points file.

    Raises:
        FatalError: naming the line, when anything in it is wrong.
    """
    lines: dict[int, int] = {}
    header: PointsFile | None = None
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            try:
                if header is None:
                    header = _header(parse(line))
                    continue
                identifier, vector, content = _point(parse(line), header, lines)
            except (Refused, ValueError) as error:
                message = str(error).removeprefix("Format error in JSON body: ").removeprefix("body: ")
                raise FatalError(f"{path}: line {number}: {message}") from error
            lines[identifier] = number
            header.points.append((identifier, vector, content))
    if header is None:
        raise FatalError(f"{path}: line 1: the header is missing")
    header.points.sort(key=lambda point: point[0])
    return header


def floats(vector: bytes) -> array[float]:
    """Return the numbers of a vector that is stored as little-endian float32."""
    numbers = array("f", vector)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _header(node: Node) -> PointsFile:
    node.object("format", "version", "collection", "dimension", "distance")
    if node.need("format").text() != FORMAT or node.need("version").integer() != VERSION:
        raise ValueError(f"not the header of a {FORMAT} of version {VERSION}")
    distance = node.need("distance")
    distance.choice(DISTANCES)
    collection = node.need("collection").text()
    check_name(collection)
    return PointsFile(collection, node.need("dimension").integer(1, DIMENSION_LIMIT), distance.text())


def _point(node: Node, header: PointsFile, lines: dict[int, int]) -> tuple[int, bytes, bytes]:
    node.object("id", "vector", "payload")
    identifier = node.need("id").integer(0, UINT64_MAX)
    if identifier in lines:
        raise ValueError(f"the id {identifier} was given in line {lines[identifier]} already")
    try:
        vector = base64.b64decode(node.need("vector").text(), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"vector: bad base64: {error}") from error
    if len(vector) != 4 * header.dimension:
        raise ValueError(f"vector: {len(vector)} bytes, but {header.dimension} dimensions need {4 * header.dimension}")
    numbers = floats(vector)
    if not all(map(math.isfinite, numbers)):
        raise ValueError("vector: NaN or infinity")
    norm = math.hypot(*numbers)
    if norm > NORM_LIMIT:
        raise ValueError("vector: too large for float32 arithmetic")
    if norm == 0 and header.distance == "Cosine":
        raise ValueError("vector: all zeros, which has no direction for the distance Cosine")
    return identifier, vector, canonical_json(payload(node.need("payload")))
