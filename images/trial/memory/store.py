"""What does Qdrant hold? Two requests of its REST interface, over the standard library's HTTP client.

`qdrant-client` would do the same and costs 0.75 s and 75 MB to import, in every trial (see the reference page).
"""

from __future__ import annotations

import http.client
import json
import urllib.parse
from typing import TYPE_CHECKING, Any

from memory import passages

if TYPE_CHECKING:
    from collections.abc import Sequence

_TIMEOUT_S = 20.0
_ANSWER_LIMIT_BYTES = 64 * 1024 * 1024
_MESSAGE_LIMIT = 300
# Scores that differ by less are equal here, and the lower number goes first: CPUs differ by about 1e-7.
_SCORE_DIGITS = 5


class StoreError(Exception):
    """The memory didn't answer, or not with what was asked; the text says what and where."""


class Store:
    """One collection of passages in a Qdrant that speaks REST."""

    def __init__(self, url: str, collection: str) -> None:
        """Nothing is asked yet.

        Raises:
            ValueError: `url` isn't a plain http address.
        """
        address = urllib.parse.urlsplit(url)
        if address.scheme != "http" or not address.hostname or address.path not in {"", "/"}:
            raise ValueError(f"expected http://host:port, found {url!r}")
        self._host = address.hostname
        self._port = address.port or 80
        self._where = f"http://{self._host}:{self._port}"
        self._points = f"/collections/{urllib.parse.quote(collection, safe='')}/points"

    def search(self, vector: Sequence[float], limit: int) -> list[passages.Passage]:
        """The `limit` passages nearest to `vector`, best first, from an exact search.

        Raises:
            StoreError, PassageError: there is no answer, or no sense in it.
        """
        question = {"query": list(vector), "limit": limit, "params": {"exact": True}, "with_payload": True}
        answer = self._ask(f"{self._points}/query", question)
        try:
            points = [(round(float(point["score"]), _SCORE_DIGITS), point) for point in answer["points"]]
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(f"{self._where} answered a search without points: {error!r}") from error
        found = [(-score, passages.from_point(point)) for score, point in points]
        return [passage for _, passage in sorted(found, key=lambda scored: (scored[0], scored[1].id))]

    def get(self, number: int) -> passages.Passage | None:
        """The passage with this number, or None when there is none.

        Raises:
            StoreError, PassageError: there is no answer, or no sense in it.
        """
        # By a list of one: a missing point is an empty list then, and only a missing collection is a 404.
        answer = self._ask(self._points, {"ids": [number], "with_payload": True})
        if not isinstance(answer, list):
            raise StoreError(f"the memory at {self._where} answered a look-up without points")
        return passages.from_point(answer[0]) if answer else None

    def _ask(self, path: str, body: object) -> Any:
        data = json.dumps(body).encode("ascii")
        headers = {"Content-Type": "application/json"}
        connection = http.client.HTTPConnection(self._host, self._port, timeout=_TIMEOUT_S)
        try:
            connection.request("POST", path, data, headers)
            response = connection.getresponse()
            answer = response.read(_ANSWER_LIMIT_BYTES)
        except (OSError, http.client.HTTPException) as error:
            raise StoreError(
                f"the memory at {self._where} is not reachable: {error or type(error).__name__}"
            ) from error
        finally:
            connection.close()
        return self._result(response.status, answer)

    def _result(self, status: int, answer: bytes) -> Any:
        try:
            document = json.loads(answer)
        except (ValueError, RecursionError):
            document = None
        problem = document.get("status") if isinstance(document, dict) else None
        text = problem.get("error", "") if isinstance(problem, dict) else ""
        if status != http.HTTPStatus.OK:
            raise StoreError(f"the memory at {self._where} answered {status}: {str(text)[:_MESSAGE_LIMIT]}")
        if not isinstance(document, dict) or "result" not in document:
            raise StoreError(f"the memory at {self._where} answered something that is not Qdrant's")
        return document["result"]
