"""What memories kept, lost, merged and connected, as texts: the counts of scorer v1 and its verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runner.core.quantities import Measured
from runner.publish import formatting
from runner.publish.listing import cell, figures, listing, verdict, words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.core.reconsolidation.section import MemoryScore, ReconsolidationSection, RuleCheck
    from runner.core.summary import Summary
    from runner.publish.listing import Cell, Listing

_RULES: Final = {
    "false_merge_pairs": "False merge pairs",
    "lost_facts": "Lost facts",
    "invalid_observations": "Invalid observations",
    "boundary_violations": "Boundary violations",
    "duplicate_coverage": "Duplicate classes covered",
    "precision": "Precision of exact connections",
    "recall": "Recall of exact connections",
    "answer_coverage": "Probes answered",
}
_COUNTED: Final = (
    "Over every case and repetition: trials seen, pairs merged falsely, facts lost, duplicate classes merged, "
    "connections found of those produced, probes answered."
)
_EXACT: Final = (
    "A connection counts here only where it says what a reference says, word for word, and rests on exactly its seeds: "
    "one in other words is judged by people, in a review that stands beside this verdict and never changes it."
)


class Memories:
    """Texts of one summary of a reconsolidation study."""

    def __init__(self, summary: Summary, section: ReconsolidationSection) -> None:
        """Hold `summary` and its section."""
        self.section = section
        self._control = summary.study.control

    def headlines(self) -> Iterator[str]:
        """One sentence an arm: whether it passed scorer v1, and by what it failed."""
        for arm in dict.fromkeys(score.arm for score in self.section.scores):
            scores = [score for score in self.section.scores if score.arm == arm]
            failed = [f"{score.split}: {_failure(score)}" for score in scores if not score.passed]
            told = "; ".join(failed)
            yield f"{arm} failed scorer v1 ({told})." if failed else f"{arm} passed scorer v1 on every split."

    def scores(self) -> tuple[Listing, ...]:
        """Counts of every arm, a table a split."""
        columns = (
            *words("Arm"),
            *figures("Seen", "False", "Lost", "Merged", "Found", "Probes"),
            verdict("v1"),
        )
        return tuple(
            table
            for split in self.section.splits()
            for table in listing(
                f"What the memories came to: {split}",
                columns,
                [_line(score) for score in self.section.of_split(split)],
                f"{_COUNTED} {_EXACT}",
            )
        )

    def rules(self) -> tuple[Listing, ...]:
        """Each rule of the scorer, and who met it; a table a split."""
        columns = (*words("Rule", "Arm"), *figures("Count", "Of", "Share"), verdict("Met"))
        return tuple(
            table
            for split in self.section.splits()
            for table in listing(f"The rules of scorer v1: {split}", columns, self._rules(split))
        )

    def _rules(self, split: str) -> Iterator[tuple[Cell, ...]]:
        scores = self.section.of_split(split)
        for number in range(len(scores[0].checks)):
            for score in scores:
                check = score.checks[number]
                has_share = isinstance(check.of, Measured)
                yield (
                    _name(check),
                    score.arm,
                    f"{check.count:,}",
                    f"{check.of.value:,}" if has_share else "",
                    cell(check.share_ppm, formatting.percent) if has_share else "",
                    "passed" if check.met else "failed",
                )

    def pins(self) -> str:
        """What the counts rest on."""
        frozen = self.section.baseline_sha256
        control = f"what {self._control} answered was frozen as {frozen}" if frozen else "no control was frozen"
        return (
            f"Scorer {self.section.scorer}; corpus {self.section.corpus_sha256}; observations "
            f"{self.section.observations_sha256}; {control}."
        )


def _line(score: MemoryScore) -> tuple[str, ...]:
    return (
        score.arm,
        f"{score.observed}/{score.trials}",
        f"{score.counts['false_merge_pairs']:,}",
        _of(score, "lost_facts", "required_survivors"),
        _of(score, "duplicate_classes_covered", "duplicate_classes"),
        _of(score, "hypotheses_matched", "hypotheses_produced"),
        _of(score, "probes_covered", "probes"),
        "passed" if score.passed else "failed",
    )


def _of(score: MemoryScore, part: str, whole: str) -> str:
    return f"{score.counts[part]:,}/{score.counts[whole]:,}"


def _failure(score: MemoryScore) -> str:
    missing = score.trials - score.observed
    told = [f"{formatting.counted(missing, 'trial')} not observed"] if missing else []
    unmet = [_said(check) for check in score.checks if not check.met]
    return ", ".join([*told, *unmet])


def _said(check: RuleCheck) -> str:
    name, share = formatting.lower_first(_name(check)), check.share_ppm
    if not isinstance(check.of, Measured):
        return f"{name} {check.count:,}"
    return f"{name} {formatting.percent(share.value)}" if isinstance(share, Measured) else f"{name} undefined"


def _name(check: RuleCheck) -> str:
    return _RULES.get(check.name, check.name.replace("_", " "))
