"""Which holdouts were inspected, by which runs, and what was decided? What stands there once stays."""

from __future__ import annotations

from typing import ClassVar

from runner.core.canonical import Digest, digest_of
from runner.core.documents import Document, Part


class Inspected(Part):
    """One assessment of a run over a holdout."""

    holdout_sha256: str
    run: str
    """What the run is called; it is told by its lock."""
    lock_sha256: str
    """"" of an entry from before locks were written down: of no run that there is."""
    date: str
    assessment_sha256: str
    decisions: tuple[str, ...]
    """Digest of each file of decisions, in order."""

    def digest(self) -> Digest:
        """What a contract calls this entry."""
        return digest_of(self.json_value())


class HoldoutRegister(Document):
    """`holdout-register.json`, under version control. Entries are added at its end, and never taken out."""

    FORMAT: ClassVar[str] = "pairbench/holdout-register"

    inspected: tuple[Inspected, ...]

    def first(self, holdout: str) -> Inspected | None:
        """The first assessment over `holdout`; None while there is none."""
        return next((one for one in self.inspected if one.holdout_sha256 == holdout), None)

    def of_run(self, lock: str) -> tuple[Inspected, ...]:
        """Every assessment of the run with this lock, the oldest first."""
        return tuple(one for one in self.inspected if one.lock_sha256 == lock)

    def before(self, number: int) -> HoldoutRegister:
        """The register as it was before its entry of this number, from 0, was added."""
        return HoldoutRegister(inspected=self.inspected[:number])

    def added(self, inspected: Inspected) -> HoldoutRegister:
        """The register with one assessment more."""
        return HoldoutRegister(inspected=(*self.inspected, inspected))

    def digests(self) -> tuple[Digest, ...]:
        """What a contract calls its entries, in order."""
        return tuple(one.digest() for one in self.inspected)
