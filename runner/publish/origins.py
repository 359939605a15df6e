"""What a page was made from: digests, for whoever recomputes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.publish.listing import Listing, code, listing, words

if TYPE_CHECKING:
    from runner.core.summary import Summary


def made_from(summary: Summary) -> tuple[Listing, ...]:
    """Each document, program and pinned thing with its digest."""
    inputs = summary.inputs
    return listing(
        "What this page was made from",
        (*words("Document"), *code("Digest")),
        [
            ("summary.json", summary.digest()),
            ("plan", inputs.plan),
            ("lock", inputs.lock),
            ("ledger head", inputs.ledger_head),
            ("records", inputs.records),
            ("scores", inputs.scores),
            ("price table", inputs.price_table),
            (f"pairbench {summary.harness.version}", summary.harness.digest),
            *((f"{pin.kind} {pin.name}", pin.digest) for pin in summary.pins),
        ],
    )
