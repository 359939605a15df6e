"""Reads points (`pairbench/points` 1): a header line, then one point a line, all checked, one in memory at a time.

They stand in one file, or in a folder of files that are read as one, in the order of their names.
"""

from __future__ import annotations

import base64
import binascii
import math
import os
import sys
from array import array

from sidecar.canonical import canonical_json
from sidecar.creation import DIMENSION_LIMIT, DISTANCES, MODIFIERS
from sidecar.reading import parse
from sidecar.refusal import FatalError, Refused
from sidecar.store import check_name
from sidecar.vectors import NORM_LIMIT, UINT32_MAX, UINT64_MAX, payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sidecar.reading import Json, Node

FORMAT, VERSION = "pairbench/points", 1
FLOAT32_MAX = 3.4028234663852886e38


class OutOfOrderError(Exception):
    """A point comes after one with a greater id."""


class Point:
    """A point in the form that its digest is made of: little-endian float32, canonical payload, sparse parts."""

    __slots__ = ("identifier", "payload", "sparse", "vector")

    def __init__(self, identifier: int, vector: bytes, content: bytes, sparse: dict[str, tuple[bytes, bytes]]) -> None:
        """Hold the parts; `sparse` has indices (uint32) and values (float32) for each declared name, in order."""
        self.identifier = identifier
        self.vector = vector
        self.payload = content
        self.sparse = sparse


class PointsFile:
    """What a points file says: how a collection is made, and its points."""

    __slots__ = ("_paths", "collection", "dimension", "distance", "sparse")

    def __init__(self, paths: list[str], header: Node) -> None:
        """Read the header.

        Raises:
            Refused: with what is wrong with it; ValueError too.
        """
        header.object("format", "version", "collection", "dimension", "distance", "sparse")
        if header.need("format").text() != FORMAT or header.need("version").integer() != VERSION:
            raise ValueError(f"not the header of a {FORMAT} of version {VERSION}")
        distance = header.need("distance")
        distance.choice(DISTANCES)
        self._paths = paths
        self.collection = header.need("collection").text()
        check_name(self.collection)
        self.dimension = header.need("dimension").integer(1, DIMENSION_LIMIT)
        self.distance = distance.text()
        self.sparse = _declared(header.get("sparse"))

    def in_order(self) -> Iterator[Point]:
        """Yield the points as they stand.

        Raises:
            FatalError: naming the line, when anything in it is wrong.
            OutOfOrderError: when one stands after a greater id.
        """
        last, last_place = -1, ""
        for place, _, point in self._read():
            if point.identifier < last:
                raise OutOfOrderError
            if point.identifier == last:
                raise _twice(place, last, last_place)
            last, last_place = point.identifier, place
            yield point

    def by_id(self) -> Iterator[Point]:
        """Yield the points in the order of their ids; only ids and places are in memory.

        Raises:
            FatalError: naming the line, when anything in it is wrong; before the first point.
        """
        places: dict[int, tuple[str, tuple[str, int]]] = {}
        for place, where, point in self._read():
            if point.identifier in places:
                raise _twice(place, point.identifier, places[point.identifier][0])
            places[point.identifier] = (place, where)
        opened = {path: open(path, "rb") for path in self._paths}  # noqa: SIM115 - each is closed below
        try:
            for identifier in sorted(places):
                path, offset = places[identifier][1]
                opened[path].seek(offset)
                yield self._point(parse(opened[path].readline()))
        finally:
            for file in opened.values():
                file.close()

    def _read(self) -> Iterator[tuple[str, tuple[str, int], Point]]:
        """Yield each point with its place for a person, and as path and offset."""
        for path in self._paths:
            with open(path, "rb") as file:
                offset = 0
                for number, line in enumerate(file, 1):
                    start, offset = offset, offset + len(line)
                    if path == self._paths[0] and number == 1:
                        continue
                    place = f"{path}: line {number}"
                    try:
                        point = self._point(parse(line))
                    except (Refused, ValueError) as error:
                        raise _fault(place, error) from error
                    yield place, (path, start), point

    def _point(self, node: Node) -> Point:
        node.object("id", "vector", "payload", *(["sparse"] if self.sparse else []))
        identifier = node.need("id").integer(0, UINT64_MAX)
        try:
            vector = base64.b64decode(node.need("vector").text(), validate=True)
        except (binascii.Error, ValueError) as error:
            raise ValueError(f"vector: bad base64: {error}") from error
        if len(vector) != 4 * self.dimension:
            raise ValueError(f"vector: {len(vector)} bytes, but {self.dimension} dimensions need {4 * self.dimension}")
        numbers = floats(vector)
        if not all(map(math.isfinite, numbers)):
            raise ValueError("vector: NaN or infinity")
        norm = math.hypot(*numbers)
        if norm > NORM_LIMIT:
            raise ValueError("vector: too large for float32 arithmetic")
        if norm == 0 and self.distance == "Cosine":
            raise ValueError("vector: all zeros, which has no direction for the distance Cosine")
        sparse: dict[str, tuple[bytes, bytes]] = {}
        if self.sparse:
            given = node.need("sparse").object(*self.sparse)
            sparse = {name: _sparse(given.need(name)) for name in self.sparse}
        return Point(identifier, vector, canonical_json(payload(node.need("payload"))), sparse)


