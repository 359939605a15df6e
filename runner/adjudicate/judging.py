"""What do decisions say of each output, once the key tells which is which?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core.quantities import Measured, Unavailable
from runner.core.reconsolidation.assessment import ArmReview
from runner.core.rounding import PPM

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from runner.core.quantities import Quantity
    from runner.core.reconsolidation.contract import Terms
    from runner.core.reconsolidation.corpus import ReconsolidationCorpus
    from runner.core.reconsolidation.key import Key, KeyEntry
    from runner.core.reconsolidation.packet import Decisions


_EQUIVALENT: Final = "equivalent to "


@dataclass(frozen=True)
class Judged:
    """What all reviewers said of one entry, each as `not_equivalent`, `uncertain` or `equivalent to <reference>`."""

    known: KeyEntry
    said: tuple[str, ...]

    @property
    def agreed(self) -> str:
        """What all of them said; "" where they differ."""
        return self.said[0] if len(set(self.said)) == 1 else ""

    @property
    def reference(self) -> str:
        """The reference that all of them call it equivalent to; "" for none."""
        return self.agreed.removeprefix(_EQUIVALENT) if self.agreed.startswith(_EQUIVALENT) else ""


def judged(key: Key, given: Sequence[Decisions]) -> tuple[Judged, ...]:
    """What was said of each entry of a packet, in its order, by reviewers whose decisions have no fault."""
    by_reviewer = [{decision.entry: decision for decision in decisions.decisions} for decisions in given]
    found = []
    for known in key.entries:
        said = []
        for decisions in by_reviewer:
            decision = decisions[known.entry]
            reference = known.references[decision.reference] if decision.reference is not None else ""
            said.append(f"{_EQUIVALENT}{reference}" if reference else str(decision.decision))
        found.append(Judged(known, tuple(said)))
    return tuple(found)


def attention(entries: Iterable[Judged], reviewer: int) -> dict[str, int]:
    """How the reviewer of this number did where the answer is known."""
    counts = dict.fromkeys(("positives", "positives_right", "negatives", "negatives_right"), 0)
    for entry in entries:
        if entry.known.attention == "positive":
            counts["positives"] += 1
            counts["positives_right"] += entry.said[reviewer] == f"{_EQUIVALENT}{entry.known.expected}"
        elif entry.known.attention == "negative":
            counts["negatives"] += 1
            counts["negatives_right"] += entry.said[reviewer] == "not_equivalent"
    return counts


def arm_reviews(
    entries: Iterable[Judged],
    corpora: Mapping[str, ReconsolidationCorpus],
    terms: Terms,
    repeats: Mapping[tuple[str, str], int],
) -> tuple[ArmReview, ...]:
    """What was said of each arm in each split; `repeats` has how many of them are complete, by arm and split."""
    by_arm: dict[tuple[str, str], list[Judged]] = {}
    for entry in entries:
        if not entry.known.attention:
            by_arm.setdefault((entry.known.arm, entry.known.split), []).append(entry)
    return tuple(
        _arm_review(
            by_arm.get((arm.name, split), []),
            ArmReview(
                arm=arm.name,
                mode=arm.mode,
                split=split,
                repeats=repeats.get((arm.name, split), 0),
                produced=0,
                labels=terms.repeats * sum(len(case.hypotheses) for case in corpus.cases),
                matched=0,
                repeated=0,
                uncertain=0,
                not_equivalent=0,
                disagreed=0,
                precision_ppm=Unavailable("nothing was proposed"),
                recall_ppm=Unavailable("there is no reference"),
            ),
        )
        for arm in terms.arms
        for split, corpus in corpora.items()
    )


def _arm_review(entries: Sequence[Judged], empty: ArmReview) -> ArmReview:
    counts = dict.fromkeys(("matched", "repeated", "uncertain", "not_equivalent", "disagreed"), 0)
    # One output a reference, in each case and repeat: which of several it is makes no difference to any count.
    taken: set[tuple[str, int, str]] = set()
    for entry in entries:
        if entry.reference:
            place = entry.known.case, entry.known.repetition, entry.reference
            counts["repeated" if place in taken else "matched"] += 1
            taken.add(place)
        else:
            counts[entry.agreed or "disagreed"] += 1
    return empty.model_copy(
        update={
            **counts,
            "produced": len(entries),
            "precision_ppm": share(counts["matched"], len(entries), "nothing was proposed"),
            "recall_ppm": share(counts["matched"], empty.labels, "there is no reference"),
        }
    )


def share(part: int, whole: int, absent: str) -> Quantity:
    """`part / whole` in parts per million, rounded down, so that no rounding meets a threshold."""
    return Measured(part * PPM // whole) if whole else Unavailable(absent)
