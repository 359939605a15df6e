"""Which run is it? Told by its evidence, so that no name of a folder can make one run pass for another."""

from __future__ import annotations

from runner.core.documents import Part


class RunIdentity(Part):
    """A run that is reviewed: what it is called, and what it was pinned to, went through and came to."""

    name: str
    """As its lock says; what its folder is called says nothing."""
    lock_sha256: str
    ledger_head: str
    """Of the last line of the ledger, which every other is chained to."""
    summary_sha256: str
    """Of the sealed summary, which was computed from the raw evidence."""
