"""What does the sidecar hold, and what may a query see of it? `qdrant-client` over REST.

Of the client the generated REST interface is used, and its models: the layer above it, which has gRPC and a local mode
besides, takes as long to import and a third more time for each query.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import sys
from typing import TYPE_CHECKING, NamedTuple

from retrieval.ranking import QueryError, scored


def _open_package(name: str) -> None:
    """Modules below `name` import without the package's initializer, which imports all that there is."""
    spec = importlib.machinery.PathFinder.find_spec(name)
    if spec is None:
        raise ModuleNotFoundError(f"no package {name}", name=name)
    sys.modules.setdefault(name, importlib.util.module_from_spec(spec))


_open_package("qdrant_client")

import httpx  # noqa: E402
from qdrant_client.http import ApiClient, SyncApis, models  # noqa: E402
from qdrant_client.http.api.search_api import jsonable_encoder  # noqa: E402
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import TypeVar

    from retrieval.launch import Query
    from retrieval.ranking import Scored

    T = TypeVar("T")

__all__ = ["BM25", "About", "Sidecar", "SidecarError", "asked", "models"]

BM25 = "bm25"
"""The name of the sparse vectors."""
_TIMEOUT_S = 60.0
_MESSAGE_CHARACTERS = 200
_LIVE = "live"
# Payload key -> the index that filters on it need to be quick, and the boundary that it belongs to.
_KEYS = {
    "workspace": (models.PayloadSchemaType.KEYWORD, "workspace"),
    "status": (models.PayloadSchemaType.KEYWORD, "status"),
    "known_from_s": (models.PayloadSchemaType.INTEGER, "time"),
    "expires_s": (models.PayloadSchemaType.INTEGER, "time"),
}


class SidecarError(Exception):
    """The sidecar can't be used at all; the text says why."""


class About(NamedTuple):
    """What the sidecar says that it is."""

    title: str
    version: str


class Sidecar:
    """One collection, of which those boundaries are kept that `keeps` names."""

    def __init__(self, url: str, collection: str, keeps: Collection[str]) -> None:
        """The sidecar answered, and filters of boundaries that its passages have are prepared.

        Raises:
            SidecarError: it isn't there, or has no such collection.
        """
        # Without the limits of `qdrant-client` for loopback: a connection for each query costs more than the search.
        self._apis: SyncApis[ApiClient] = SyncApis(
            url, timeout=_TIMEOUT_S, trust_env=False, limits=httpx.Limits(max_keepalive_connections=1)
        )
        self._collection = collection
        try:
            root = asked(self._apis.service_api.root)
            self.about = About(root.title, root.version)
            self._filtered = {key for key, (_, boundary) in _KEYS.items() if boundary in keeps and self._prepare(key)}
        except QueryError as error:
            raise SidecarError(str(error)) from error

    def visible(self, query: Query) -> models.Filter | None:
        """What the query may not see, as a filter; None where there is nothing.

        A passage without one of the keys isn't bounded by it.
        """
        conditions = {
            "workspace": models.MatchExcept(**{"except": [query.workspace]}),
            "status": models.MatchExcept(**{"except": [_LIVE]}),
        }
        unseen = [
            models.FieldCondition(key=key, match=match) for key, match in conditions.items() if key in self._filtered
        ]
        if query.at_s is not None:
            ranges = {"known_from_s": models.Range(gt=query.at_s), "expires_s": models.Range(lte=query.at_s)}
            unseen += [
                models.FieldCondition(key=key, range=bound) for key, bound in ranges.items() if key in self._filtered
            ]
        return models.Filter(must_not=list(unseen)) if unseen else None

    def search(self, request: models.QueryRequest) -> list[Scored]:
        """What the engine answers, in its order.

        Raises:
            QueryError: it didn't, or with no sense in it.
        """
        # By its method for any request, and not by the one for this: its model of a point costs more than finding it.
        answer = asked(
            lambda: self._apis.client.request(
                type_=dict,
                method="POST",
                url="/collections/{collection_name}/points/query",
                path_params={"collection_name": self._collection},
                headers={"Content-Type": "application/json"},
                content=jsonable_encoder(request),
            )
        )
        try:
            return scored(answer["result"]["points"])
        except (KeyError, TypeError) as error:
            raise QueryError(f"the sidecar answered without points: {type(error).__name__}") from error

    def _prepare(self, key: str) -> bool:
        """Whether any passage has `key`; if so, it has an index, without which each search would read every payload."""
        has_key = models.Filter(must_not=[models.IsEmptyCondition(is_empty=models.PayloadField(key=key))])
        counting = models.CountRequest(filter=has_key, exact=True)
        answer = asked(
            lambda: self._apis.points_api.count_points(collection_name=self._collection, count_request=counting)
        )
        if answer.result is None or not answer.result.count:
            return False
        index = models.CreateFieldIndex(field_name=key, field_schema=_KEYS[key][0])
        asked(
            lambda: self._apis.indexes_api.create_field_index(
                collection_name=self._collection, wait=True, create_field_index=index
            )
        )
        return True


def asked(request: Callable[[], T]) -> T:
    """The answer to a request.

    Raises:
        QueryError: there is none; its text holds no time and no address, so that it is the same in every run.
    """
    try:
        return request()
    except UnexpectedResponse as error:
        raise QueryError(f"the sidecar answered {error.status_code}: {_said(error.content)}") from error
    except ResponseHandlingException as error:
        raise QueryError(f"the sidecar didn't answer: {type(error.source).__name__}") from error
    except ApiException as error:
        raise QueryError(f"the sidecar refused: {type(error).__name__}") from error


def _said(content: bytes) -> str:
    try:
        text = json.loads(content)["status"]["error"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return "nothing that Qdrant would"
    return " ".join(str(text).split())[:_MESSAGE_CHARACTERS]
