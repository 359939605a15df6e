"""Which holdouts were inspected? A holdout that was scored once is inspected for good."""

from __future__ import annotations

from typing import ClassVar

from runner.core.documents import Document, Part


class Inspected(Part):
    """The first run that was scored over a holdout."""

    holdout_sha256: str
    run: str
    date: str


class HoldoutRegister(Document):
    """`holdout-register.json`, under version control."""

    FORMAT: ClassVar[str] = "pairbench/holdout-register"

    inspected: tuple[Inspected, ...]

    def first(self, holdout: str) -> Inspected | None:
        """The first run that was scored over `holdout`; None while there is none."""
        return next((one for one in self.inspected if one.holdout_sha256 == holdout), None)

    def marked(self, inspected: Inspected) -> HoldoutRegister:
        """The register with `inspected`, unless another run was first."""
        if self.first(inspected.holdout_sha256) is not None:
            return self
        return HoldoutRegister(inspected=(*self.inspected, inspected))
