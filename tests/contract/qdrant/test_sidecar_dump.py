"""What a sidecar prints of its points before it ends, and what it logs of searches, where it is asked to."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    Start = Callable[..., AbstractContextManager[Any]]

PLANE = {"vectors": {"size": 2, "distance": "Dot"}}
UUID = "0b0e7d2c-57c6-4e5b-9a33-5a1f3a0f0c11"


def fill(sidecar: Any, collection: str, *identifiers: int | str) -> None:
    assert sidecar.ask("PUT", f"/collections/{collection}", PLANE)[0] == 200
    points = [
        {"id": identifier, "vector": [1.0, number], "payload": {"n": [number, "\u00e4\n\u202e"], "a": None}}
        for number, identifier in enumerate(identifiers)
    ]
    assert sidecar.ask("PUT", f"/collections/{collection}/points?wait=true", {"points": points})[0] == 200


def lines(sidecar: Any) -> list[bytes]:
    written: bytes = sidecar.log.read_bytes()
    return [line for line in written.splitlines(keepends=True) if b'"event":"point"' in line]


def test_every_point_is_printed_at_the_end(sidecar: Start) -> None:
    """By collection and id, payloads whole, no vector; the digest is that of the lines."""
    with sidecar("--dump", "100000") as running:
        fill(running, "two", 2, 1)
        fill(running, "one", UUID)
        assert running.events("point") == []
        assert running.stop() == 0
        events = running.events("point")
        (dumped,) = running.events("dumped")
        digest = hashlib.sha256(b"".join(lines(running))).hexdigest()
        assert running.log.read_bytes().splitlines()[-1] == json.dumps(dumped, separators=(",", ":")).encode()
    assert events == [
        {"event": "point", "collection": "one", "id": UUID, "payload": {"n": [0, "\u00e4\n\u202e"], "a": None}},
        {"event": "point", "collection": "two", "id": 1, "payload": {"n": [1, "\u00e4\n\u202e"], "a": None}},
        {"event": "point", "collection": "two", "id": 2, "payload": {"n": [0, "\u00e4\n\u202e"], "a": None}},
    ]
    assert dumped == {"event": "dumped", "points": 3, "left_out": 0, "sha256": f"sha256:{digest}"}


def test_more_points_than_one_page_are_printed(sidecar: Start) -> None:
    """All of them, each once."""
    with sidecar("--dump", "1000000") as running:
        fill(running, "many", *range(600))
        running.stop()
        assert [event["id"] for event in running.events("point")] == list(range(600))


def test_what_has_no_room_is_counted(sidecar: Start) -> None:
    """And nothing is printed behind the first point that was left out."""
    with sidecar("--dump", "200") as running:
        fill(running, "c", 1, 2, 3)
        running.stop()
        assert len(b"".join(lines(running))) <= 200
        (dumped,) = running.events("dumped")
    assert (dumped["points"], dumped["left_out"]) == (2, 1)


def test_searches_are_logged_with_what_they_returned(sidecar: Start) -> None:
    """Best first; no other request is."""
    search = {"query": [0.0, 1.0], "limit": 2}
    with sidecar("--dump", "1000") as running:
        fill(running, "c", 1, 2, 3)
        running.ask("POST", "/collections/c/points/query", search)
        running.ask("POST", "/collections/c/points/query/batch", {"searches": [search, {**search, "limit": 1}]})
        running.ask("POST", "/collections/c/points/query/groups", {**search, "group_by": "n", "limit": 1})
        running.ask("POST", "/collections/c/points/query", {"query": "nonsense"})
        running.ask("POST", "/collections/c/points/scroll", {})
        requests = running.events("request")
    assert [(event["status"], event.get("returned")) for event in requests] == [
        (200, None),
        (200, None),
        (200, [3, 2]),
        (200, [3, 2, 3]),
        (200, [3]),
        (400, None),
        (200, None),
    ]


def test_a_sidecar_that_is_not_asked_prints_nothing_of_it(sidecar: Start) -> None:
    """Neither points nor what searches returned."""
    with sidecar() as running:
        fill(running, "c", 1)
        running.ask("POST", "/collections/c/points/query", {"query": [0.0, 1.0]})
        assert running.stop() == 0
        assert running.events("point") == running.events("dumped") == []
        assert all("returned" not in event for event in running.events("request"))
