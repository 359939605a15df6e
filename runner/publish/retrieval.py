"""What a retrieval study found, as texts and positions: systems, contrasts, boundaries, times, and query by query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core.quantities import Measured, Unavailable
from runner.core.retrieval.section import Scope
from runner.core.rounding import PPM, rounded_quotient
from runner.publish import formatting
from runner.publish.listing import Listing, figures, grouped, listing, words
from runner.publish.ranking_charts import RankingCharts
from runner.publish.ranking_texts import KINDS, difference, ends, held_together, holds_zero, value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.core.quantities import Quantity
    from runner.core.retrieval.scores import RetrievalTotals
    from runner.core.retrieval.section import QueryCell, RetrievalSection, SystemContrast
    from runner.core.summary import Summary
    from runner.publish.listing import Cell
    from runner.publish.ranking_charts import Curve, Drawn

_LABELS: Final = {"R": "Recall", "P": "Precision", "RR": "Reciprocal rank", "AP": "Average precision"}
_VIOLATIONS: Final = {
    "foreign_workspace": "Of a foreign workspace",
    "deleted": "Deleted",
    "expired": "Expired",
    "not_yet_known": "Not yet known",
}
_RARE: Final = ("Failed, of all asked", "Nothing found", "Abstained", "Violations", "No source")
_ANSWERABLE: Final = "n, with an answer"


@dataclass(frozen=True)
class QueryTable:
    """The queries of one set; those of each kind together."""

    heading: str
    listing: Listing


class Retrieval:
    """Texts of one summary of a retrieval study."""

    def __init__(self, summary: Summary, section: RetrievalSection) -> None:
        """Hold `summary` and its section."""
        self.section = section
        self._arms = tuple(item.arm for item in section.systems)
        self._control = summary.study.control
        self._level = formatting.level(summary.resampling.level_ppm)
        self._tasks = tuple(item.task for item in section.sets if item.block)
        self._charts = RankingCharts(section, self._control, self._level)
        self._cut = section.headline[0].partition("@")[2]

    def headlines(self) -> Iterator[str]:
        """One sentence a system on the first headline measure; and what was returned that may not be."""
        measure = self.section.headline[0]
        for arm in self._arms[1:]:
            found = self.section.contrast_of(Scope(), arm, measure)
            if found is not None:
                yield self._sentence(found)
        for arm in self._arms:
            totals = self.section.totals_of(Scope(), arm)
            if totals is not None and totals.violations:
                count = formatting.counted(sum(totals.violations.values()), "result")
                queries = formatting.of_all(totals.violating_queries, _asked(totals), "query", "queries")
                yield f"{arm} returned {count} that it may not, for {queries}."
            if totals is not None and totals.failed:
                yield f"{arm} failed on {formatting.of_all(totals.failed, _asked(totals), 'query', 'queries')}."
            if totals is not None and totals.unmapped:
                whole = formatting.of_all(totals.unmapped, totals.results, "result")
                yield f"{arm} returned results that lead to no source: {whole}."

    def _sentence(self, found: SystemContrast) -> str:
        contrast = found.contrast
        if not isinstance(contrast.difference_e9, Measured):
            return f"{found.arm} and {found.control} can't be compared: {contrast.difference_e9.reason}."
        sets = formatting.counted(len(self._tasks), "query set")
        text = (
            f"{found.arm} had a mean {contrast.measure} of {value(contrast.treatment_e9)}, {found.control} of "
            f"{value(contrast.control_e9)}: {difference(contrast.difference_e9)} over "
            f"{formatting.counted(contrast.queries, 'query', 'queries')} of {sets}"
        )
        if isinstance(contrast.low_e9, Unavailable):
            return f"{text}; no interval: {contrast.low_e9.reason}."
        text += f" ({self._level} interval {ends(contrast.low_e9, contrast.high_e9)}"
        if len(self._arms) > 2:
            together = ends(found.together_low_e9, found.together_high_e9)
            held, whole = held_together(self.section, found), len(self._arms) - 1
            which = formatting.all_at_once(whole) if held == whole else f"the {held} of {whole} that have one"
            text += f", or {together} for {which}"
        shown = holds_zero(found.together_low_e9, found.together_high_e9)
        return f"{text}).{' A difference is not shown.' if shown else ''}"

    def systems(self) -> tuple[Listing, ...]:
        """What each arm asks, and the query sets."""
        return (
            *listing("Systems", words("Arm", "Asks"), [(item.arm, item.asks) for item in self.section.systems]),
            *listing(
                "Query sets",
                (*words("Set", "Corpus"), *figures("Queries", "With an answer", "Labels"), *words("Counted block")),
                [
                    (
                        item.task,
                        item.corpus,
                        f"{item.queries:,}",
                        f"{item.answerable:,}",
                        f"{item.labels:,}",
                        item.block or "none: not every system had its say",
                    )
                    for item in self.section.sets
                ],
                self.section.queries_rule,
            ),
        )

    def totals(self) -> tuple[Listing, ...]:
        """Every system, over all sets by kind and split, then set by set."""
        named = [*self.section.headline, "AP", f"P@{self._cut}", f"Judged@{self._cut}"]
        scopes = list(self._scopes())
        tables = [("Systems, over all query sets", [item for item in scopes if not item[1].task])]
        if len(self._tasks) > 1:
            tables.append(("Systems, set by set", [item for item in scopes if item[1].task]))
        return tuple(
            table
            for caption, own in tables
            for table in grouped(
                caption,
                (*words("System"), *figures(*named, _ANSWERABLE, *_RARE)),
                [(title, [(arm, *self._figures(scope, arm, named)) for arm in self._arms]) for title, scope in own],
                self._rare_note(),
            )
        )

    def overview(self) -> tuple[Listing, ...]:
        """The same, narrower: the headline measures."""
        named = self.section.headline
        return listing(
            "Systems",
            (*words("Queries", "System"), *figures(*named, _ANSWERABLE, *_RARE)),
            [
                (title if place == 0 else "", arm, *self._figures(scope, arm, named))
                for title, scope in self._scopes()
                for place, arm in enumerate(self._arms)
            ],
            self._rare_note(),
        )

    def _scopes(self) -> Iterator[tuple[str, Scope]]:
        present = {(item.scope.task, item.scope.split, item.scope.kind) for item in self.section.totals}
        yield "All", Scope()
        for kind in ("literal", "paraphrase", "unspecified"):
            if ("", "", kind) in present:
                yield KINDS[kind], Scope(kind=kind)
        for split in ("development", "holdout"):
            if ("", split, "") in present:
                yield f"Split {split}", Scope(split=split)
        for task in self._tasks if len(self._tasks) > 1 else ():
            yield f"Set {task}", Scope(task=task)
            for kind in ("literal", "paraphrase"):
                if (task, "", kind) in present:
                    yield f"Set {task}: {formatting.lower_first(KINDS[kind])}", Scope(task=task, kind=kind)

    def _figures(self, scope: Scope, arm: str, named: Sequence[str]) -> tuple[Cell, ...]:
        totals = self.section.totals_of(scope, arm)
        if totals is None:
            return tuple(formatting.ABSENT for _ in (*named, "queries", *_RARE))
        means: dict[str, Quantity] = {item.measure: item.mean_e9 for item in totals.measures}
        shown = self._rare()
        abstained = f"{totals.no_answer_abstained:,} of {totals.no_answer_queries:,}"
        return (
            *(value(means[name]) if name in means else formatting.ABSENT for name in named),
            f"{totals.queries:,}",
            f"{totals.failed:,} of {_asked(totals):,}" if shown[0] else "",
            f"{totals.empty:,}" if shown[1] else "",
            (abstained if totals.no_answer_queries else formatting.ABSENT) if shown[2] else "",
            f"{sum(totals.violations.values()):,}" if shown[3] else "",
            f"{totals.unmapped:,} of {totals.results:,}" if shown[4] else "",
        )

    def _rare(self) -> tuple[bool, ...]:
        """Whether any system failed, found nothing, abstained, broke a boundary, or led nowhere: no column is all 0."""
        found = [item.totals for item in self.section.totals if item.scope == Scope()]
        return (
            any(item.failed for item in found),
            any(item.empty for item in found),
            any(item.no_answer_abstained for item in found),
            any(item.violations for item in found),
            any(item.unmapped for item in found),
        )

    def _rare_note(self) -> str:
        meanings = (
            ("no query failed", "failed: queries that the system didn't answer, of all that it was asked"),
            ("something came for every query", "nothing found: queries with an answer for which nothing came"),
            ("no system abstained", "abstained: queries without an answer for which nothing came"),
            ("no boundary was broken", "violations: results that may not be returned"),
            ("every result leads to a source", "no source: results that lead to no source of the corpus, of all"),
        )
        said = [meaning[shown] for meaning, shown in zip(meanings, self._rare(), strict=True)]
        return f"Means of each query's value, over the n queries that have an answer; {'; '.join(said)}."

    def contrasts(self) -> tuple[Drawn, ...]:
        """Every treatment against the control in the headline measures, over all sets, then set by set."""
        return self._charts.contrasts()

    def curve(self) -> Curve | None:
        """Recall at every cut that all sets have; None for fewer than two."""
        return self._charts.curve()

    def latencies(self) -> tuple[Drawn, ...]:
        """What answers took, over all sets and set by set."""
        return self._charts.latencies()

    def boundaries(self) -> tuple[Listing, ...]:
        """Results that may not be returned, by kind; none where nothing of the sort was returned."""
        lines = [
            (task or "all", arm, *(f"{totals.violations.get(kind, 0):,}" for kind in _VIOLATIONS), _of(totals))  # type: ignore[call-overload]  # kinds are texts
            for task in ("", *(self._tasks if len(self._tasks) > 1 else ()))
            for arm in self._arms
            for totals in (self.section.totals_of(Scope(task=task), arm),)
            if totals is not None and totals.violations
        ]
        return listing(
            "Results that may not be returned, by the boundary that they break",
            (*words("Set", "System"), *figures(*_VIOLATIONS.values(), "Queries with any")),
            lines,
            "None is tolerated: the check “boundaries kept” fails for any of them.",
        )

    def exactness(self) -> tuple[Listing, ...]:
        """How much approximate searches find of exact ones."""
        return listing(
            "Approximate search: passages of an exact search's first k that it finds among its own",
            (*words("Set", "System", "Exact"), *figures("k", "Found", "Of", "Recall")),
            [
                (
                    item.task,
                    item.arm,
                    item.exact_arm,
                    f"{item.k}",
                    f"{item.found:,}",
                    f"{item.out_of:,}",
                    formatting.percent(rounded_quotient(item.found * PPM, item.out_of)) if item.out_of else "none",
                )
                for item in self.section.exactness
            ],
        )

    def queries(self) -> tuple[QueryTable, ...]:
        """Query by query, a table for each set."""
        return tuple(self._queries(task) for task in self._tasks)

    def _queries(self, task: str) -> QueryTable:
        rows = [row for row in self.section.rows if row.task == task]
        whole = next(item.queries for item in self.section.sets if item.task == task)
        (found,) = grouped(
            f"{task}: rank of the first relevant source, and {self.section.headline[0]}",
            (*words("Query", "Split"), *figures(*self._arms)),
            [
                (
                    KINDS[kind],
                    [(row.text, row.split, *(_cell(item) for item in row.cells)) for row in rows if row.kind == kind],
                )
                for kind in KINDS
            ],
            "“not found”: no relevant source among the results. “!” and a number: results that may not be returned. "
            "“?” and a number: results that lead to no source.",
        )
        return QueryTable(f"{task}: {formatting.of_all(len(rows), whole, 'query', 'queries')}", found)


def label_of(measure: str) -> str:
    """What a measure of rankings is called in a sentence."""
    name, at, cut = measure.partition("@")
    return f"{_LABELS.get(name, name)}{at}{cut}".replace("_", " ")


def _asked(totals: RetrievalTotals) -> int:
    return totals.queries + totals.no_answer_queries


def _of(totals: RetrievalTotals) -> str:
    return f"{totals.violating_queries:,} of {_asked(totals):,}"


def _cell(item: QueryCell) -> str:
    marks = [f"!{sum(item.violations.values())}"] if item.violations else []
    marks += [f"?{item.unmapped}"] if item.unmapped else []
    if item.failed:
        text = "failed"
    elif isinstance(item.value_e9, Unavailable):
        text = "abstained" if item.abstained else "answered"
    elif isinstance(item.first_relevant_rank, Unavailable):
        text = "not found"
    else:
        text = f"{item.first_relevant_rank.value:,} · {value(item.value_e9)}"
    return " ".join([text, *marks])
