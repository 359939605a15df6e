"""What did a system return for one query, in which order, and how long did that take?"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, TypeAlias

from pydantic import Field

from runner.core.documents import Document, Part, QuantityField
from runner.core.quantities import Unavailable

NO_SCORE: Final = Unavailable("the server gives no score")


class PassageResult(Part):
    """One passage of the corpus, as our own systems return it."""

    id: int
    score_e6: int


class SpanResult(Part):
    """Bytes of a source, as a server returned them; ends are exclusive."""

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


Result: TypeAlias = PassageResult | SpanResult | SourceResult | UnmappedResult


class Ranking(Document):
    """One line of `rankings.jsonl`: a trial's results for one query, best first, with no time in it.

    Two runs of one system over one corpus give the same bytes.
    """

    FORMAT: ClassVar[str] = "pairbench/ranking"

    trial: str
    task: str
    query: str
    results: tuple[Annotated[Result, Field(union_mode="left_to_right")], ...]
    unmapped: int
    """Results that lead to no source."""
    error: str
    """Why the query failed; "" when it didn't. It stays in every denominator."""


class Latency(Document):
    """One line of `latencies.jsonl`: what a trial's answer to one query took."""

    FORMAT: ClassVar[str] = "pairbench/retrieval-latency"

    trial: str
    task: str
    query: str
    embed_us: QuantityField
    search_us: QuantityField
    decode_us: QuantityField
    total_us: QuantityField
