"""One collection: the engine's shard, the schema that requests are checked against, and what is shown about it.

A collection is a directory with `meta.json` (`pairbench/collection` 1), written last, beside the engine's own `shard/`.
"""

from __future__ import annotations

import json
import os

from qdrant_edge import EdgeShard

from sidecar import indexes, rendering
from sidecar.creation import Creation, read_schema
from sidecar.reading import Node
from sidecar.refusal import FatalError, Refused, not_found, wrong_input

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from qdrant_edge import QueryRequest, Record, ScoredPoint, UpdateOperation

    from sidecar.reading import Json
    from sidecar.vectors import AnyVector, PointId, Schema

FORMAT, VERSION = "pairbench/collection", 1
META = "meta.json"
SHARD = "shard"

_OURS_TO_BLAME = ("Service", "IO", "Inconsistent", "Internal")


class Collection:
    """An open collection; one lock of the store covers its writers, reads need none."""

    def __init__(self, directory: str, shard: EdgeShard, schema: Schema, meta: dict[str, Json]) -> None:
        """Hold an opened shard and what `meta.json` says."""
        self.directory = directory
        self.shard = shard
        self.schema = schema
        self.meta = meta
        self.operations = 0
        self.stopping = False

    @classmethod
    def create(cls, directory: str, creation: Creation) -> Collection:
        """Return a new, empty collection that is on disk below `directory`."""
        os.makedirs(os.path.join(directory, SHARD))
        shard = EdgeShard.create(os.path.join(directory, SHARD), creation.config)
        meta: dict[str, Json] = {"format": FORMAT, "version": VERSION, "config": creation.echo, "indexes": {}}
        collection = cls(directory, shard, creation.schema, meta)
        collection.save_meta()
        return collection

    @classmethod
    def load(cls, directory: str) -> Collection:
        """Return the collection that is on disk below `directory`.

        Raises:
            FatalError: when its description or its shard can't be read.
        """
        try:
            with open(os.path.join(directory, META), encoding="utf-8") as file:
                meta = Node(json.load(file), META)
            meta.need("format").choice({FORMAT: True})
            meta.need("version").integer(VERSION, VERSION)
            params = meta.need("config").need("params")
            schema = read_schema(params.get("vectors"), params.get("sparse_vectors"))
            shard = EdgeShard.load(os.path.join(directory, SHARD))
        except Exception as error:
            raise FatalError(f"{directory}: the collection can't be opened: {error}") from error
        return cls(directory, shard, schema, {name: node.value for name, node in meta.members().items()})

    def save_meta(self) -> None:
        """Put what is shown about the collection on disk, whole or not at all."""
        path = os.path.join(self.directory, META)
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(self.meta, file, ensure_ascii=False, sort_keys=True)
            file.flush()
            os.fsync(file.fileno())
        os.replace(path + ".new", path)

    def close(self) -> None:
        """Put everything on disk and give the files back."""
        self.shard.flush()
        self.shard.close()

    def points_count(self) -> int:
        """Return the number of points."""
        return self.shard.info().points_count

    def at_most_all(self, wanted: int) -> int:
        """Return `wanted`, or the number of points where fewer than that would be asked for in vain."""
        return wanted if wanted <= 1000 else min(wanted, max(1000, self.points_count()))

    def update(self, operation: UpdateOperation) -> None:
        """Apply one checked operation.

        Raises:
            Refused: when the engine doesn't take it, or the sidecar is about to end.
        """
        if self.stopping:
            raise Refused(503, "Service unavailable: the sidecar is stopping")
        self.operations += 1
        try:
            self.shard.update(operation)
        except Exception as error:
            raise translated(error) from error

    def query(self, request: QueryRequest) -> list[ScoredPoint]:
        """Return the ranked points.

        Raises:
            Refused: when the engine doesn't take the request.
        """
        try:
            return self.shard.query(request)
        except Exception as error:
            raise translated(error) from error

    def retrieve(self, ids: list[PointId], with_payload: Any, with_vector: Any) -> list[Record]:
        """Return the points that exist, in the order in which they were asked for."""
        wanted = list(dict.fromkeys(ids))
        if not wanted:
            return []
        try:
            found = self.shard.retrieve(wanted, with_payload, with_vector)  # type: ignore[arg-type]
        except Exception as error:
            raise translated(error) from error
        by_id = {rendering.point_id(record.id): record for record in found}
        return [by_id[identifier] for identifier in wanted if identifier in by_id]

    def vector_of(self, identifier: PointId, name: str) -> AnyVector:
        """Return the stored vector `name` of a point.

        Raises:
            Refused: with 404, when there is no such point, or it lacks that vector.
        """
        self.schema.check_name(name)
        found = self.retrieve([identifier], False, [name])
        if not found:
            raise not_found(f"No point with id {identifier} found")
        vector: Any = found[0].vector
        if isinstance(vector, dict):
            vector = vector.get(name)
        if vector is None:
            raise not_found(f"Vector with name {name} for point {identifier} not found")
        return vector  # type: ignore[no-any-return]

    def shown(self) -> dict[str, Any]:
        """Return what `GET /collections/x` answers."""
        info = self.shard.info()
        params = Node(self.meta, "").need("indexes").members()
        payload_schema = {}
        for field, index in sorted(info.payload_schema.items()):
            entry: dict[str, Any] = {"data_type": indexes.type_name(index.data_type), "points": index.points}
            if field in params and params[field].is_object():
                entry["params"] = params[field].value
            payload_schema[field] = entry
        return {
            "status": "green",
            "optimizer_status": "ok",
            "indexed_vectors_count": info.indexed_vectors_count,
            "points_count": info.points_count,
            "segments_count": info.segments_count,
            "config": self.meta["config"],
            "payload_schema": payload_schema,
        }


def translated(error: Exception) -> Refused:
    """Return what to answer for an error of the engine."""
    message = str(error).split("\n", 1)[0]
    if isinstance(error, Refused):
        return error
    if "is not initialized" in message:
        return not_found("the collection was deleted")
    if message.startswith("No point with id"):
        return not_found(f"{message} found")
    if message.startswith(_OURS_TO_BLAME):
        return Refused(500, message)
    return wrong_input(message)
