"""How is a run made of another one: by its script or program again, from its recording, or by asking its provider?

It knows what the original kept, and nothing of the machine that it is to be run on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core import layout
from runner.core.cassette import read_cassette
from runner.core.errors import StudyError
from runner.core.study import ReplayModel
from runner.pipeline.folder import required

if TYPE_CHECKING:
    from runner.core.cassette import CassetteHeader
    from runner.core.lock import How
    from runner.core.resolved import ResolvedStudy
    from runner.pipeline.folder import Run
    from runner.ports.files import Files

_MODE: Final = "model.mode"


@dataclass(frozen=True)
class Manner:
    """How a run is made of another one."""

    how: How
    study: ResolvedStudy
    """The original's, but for who plays the model where a recording does."""
    played: bytes | None = None
    """The cassette that gateways play."""
    header: CassetteHeader | None = None
    """Its first line."""


def manner_of(files: Files, original: Run, *, live: bool) -> Manner:
    """How `original` is run once more: afresh where that is asked for (`live`), else without key and network.

    Raises:
        StudyError: it can't be, in this way.
        EvidenceError: its cassette is missing or damaged.
    """
    if live:
        return _afresh(files, original)
    study = original.study
    if study.model.mode == "replay":
        return _played(study, required(files, original.folder, layout.PLAYED), layout.PLAYED)
    if study.model.record:
        cassette = required(files, original.folder, layout.CASSETTE)
        model = ReplayModel(mode="replay", cassette=layout.CASSETTE)
        # Nobody's certificate is looked at where nobody is called.
        return _played(study.model_copy(update={"model": model, "model_ca": ""}), cassette, layout.CASSETTE)
    if study.model.goes_out:
        raise StudyError(
            "a provider answered, and nothing was recorded: the run can't be replayed",
            document=layout.STUDY,
            key=_MODE,
            hint="measure afresh with --live; a run in mode record can be replayed",
        )
    return Manner("again", study)


def _afresh(files: Files, original: Run) -> Manner:
    study = original.study
    if study.model.goes_out:
        return Manner("live", study)
    asked = "--live asks a provider, and "
    if study.model.mode == "replay":
        header = _played(study, required(files, original.folder, layout.PLAYED), layout.PLAYED).header
        recorded = header.run if header is not None else ""
        raise StudyError(
            f"{asked}this run replayed a cassette, which doesn't say where its provider is",
            document=layout.STUDY,
            key=_MODE,
            hint=f"rerun the run that was recorded, {recorded}",
        )
    told = "there is no model" if study.model.mode == "none" else "a script or policy plays the model"
    raise StudyError(
        f"{asked}in this run {told}: there is none to ask",
        document=layout.STUDY,
        key=_MODE,
        hint="rerun it without --live",
    )


def _played(study: ResolvedStudy, cassette: bytes, document: str) -> Manner:
    return Manner("replay", study, cassette, read_cassette(cassette, document).header)
