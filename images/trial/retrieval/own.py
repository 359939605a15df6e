"""How do systems of ours answer? Dense vectors, BM25 or both, searched in the sidecar."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, NamedTuple, Protocol

from retrieval import bm25
from retrieval.ranking import QueryError, above, best, ordered
from retrieval.sidecar import BM25, Sidecar, models

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retrieval.launch import Launch, Own, Query
    from retrieval.ranking import Scored

MODEL_DIR = "/opt/model"
# How many passages each list of a hybrid has at least: a fusion of two short lists ranks by which list a passage is in.
LEAST_CANDIDATES = 100


class Answer(NamedTuple):
    """What a query brought, and where the time went."""

    results: Sequence[dict[str, object]]
    unmapped: int
    embed_us: int | None
    """None: part of the search."""
    search_us: int
    decode_us: int


class System(Protocol):
    """Whatever can be asked."""

    async def ask(self, query: Query) -> Answer:
        """The answer to `query`.

        Raises:
            Exception: whatever goes wrong; a `QueryError` says it in words that are the same in every run.
        """


class Vectors:
    """Both vectors of a query; a kind that a system doesn't search by is never loaded."""

    def __init__(self, launch: Launch, system: Own) -> None:
        """The model and the stemmer are loaded, as far as the system needs them."""
        self._words = bm25.Words(bm25.english()) if system.kind != "dense" else None
        self._model = None
        if system.kind != "bm25":
            from memory import embedding  # noqa: PLC0415 - a tenth of a second and 100 MB that BM25 doesn't need

            self._model = embedding.MiniLM(os.environ.get("PAIRBENCH_MODEL_DIR", MODEL_DIR), threads=launch.threads)

    def of(self, text: str) -> tuple[list[float] | None, bm25.Sparse | None]:
        """The dense and the sparse vector of `text`."""
        dense = None if self._model is None else self._model.embed(text).tolist()
        return dense, None if self._words is None else bm25.query_vector(self._words, text)


class Searching:
    """One of our systems."""

    def __init__(self, launch: Launch, system: Own, sidecar: Sidecar) -> None:
        """Everything that it needs is loaded.

        Raises:
            Exception: of whatever kind the libraries have for a model that is missing.
        """
        self._system = system
        self._depth = launch.depth
        self._sidecar = sidecar
        self._vectors = Vectors(launch, system)
        self._params = models.SearchParams(exact=system.is_exact)

    async def ask(self, query: Query) -> Answer:
        """The answer of the sidecar, in the order that the tie rule gives."""
        began = time.perf_counter_ns()
        try:
            dense, sparse = self._vectors.of(query.text)
        except Exception as error:
            raise QueryError(f"the query can't be embedded: {type(error).__name__}") from error
        embedded = time.perf_counter_ns()
        found = self._search(dense, sparse, self._sidecar.visible(query))
        searched = time.perf_counter_ns()
        kept = above(found, self._system.minimum_score_e6)
        results: list[dict[str, object]] = [{"id": result.id, "score_e6": result.score_e6} for result in kept]
        decoded = time.perf_counter_ns()
        return Answer(
            results, 0, (embedded - began) // 1000, (searched - embedded) // 1000, (decoded - searched) // 1000
        )

    def _search(
        self, dense: list[float] | None, sparse: bm25.Sparse | None, visible: models.Filter | None
    ) -> list[Scored]:
        # A query without a term matches nothing, and Qdrant takes no vector without an index.
        terms = None if sparse is None or not sparse.indices else models.SparseVector(**sparse._asdict())
        if dense is not None and sparse is not None:
            return self._fused(dense, terms, visible)
        if dense is None and terms is None:
            return []
        return best(
            self._depth,
            lambda limit: self._sidecar.search(
                models.QueryRequest(
                    query=dense if terms is None else terms,
                    using=None if terms is None else BM25,
                    filter=visible,
                    params=self._params,
                    limit=limit,
                    with_payload=False,
                )
            ),
        )

    def _fused(
        self, dense: list[float], terms: models.SparseVector | None, visible: models.Filter | None
    ) -> list[Scored]:
        """The reciprocal rank fusion of both lists, made by the engine; all of it is fetched, so nothing is cut."""
        candidates = max(self._depth, LEAST_CANDIDATES)
        lists = [models.Prefetch(query=dense, filter=visible, params=self._params, limit=candidates)]
        if terms is not None:
            lists.append(
                models.Prefetch(query=terms, using=BM25, filter=visible, params=self._params, limit=candidates)
            )
        request = models.QueryRequest(
            prefetch=lists,
            query=models.RrfQuery(rrf=models.Rrf(k=self._system.rrf_k)),
            limit=len(lists) * candidates,
            with_payload=False,
        )
        return ordered(self._sidecar.search(request))[: self._depth]
