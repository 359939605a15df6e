"""What does the memory hold? Collections of a Qdrant that speaks REST, over the standard library's HTTP client."""

from __future__ import annotations

import http.client
import json
import urllib.parse
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LIVE_ONLY = {"must": [{"key": "status", "match": {"value": "live"}}]}
_TIMEOUT_S = 60.0
_MESSAGE_CHARACTERS = 300
_MILLION = 1_000_000


class StoreError(Exception):
    """The store didn't answer, or not with what was asked; the text is the same in every run."""


class Point(NamedTuple):
    """What is stored at once."""

    id: int
    vector: Sequence[float]
    payload: Mapping[str, Any]


class Recalled(NamedTuple):
    """A statement that a search returned."""

    id: int
    kind: str
    statement: str


class Store:
    """The Qdrant at one address; its connection stays open."""

    def __init__(self, url: str) -> None:
        """Nothing is asked yet.

        Raises:
            StoreError: `url` isn't a plain http address.
        """
        address = urllib.parse.urlsplit(url)
        if address.scheme != "http" or not address.hostname:
            raise StoreError(f"expected http://host:port, found {url!r}")
        self._connection = http.client.HTTPConnection(address.hostname, address.port or 80, timeout=_TIMEOUT_S)

    def create(self, collection: str, dimension: int) -> None:
        """An empty collection is there.

        Raises:
            StoreError: it can't be made.
        """
        self._ask("PUT", _path(collection), {"vectors": {"size": dimension, "distance": "Cosine"}})

    def put(self, collection: str, points: Sequence[Point]) -> None:
        """The points are stored; none of them is no request.

        Raises:
            StoreError: they weren't taken.
        """
        if points:
            body = {"points": [point._asdict() for point in points]}
            self._ask("PUT", f"{_path(collection)}/points?wait=true", body)

    def recall(self, collection: str, vector: Sequence[float], limit: int) -> list[Recalled]:
        """The live statements nearest to `vector`, by exact search: the best first, of equal scores the lower id.

        Raises:
            StoreError: there is no answer, or no sense in it.
        """
        body = {
            "query": list(vector),
            "filter": LIVE_ONLY,
            "params": {"exact": True},
            "limit": limit,
            "with_payload": True,
        }
        answer = self._ask("POST", f"{_path(collection)}/points/query", body)
        try:
            found = [
                (
                    -round(point["score"] * _MILLION),
                    point["id"],
                    point["payload"]["kind"],
                    point["payload"]["statement"],
                )
                for point in answer["points"]
            ]
        except (KeyError, TypeError) as error:
            raise StoreError(f"the store answered a search without points: {type(error).__name__}") from error
        return [Recalled(*rest) for _, *rest in sorted(found)]

    def _ask(self, method: str, path: str, body: Mapping[str, Any]) -> Any:
        try:
            self._connection.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
            response = self._connection.getresponse()
            status, data = response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            raise StoreError(f"the store didn't answer: {type(error).__name__}") from error
        try:
            document = json.loads(data)
            if status == http.HTTPStatus.OK:
                return document["result"]
            said = str(document["status"]["error"])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise StoreError(f"the store answered {status}, and something that is not Qdrant's") from error
        raise StoreError(f"the store answered {status}: {' '.join(said.split())[:_MESSAGE_CHARACTERS]}")


def _path(collection: str) -> str:
    return f"/collections/{urllib.parse.quote(collection, safe='')}"
