"""What did a system return for one query, in which order, and how long did that take?"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Self, TypeAlias

from pydantic import Field, model_validator

from runner.core.documents import Document, Part, QuantityField
from runner.core.quantities import Unavailable

NO_SCORE: Final = Unavailable("the server gives no score")
NO_NUMBER: Final = Unavailable("the server gives a score that is no number, or none that can be written")


class SpanResult(Part):
    """Bytes of a source, as a server returned them; the end is exclusive."""

    source: str
    start: int
    end: int
    score_e6: QuantityField = NO_SCORE


class SourceResult(Part):
    """A source, as a server returned it, without saying which bytes."""

    source: str
    score_e6: QuantityField = NO_SCORE


class UnmappedResult(Part):
    """A result that leads to no source; it keeps its rank."""

    said: str
    """What the server called it, or ""."""
    score_e6: QuantityField = NO_SCORE


Result: TypeAlias = Annotated[SpanResult | SourceResult | UnmappedResult, Field(union_mode="left_to_right")]


class Ranking(Document):
    """One line of `rankings.jsonl`: a trial's results for one query, best first, with no time in it.

    Two runs of one system over one corpus give the same bytes. Our own systems return passages, ordered by score,
    descending, then by id; they stand in columns, which take a fraction of the room and of the time to read. What a
    server returned, in its own order, stands in `found`. One of both is empty.
    """

    FORMAT: ClassVar[str] = "pairbench/ranking"
    EXACT: ClassVar[bool] = True

    trial: str
    task: str
    query: str
    passages: tuple[int, ...] = ()
    """Ids of passages of the corpus."""
    scores_e6: tuple[int, ...] = ()
    """Of each of `passages`, in millionths."""
    found: tuple[Result, ...] = ()
    unmapped: int
    """Results that lead to no source."""
    error: str
    """Why the query failed; "" when it didn't. It stays in every denominator."""

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if len(self.passages) != len(self.scores_e6):
            raise ValueError("passages and scores_e6 must be equally many")
        if self.passages and self.found:
            raise ValueError("passages and found can't both be given")
        return self

    @property
    def results(self) -> int:
        """How many results there are."""
        return len(self.passages) + len(self.found)

    @property
    def is_in_order(self) -> bool:
        """Whether passages stand by score, descending, then by id, each once."""
        keys = [(-score, number) for score, number in zip(self.scores_e6, self.passages, strict=True)]
        return keys == sorted(keys) and len(set(self.passages)) == len(self.passages)


class Latency(Document):
    """One line of `latencies.jsonl`: what a trial's answer to one query took."""

    FORMAT: ClassVar[str] = "pairbench/retrieval-latency"
    EXACT: ClassVar[bool] = True

    trial: str
    task: str
    query: str
    embed_us: QuantityField
    search_us: QuantityField
    decode_us: QuantityField
    total_us: QuantityField
