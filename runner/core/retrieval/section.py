"""What a summary says of retrieval: systems by query set, split and kind of query, compared, timed, query by query.

Every figure is of the rankings that count: of each query set those of one repetition, in which every system had its
say. Other repetitions must give the same rankings, which is checked, so that nothing is averaged over them.
"""

from __future__ import annotations

from typing import Final

from runner.core.documents import Part, QuantityField
from runner.core.retrieval.queries import Kind, Split
from runner.core.retrieval.scores import RetrievalContrast, RetrievalTotals, Violation

MOST_ROWS: Final = 500
"""Queries of one set that a summary tells one by one."""
SHOWN_CHARACTERS: Final = 160
"""Of a query's text."""


class Scope(Part):
    """Which queries a figure is of; "" means all."""

    task: str = ""
    split: str = ""
    kind: str = ""


class SystemIdentity(Part):
    """One arm, and what it asks."""

    arm: str
    asks: str
    """Its system in one line, with what isn't as by default."""


class CountedSet(Part):
    """One query set, and whose rankings of it count."""

    task: str
    name: str
    corpus: str
    queries: int
    answerable: int
    """Queries that something in the corpus answers."""
    labels: int
    ks: tuple[int, ...]
    block: str
    """The block whose rankings count; "" where in none every system had its say."""
    queries_sha256: str
    """Of the resolved query set."""


class SystemTotals(Part):
    """What one system's rankings come to in one scope."""

    scope: Scope
    arm: str
    totals: RetrievalTotals


class SystemContrast(Part):
    """One system against the control in one measure and scope."""

    scope: Scope
    arm: str
    control: str
    contrast: RetrievalContrast
    together_low_e9: QuantityField
    together_high_e9: QuantityField
    """Of the interval that holds together with those of the other systems in this measure and scope."""


class Spread(Part):
    """Quantiles of microseconds, interpolated linearly between neighbours."""

    queries: int
    p50_us: QuantityField
    p95_us: QuantityField
    lowest_us: QuantityField
    highest_us: QuantityField


class SystemLatency(Part):
    """What a system's answers took, of all trials that completed; "" as task: of all sets."""

    task: str
    arm: str
    trials: int
    total: Spread
    embed: Spread
    search: Spread
    decode: Spread
    first_relevant: Spread
    """Of the answers that hold a relevant source; the others have none to wait for."""


class Exactness(Part):
    """How much of an exact search's first `k` passages an approximate one finds among its own first `k`."""

    task: str
    arm: str
    exact_arm: str
    k: int
    found: int
    out_of: int


class QueryCell(Part):
    """What one system made of one query."""

    arm: str
    first_relevant_rank: QuantityField
    value_e9: QuantityField
    """The first headline measure."""
    violations: dict[Violation, int]
    unmapped: int
    failed: bool
    abstained: bool


class QueryRow(Part):
    """One query, and what every system made of it."""

    task: str
    query: str
    text: str
    """As far as it fits."""
    split: Split
    kind: Kind
    cells: tuple[QueryCell, ...]


class RetrievalDocument(Part):
    """A document of the run that was computed for retrieval."""

    name: str
    digest: str


class RetrievalSection(Part):
    """All that a summary says of retrieval."""

    systems: tuple[SystemIdentity, ...]
    """The control first."""
    sets: tuple[CountedSet, ...]
    headline: tuple[str, ...]
    """Measures that a reader sees first; their cut is the deepest that every set has, up to 10."""
    totals: tuple[SystemTotals, ...]
    contrasts: tuple[SystemContrast, ...]
    latencies: tuple[SystemLatency, ...]
    exactness: tuple[Exactness, ...]
    rows: tuple[QueryRow, ...]
    rows_left_out: int
    """Queries beyond those of `rows`; all of them are in `retrieval.jsonl`."""
    documents: tuple[RetrievalDocument, ...]
    queries_rule: str
    latency_rule: str

    def totals_of(self, scope: Scope, arm: str) -> RetrievalTotals | None:
        """What `arm` comes to in `scope`; None where there is no such query."""
        return next((item.totals for item in self.totals if item.scope == scope and item.arm == arm), None)

    def contrast_of(self, scope: Scope, arm: str, measure: str) -> SystemContrast | None:
        """How `arm` compares in `scope`; None where that wasn't compared."""
        return next(
            (
                item
                for item in self.contrasts
                if item.scope == scope and item.arm == arm and item.contrast.measure == measure
            ),
            None,
        )
