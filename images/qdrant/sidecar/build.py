"""The command `build`: makes an index archive from a points file, the same bytes from the same points."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile

from qdrant_edge import CountRequest, EdgeShard, Point, UpdateOperation

from sidecar import archive, index
from sidecar.canonical import logical_digest
from sidecar.collection import SHARD, Collection
from sidecar.creation import read_creation
from sidecar.options import Option, read_options
from sidecar.points_file import PointsFile, floats, read_points
from sidecar.reading import Node
from sidecar.refusal import FatalError
from sidecar.server import say
from sidecar.store import COLLECTIONS, remove_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sidecar.reading import Json

OPTIONS = [
    Option("points", "points file to read"),
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

    Raises:
        FatalError: when the engine didn't keep every point in one segment.
    """
    directory = os.path.join(folder, COLLECTIONS, source.collection)
    body: Json = {"vectors": {"size": source.dimension, "distance": source.distance}}
    collection = Collection.create(directory, read_creation(Node(body, ""), with_log=False))
    for identifier, vector, payload in source.points:
        point = Point(identifier, list(floats(vector)), json.loads(payload))
        collection.update(UpdateOperation.upsert_points([point]))
    collection.close()
    _settle(directory, len(source.points))
    description: dict[str, Json] = {
        "format": index.FORMAT,
        "version": index.VERSION,
        "collection": source.collection,
        "points": len(source.points),
        "dimension": source.dimension,
        "distance": source.distance,
        "logical_digest": logical_digest(source.points),
    }
    with open(os.path.join(folder, index.DESCRIPTION), "w", encoding="utf-8") as file:
        json.dump(description, file, sort_keys=True)
        file.write("\n")
    return description


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