def read_points(path: str) -> PointsFile:
    """Return what the file or folder `path` holds; its points are read as they are asked for.

    Raises:
        FatalError: when the header is missing or wrong.
    """
    paths = [path]
    if os.path.isdir(path):
        paths = [os.path.join(path, name) for name in sorted(os.listdir(path))]
    first = b""
    if paths:
        with open(paths[0], "rb") as file:
            first = file.readline()
    place = f"{paths[0] if paths else path}: line 1"
    if not first:
        raise FatalError(f"{place}: the header is missing")
    try:
        return PointsFile(paths, parse(first))
    except (Refused, ValueError) as error:
        raise _fault(place, error) from error


def floats(vector: bytes) -> array[float]:
    """Return the numbers of a vector that is stored as little-endian float32."""
    numbers = array("f", vector)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def whole_numbers(indices: bytes) -> array[int]:
    """Return numbers that are stored as little-endian uint32."""
    numbers = array("I", indices)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _declared(node: Node | None) -> dict[str, Json]:
    """Return the declaration of sparse vectors by name, in order; empty where there are none."""
    if node is None:
        return {}
    members = node.members()
    if not members or "" in members:
        raise node.refuse("names of sparse vectors are expected")
    for member in members.values():
        member.object("modifier").need("modifier").choice(MODIFIERS)
    return {name: members[name].value for name in sorted(members)}


def _sparse(node: Node) -> tuple[bytes, bytes]:
    """Return indices and values; both are empty for a point that hasn't got this vector."""
    node.object("indices", "values")
    indices: list[int] = _numbers(node.need("indices"), "integers", int)  # type: ignore[assignment]
    values = _numbers(node.need("values"), "numbers", int, float)
    if len(indices) != len(values):
        raise node.refuse(f"{len(indices)} indices, but {len(values)} values")
    if sorted(set(indices)) != indices:
        raise node.refuse("indices must rise")
    if indices and not 0 <= indices[0] <= indices[-1] <= UINT32_MAX:
        raise node.refuse(f"indices must be from 0 to {UINT32_MAX}")
    if not all(abs(value) <= FLOAT32_MAX for value in values):
        raise node.refuse("values: too large for float32")
    return _little_endian(array("I", indices)), _little_endian(array("f", values))


def _numbers(node: Node, expected: str, *kinds: type) -> list[float]:
    value = node.value
    if not isinstance(value, list) or not set(map(type, value)) <= set(kinds):
        raise node.refuse(f"a list of {expected} is expected")
    return value  # type: ignore[return-value]


def _little_endian(numbers: array[int] | array[float]) -> bytes:
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def _twice(place: str, identifier: int, earlier: str) -> FatalError:
    path, _, line = earlier.rpartition(": ")
    shown = line if place.startswith(f"{path}: ") else earlier
    return FatalError(f"{place}: the id {identifier} was given in {shown} already")


def _fault(place: str, error: Exception) -> FatalError:
    message = str(error).removeprefix("Format error in JSON body: ").removeprefix("body: ")
    return FatalError(f"{place}: {message}")
