"""What becomes of one case? Facts, hypotheses and answers in a collection of its own, in this order."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from reconsolidator.answering import HYPOTHESIS, best_answer
from reconsolidator.connecting import Proposed, proposed
from reconsolidator.launch import LIVE
from reconsolidator.merging import each_alone, merged
from reconsolidator.store import Point

if TYPE_CHECKING:
    from collections.abc import Sequence

    from messages.replies import Model
    from reconsolidator.launch import Case, Launch
    from reconsolidator.store import Recalled

DIMENSION = 384


class Vectors(Protocol):
    """Whatever gives texts their vectors."""

    def embed(self, text: str) -> Any:
        """The vector of `text`, with a method `tolist`."""


class Storing(Protocol):
    """A store, as far as it is needed here."""

    def create(self, collection: str, dimension: int) -> None:
        """An empty collection is there."""

    def put(self, collection: str, points: Sequence[Point]) -> None:
        """The points are stored."""

    def recall(self, collection: str, vector: Sequence[float], limit: int) -> list[Recalled]:
        """The live statements nearest to `vector`."""


class Done(NamedTuple):
    """What became of a case, to be said of it; the store is what counts."""

    facts: int
    hypotheses: int
    malformed: int
    answers: int
    asked_us: int
    """Spent waiting for the model."""
    total_us: int


class Reconsolidator:
    """The system in one mode; a model is asked in `connections` only."""

    def __init__(self, launch: Launch, store: Storing, vectors: Vectors, model: Model | None) -> None:
        """Nothing is stored yet."""
        self._launch = launch
        self._store = store
        self._vectors = vectors
        self._model = model
        self.replies: list[Any] = []
        """Of the model, in order."""

    async def reconsolidate(self, case: Case) -> Done:
        """The case's collection holds what the mode makes of it, and an answer to each of its probes.

        Raises:
            StoreError: the store doesn't do its part.
            ProviderError: the model doesn't.
        """
        began = time.perf_counter_ns()
        collection = f"case-{case.id}"
        facts = each_alone(case.seeds) if self._launch.mode == "original_only" else merged(case.seeds)
        payloads: list[dict[str, Any]] = [
            {"kind": "fact", "members": fact.members, "statement": fact.statement, "status": LIVE} for fact in facts
        ]
        self._store.create(collection, DIMENSION)
        self._put(collection, 1, payloads)
        asking = time.perf_counter_ns()
        given = await self._proposed(case)
        asked = time.perf_counter_ns()
        hypotheses: list[dict[str, Any]] = [
            {"kind": HYPOTHESIS, "statement": found.statement, "support": found.support, "status": LIVE}
            for found in (given.hypotheses if given else ())
        ]
        self._put(collection, 1 + len(facts), hypotheses)
        self._answer(collection, 1 + len(facts) + len(hypotheses), case)
        return Done(
            facts=len(facts),
            hypotheses=len(hypotheses),
            malformed=given.malformed if given else 0,
            answers=len(case.probes),
            asked_us=(asked - asking) // 1000,
            total_us=(time.perf_counter_ns() - began) // 1000,
        )

    async def _proposed(self, case: Case) -> Proposed | None:
        if self._model is None:
            return None
        given = await proposed(self._launch, case, self._model)
        self.replies.append(given.reply)
        return given

    def _put(self, collection: str, first: int, payloads: Sequence[dict[str, Any]]) -> None:
        self._store.put(
            collection,
            [
                Point(number, self._vector(payload["statement"]), payload)
                for number, payload in enumerate(payloads, first)
            ],
        )

    def _answer(self, collection: str, first: int, case: Case) -> None:
        points = []
        for number, probe in enumerate(case.probes, first):
            vector = self._vector(probe.question)
            recalled = self._store.recall(collection, vector, self._launch.most_recalled)
            payload = {
                "kind": "answer",
                "probe": probe.id,
                "answer": best_answer(probe.question, recalled),
                "recalled": [found.id for found in recalled],
            }
            points.append(Point(number, vector, payload))
        # Without a status: no search for live statements ever finds an answer.
        self._store.put(collection, points)

    def _vector(self, text: str) -> list[float]:
        vector: list[float] = self._vectors.embed(text).tolist()
        return vector
