"""What does the store hold when it ends? Every point but its vectors, one event each, and their number and digest."""

from __future__ import annotations

import hashlib

from qdrant_edge import ScrollRequest

from sidecar import rendering
from sidecar.collection import translated
from sidecar.refusal import FatalError, Refused
from sidecar.server import line_of, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from sidecar.collection import Collection
    from sidecar.store import Store

_PAGE_POINTS = 256


def dump(store: Store, limit_bytes: int) -> None:
    """Every point is on standard output, as far as there is room; the last event says how many, and their digest.

    Collections stand in the order of their names, points in that of their ids. The first point that has no room is left
    out, and so is every one after it.

    Raises:
        FatalError: when the engine can't give its points; there is no last event then.
    """
    digest = hashlib.sha256()
    points, left_out, room = 0, 0, limit_bytes
    for event in _events(store):
        line = line_of(event)
        if left_out or len(line) > room:
            left_out += 1
            continue
        write(line)
        digest.update(line)
        points, room = points + 1, room - len(line)
    said = {"event": "dumped", "points": points, "left_out": left_out, "sha256": f"sha256:{digest.hexdigest()}"}
    write(line_of(said))


def _events(store: Store) -> Iterator[dict[str, Any]]:
    try:
        for name in store.names():
            for found in _points(store.collection(name)):
                yield {"event": "point", "collection": name, "id": found["id"], "payload": found.get("payload") or {}}
    except Refused as error:
        raise FatalError(f"the points can't be read: {error.message}") from error


def _points(collection: Collection) -> Iterator[dict[str, Any]]:
    after = None
    while True:
        request = ScrollRequest(
            offset=after, limit=_PAGE_POINTS, filter=None, with_payload=True, with_vector=False, order_by=None
        )
        try:
            points, after = collection.shard.scroll(request)
        except Exception as error:
            raise translated(error) from error
        yield from map(rendering.record, points)
        if after is None:
            return
