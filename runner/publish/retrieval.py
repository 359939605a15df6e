"""What a retrieval study found, as texts and positions: systems, contrasts, boundaries, times, and query by query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core.quantities import Measured, Unavailable
from runner.core.retrieval.section import Scope
from runner.core.rounding import PPM, rounded_quotient
from runner.core.summary import Estimate
from runner.publish import formatting
from runner.publish.charts import Axis, IntervalMark, Tick, amount_axis, difference_axis, interval_mark
from runner.publish.listing import Listing, figures, grouped, listing, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.core.quantities import Quantity
    from runner.core.retrieval.scores import RetrievalTotals
    from runner.core.retrieval.section import QueryCell, RetrievalSection, SystemContrast, SystemLatency
    from runner.core.summary import Summary
    from runner.publish.listing import Cell

_E9: Final = 10**9
_TO_PPM: Final = _E9 // PPM
_LABELS: Final = {"R": "Recall", "P": "Precision", "RR": "Reciprocal rank", "AP": "Average precision"}
_KINDS: Final = {
    "literal": "Queries in the words of their answer",
    "paraphrase": "Paraphrased queries",
    "unspecified": "Queries of no stated kind",
    "no_answer": "Queries without an answer",
}
_VIOLATIONS: Final = {
    "foreign_workspace": "Of a foreign workspace",
    "deleted": "Deleted",
    "expired": "Expired",
    "not_yet_known": "Not yet known",
}
_RARE: Final = ("Failed", "Nothing found", "Abstained", "Violations")
_CURVE_HEIGHT: Final = 200
_CURVE_TOP: Final = 10


@dataclass(frozen=True)
class DrawnLine:
    """One line of a table with a mark on an axis that all its lines share."""

    heading: str
    texts: tuple[str, ...]
    mark: IntervalMark | None


@dataclass(frozen=True)
class Drawn:
    """A table whose lines are drawn; lines in groups."""

    caption: str
    columns: tuple[str, ...]
    """Of the figures; the drawing stands before the last one."""
    drawing: str
    axis: Axis
    groups: tuple[tuple[str, tuple[DrawnLine, ...]], ...]
    note: str


@dataclass(frozen=True)
class CurvePoint:
    """One point of a curve, and the one before it."""

    x: str
    y: int
    from_x: str
    from_y: int
    is_first: bool


@dataclass(frozen=True)
class Curve:
    """Recall over depth, a line a system."""

    caption: str
    height: int
    ticks: tuple[Tick, ...]
    levels: tuple[tuple[int, str], ...]
    """Height and label of horizontal lines."""
    lines: tuple[tuple[str, tuple[CurvePoint, ...]], ...]
    table: tuple[Listing, ...]


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

    def _sentence(self, found: SystemContrast) -> str:
        contrast = found.contrast
        if not isinstance(contrast.difference_e9, Measured):
            return f"{found.arm} and {found.control} can't be compared: {contrast.difference_e9.reason}."
        sets = formatting.counted(len(self._tasks), "query set")
        text = (
            f"{found.arm} had a mean {contrast.measure} of {_value(contrast.treatment_e9)}, {found.control} of "
            f"{_value(contrast.control_e9)}: {_difference(contrast.difference_e9)} over "
            f"{formatting.counted(contrast.queries, 'query', 'queries')} of {sets}"
        )
        if isinstance(contrast.low_e9, Unavailable):
            return f"{text}; no interval: {contrast.low_e9.reason}."
        text += f" ({self._level} interval {_ends(contrast.low_e9, contrast.high_e9)}"
        if len(self._arms) > 2:
            together = _ends(found.together_low_e9, found.together_high_e9)
            text += f", or {together} for {formatting.all_at_once(len(self._arms) - 1)}"
        shown = _holds_zero(found.together_low_e9, found.together_high_e9)
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
                (*words("System"), *figures(*named, "Queries", *_RARE)),
                [(title, [(arm, *self._figures(scope, arm, named)) for arm in self._arms]) for title, scope in own],
                self._rare_note(),
            )
        )

    def overview(self) -> tuple[Listing, ...]:
        """The same, narrower: the headline measures."""
        named = self.section.headline
        return listing(
            "Systems",
            (*words("Queries", "System"), *figures(*named, "n", *_RARE)),
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
                yield _KINDS[kind], Scope(kind=kind)
        for split in ("development", "holdout"):
            if ("", split, "") in present:
                yield f"Split {split}", Scope(split=split)
        for task in self._tasks:
            yield f"Set {task}", Scope(task=task)
            for kind in ("literal", "paraphrase"):
                if (task, "", kind) in present:
                    yield f"Set {task}: {formatting.lower_first(_KINDS[kind])}", Scope(task=task, kind=kind)

    def _figures(self, scope: Scope, arm: str, named: Sequence[str]) -> tuple[Cell, ...]:
        totals = self.section.totals_of(scope, arm)
        if totals is None:
            return tuple(formatting.ABSENT for _ in (*named, "queries", *_RARE))
        means: dict[str, Quantity] = {item.measure: item.mean_e9 for item in totals.measures}
        shown = self._rare()
        abstained = f"{totals.no_answer_abstained:,} of {totals.no_answer_queries:,}"
        return (
            *(_value(means[name]) if name in means else formatting.ABSENT for name in named),
            f"{totals.queries:,}",
            f"{totals.failed:,}" if shown[0] else "",
            f"{totals.empty:,}" if shown[1] else "",
            (abstained if totals.no_answer_queries else formatting.ABSENT) if shown[2] else "",
            f"{sum(totals.violations.values()):,}" if shown[3] else "",
        )

    def _rare(self) -> tuple[bool, ...]:
        """Whether any system failed, found nothing, abstained, or broke a boundary: else no column says 0."""
        found = [item.totals for item in self.section.totals if item.scope == Scope()]
        return (
            any(item.failed for item in found),
            any(item.empty for item in found),
            any(item.no_answer_abstained for item in found),
            any(item.violations for item in found),
        )

    def _rare_note(self) -> str:
        meanings = (
            ("no query failed", "failed: queries that the system didn't answer"),
            ("something came for every query", "nothing found: queries with an answer for which nothing came"),
            ("no system abstained", "abstained: queries without an answer for which nothing came"),
            ("no boundary was broken", "violations: results that may not be returned"),
        )
        said = [meaning[shown] for meaning, shown in zip(meanings, self._rare(), strict=True)]
        return f"Means of each query's value; {'; '.join(said)}."

    def contrasts(self) -> tuple[Drawn, ...]:
        """Every treatment against the control in the headline measures, scope by scope."""
        found = self.section.contrasts
        tables = [("over all query sets", [item for item in found if not item.scope.task])]
        if len(self._tasks) > 1:
            tables.append(("set by set", [item for item in found if item.scope.task]))
        return tuple(self._drawn(title, own) for title, own in tables if own)

    def _drawn(self, title: str, found: Sequence[SystemContrast]) -> Drawn:
        axis = difference_axis([_estimate(item) for item in found])
        several = len(self._arms) > 2
        groups: dict[str, list[DrawnLine]] = {}
        for item in found:
            lines = groups.setdefault(f"{_scope_title(item.scope)}: {item.contrast.measure}", [])
            lines.append(_contrast_line(item, axis, several=several))
        together = f"; the joint interval holds for {formatting.all_at_once(len(self._arms) - 1)}" if several else ""
        return Drawn(
            caption=f"Differences from {self._control} in mean value, {title}, with {self._level} intervals",
            columns=("Difference", "Interval", *(["Joint interval"] if several else []), "Detectable", "Queries"),
            drawing="Difference and interval drawn, in percentage points; the dotted line stands at no difference",
            axis=axis,
            groups=tuple((heading, tuple(lines)) for heading, lines in groups.items()),
            note=f"{_capital(found[0].contrast.method)}. Detectable: a true difference that would be seen "
            f"80{formatting.NARROW}% of the time{together}.",
        )

    def boundaries(self) -> tuple[Listing, ...]:
        """Results that may not be returned, by kind; none where nothing of the sort was returned."""
        lines = [
            (task or "all", arm, *(f"{totals.violations.get(kind, 0):,}" for kind in _VIOLATIONS), _of(totals))  # type: ignore[call-overload]  # kinds are texts
            for task in ("", *self._tasks)
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

    def curve(self) -> Curve | None:
        """Recall at every cut that all sets have; None for fewer than two."""
        totals = {arm: self.section.totals_of(Scope(), arm) for arm in self._arms}
        recalls: dict[str, dict[int, int]] = {}
        for arm, found in totals.items():
            recalls[arm] = {
                int(item.measure[2:]): item.mean_e9.value
                for item in (found.measures if found is not None else ())
                if item.measure.startswith("R@") and isinstance(item.mean_e9, Measured)
            }
        ks = sorted(recalls[self._control])
        if len(ks) < 2:
            return None
        places = {k: f"{10 + 80 * place // (len(ks) - 1)}%" for place, k in enumerate(ks)}
        return Curve(
            caption="Recall by how many sources are looked at, over all query sets",
            height=_CURVE_HEIGHT + 2 * _CURVE_TOP,
            ticks=tuple(Tick(places[k], str(k)) for k in ks),
            levels=tuple((_height(_E9 * part // 4), f"{25 * part}{formatting.NARROW}%") for part in range(5)),
            lines=tuple((arm, _points([(places[k], _height(found[k])) for k in ks])) for arm, found in recalls.items()),
            table=listing(
                "Recall at k, over all query sets",
                (*words("System"), *figures(*(f"R@{k}" for k in ks))),
                [(arm, *(_value(Measured(found[k])) for k in ks)) for arm, found in recalls.items()],
            ),
        )

    def latencies(self) -> tuple[Drawn, ...]:
        """What answers took, over all sets and set by set."""
        ends = [
            item.value
            for latency in self.section.latencies
            for item in (latency.total.p95_us,)
            if isinstance(item, Measured)
        ]
        if not ends:
            return ()
        axis = amount_axis(ends, _axis_time)
        return (
            Drawn(
                caption="What an answer took, of all trials that completed",
                columns=("p50", "p95", "Longest", "p50 with a relevant source", "Embedding p50", "Answers"),
                drawing="From the shortest to the 95th percentile, with the median as a dot",
                axis=axis,
                groups=tuple(
                    (
                        task or "All query sets",
                        tuple(_latency_line(item, axis) for item in self.section.latencies if item.task == task),
                    )
                    for task in dict.fromkeys(item.task for item in self.section.latencies)
                ),
                note=self.section.latency_rule,
            ),
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
                    _KINDS[kind],
                    [(row.text, row.split, *(_cell(item) for item in row.cells)) for row in rows if row.kind == kind],
                )
                for kind in _KINDS
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


def _value(quantity: Quantity) -> str:
    return formatting.decimal(quantity.value, _E9, 3, (0, _E9)) if isinstance(quantity, Measured) else formatting.ABSENT


def _difference(quantity: Quantity) -> str:
    if isinstance(quantity, Unavailable):
        return formatting.ABSENT
    return formatting.signed(formatting.decimal(quantity.value, _E9, 3))


def _ends(low: Quantity, high: Quantity) -> str:
    if isinstance(low, Unavailable):
        return f"none: {low.reason}"
    return f"{_difference(low)} to {_difference(high)}"


def _holds_zero(low: Quantity, high: Quantity) -> bool:
    return isinstance(low, Measured) and isinstance(high, Measured) and low.value <= 0 <= high.value


def _scope_title(scope: Scope) -> str:
    parts = [scope.task or "All query sets"]
    parts += [formatting.lower_first(_KINDS.get(scope.kind, scope.kind))] if scope.kind else []
    parts += [f"split {scope.split}"] if scope.split else []
    return ", ".join(parts)


def _ppm(quantity: Quantity) -> Quantity:
    return Measured(rounded_quotient(quantity.value, _TO_PPM)) if isinstance(quantity, Measured) else quantity


def _estimate(item: SystemContrast) -> Estimate:
    contrast = item.contrast
    return Estimate(value=_ppm(contrast.difference_e9), low=_ppm(contrast.low_e9), high=_ppm(contrast.high_e9))


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _contrast_line(item: SystemContrast, axis: Axis, *, several: bool) -> DrawnLine:
    contrast = item.contrast
    joint = [_ends(item.together_low_e9, item.together_high_e9)] if several else []
    texts = (
        _difference(contrast.difference_e9),
        _ends(contrast.low_e9, contrast.high_e9),
        *joint,
        _value(contrast.detectable_e9),
        f"{contrast.queries:,}",
    )
    return DrawnLine(item.arm, texts, interval_mark(_estimate(item), axis))


def _latency_line(item: SystemLatency, axis: Axis) -> DrawnLine:
    total = item.total
    texts = (
        _time(total.p50_us),
        _time(total.p95_us),
        _time(total.highest_us),
        _time(item.first_relevant.p50_us),
        _time(item.embed.p50_us),
        f"{total.queries:,}",
    )
    return DrawnLine(
        item.arm, texts, interval_mark(Estimate(value=total.p50_us, low=total.lowest_us, high=total.p95_us), axis)
    )


def _time(quantity: Quantity) -> str:
    if isinstance(quantity, Unavailable):
        return formatting.ABSENT
    return f"{formatting.decimal(quantity.value, 1_000, 2)}{formatting.NARROW}ms"


def _axis_time(value: int) -> str:
    return f"{formatting.exact(value, 1_000, 0)}{formatting.NARROW}ms" if value else "0"


def _height(value_e9: int) -> int:
    """Pixels from the top, of a value from 0 to 1."""
    return _CURVE_TOP + _CURVE_HEIGHT - rounded_quotient(value_e9 * _CURVE_HEIGHT, _E9)


def _points(places: Sequence[tuple[str, int]]) -> tuple[CurvePoint, ...]:
    pairs = zip(places, (places[0], *places), strict=False)
    return tuple(
        CurvePoint(x, y, from_x, from_y, number == 0) for number, ((x, y), (from_x, from_y)) in enumerate(pairs)
    )


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
        text = f"{item.first_relevant_rank.value:,} · {_value(item.value_e9)}"
    return " ".join([text, *marks])
