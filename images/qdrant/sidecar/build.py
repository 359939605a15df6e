"""The command `build`: makes an index archive from a points file, the same bytes from the same points."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile

from qdrant_edge import CountRequest, EdgeShard, Point, SparseVector, UpdateOperation

from sidecar import archive, index
from sidecar.canonical import LogicalDigest
from sidecar.collection import SHARD, Collection
from sidecar.creation import read_creation
from sidecar.options import Option, read_options
from sidecar.points_file import OutOfOrderError, floats, read_points, whole_numbers
from sidecar.reading import Node
from sidecar.refusal import FatalError
from sidecar.server import say
from sidecar.store import COLLECTIONS, remove_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from sidecar import points_file
    from sidecar.points_file import PointsFile
    from sidecar.reading import Json

OPTIONS = [
    Option("points", "points file, or folder of them, to read"),
    Option("out", "index archive to write"),
]
# The engine names a segment at random and finds it by looking into the directory: a fixed name does as well.
SEGMENT = "00000000-0000-4000-8000-000000000001"


def run(arguments: list[str]) -> int:
    """Write the archive and say what is in it; return 0.

    Raises:
        FatalError: when the points file is wrong, or the engine didn't keep what it was given.
    """
    options = read_options("build", OPTIONS, arguments)
    source = read_points(options["points"])
    out = options["out"]
    folder = tempfile.mkdtemp(prefix=".index-", dir=os.path.dirname(os.path.abspath(out)))
    try:
        description = build_index(source, folder)
        digest, size = _write(folder, out)
    finally:
        remove_tree(folder)
    say({"event": "built", **description, "archive_sha256": digest, "archive_bytes": size})
    return 0


def build_index(source: PointsFile, folder: str) -> dict[str, Json]:
    """Make an index in an empty `folder`; return its description.

    Points in the order of their ids are read once; otherwise what was made of them is thrown away and made in order.

    Raises:
        FatalError: when the points are wrong, or the engine didn't keep every one in one segment.
    """
    directory = os.path.join(folder, COLLECTIONS, source.collection)
    try:
        points, digest = _fill(source, source.in_order(), directory)
    except OutOfOrderError:
        remove_tree(directory)
        points, digest = _fill(source, source.by_id(), directory)
    _settle(directory, points)
    description: dict[str, Json] = {
        "format": index.FORMAT,
        "version": index.VERSION,
        "collection": source.collection,
        "points": points,
        "dimension": source.dimension,
        "distance": source.distance,
        "logical_digest": digest,
    }
    if source.sparse:
        description["sparse"] = source.sparse
    with open(os.path.join(folder, index.DESCRIPTION), "w", encoding="utf-8") as file:
        json.dump(description, file, sort_keys=True)
        file.write("\n")
    return description


def _fill(source: PointsFile, points: Iterator[points_file.Point], directory: str) -> tuple[int, str]:
    """Make the collection of `points`; return their number and the digest over them."""
    body: dict[str, Json] = {"vectors": {"size": source.dimension, "distance": source.distance}}
    if source.sparse:
        body["sparse_vectors"] = source.sparse
    collection = Collection.create(directory, read_creation(Node(body, ""), with_log=False))
    digest = LogicalDigest(source.sparse)
    count = 0
    try:
        for point in points:
            digest.add(
                point.identifier, point.vector, point.payload, *(part for two in point.sparse.values() for part in two)
            )
            collection.update(UpdateOperation.upsert_points([_written(point)]))
            count += 1
    finally:
        collection.close()
    return count, digest.text()


def _written(point: points_file.Point) -> Point:
    """Return the point as the engine takes it; a sparse vector without terms is none."""
    vector: Any = list(floats(point.vector))
    if point.sparse:
        named = {
            name: SparseVector(list(whole_numbers(indices)), list(floats(values)))
            for name, (indices, values) in point.sparse.items()
            if indices
        }
        vector = {"": vector, **named}
    return Point(point.identifier, vector, json.loads(point.payload))


def _settle(directory: str, points: int) -> None:
    """Bring the files into the one form that the points determine: without the engine's journal, with a fixed name."""
    shard_directory = os.path.join(directory, SHARD)
    shard = EdgeShard.load(shard_directory)  # opening works the journal, whose order is random, into the files
    kept = shard.count(CountRequest(exact=True))
    shard.flush()
    shard.close()
    segments = os.listdir(os.path.join(shard_directory, "segments"))
    if kept != points or len(segments) != 1:
        raise FatalError(f"the engine kept {kept} of {points} points in {len(segments)} segments")
    os.rename(
        os.path.join(shard_directory, "segments", segments[0]), os.path.join(shard_directory, "segments", SEGMENT)
    )


def _write(folder: str, out: str) -> tuple[str, int]:
    """Put the archive in place, whole or not at all; return its digest and size."""
    partial = out + ".new"
    with open(partial, "w+b") as file:
        archive.write_tree(folder, file)
        file.flush()
        os.fsync(file.fileno())
        file.seek(0)
        digest = hashlib.sha256()
        while chunk := file.read(1 << 20):
            digest.update(chunk)
        size = file.tell()
    os.replace(partial, out)
    return f"sha256:{digest.hexdigest()}", size
