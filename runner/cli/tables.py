"""A summary on a terminal: the same figures as the report, from the same texts."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Final

from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from runner.publish import formatting
from runner.publish.listings import Listings
from runner.publish.page import PageTexts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from runner.core.summary import Summary
    from runner.publish.contrasts import Forest
    from runner.publish.listings import Listing
    from runner.publish.page import Figures, MedianChart


def render_summary(summary: Summary, console: Console) -> None:
    """Print what `summary` found: evidence, headline, contrasts, totals, medians, census, confounders, checks."""
    texts = PageTexts(summary)
    style = "yellow" if summary.evidence == "fixture" else "green"
    console.print(Panel(_plain(texts.banner()), border_style=style, title=escape(summary.study.name)))
    for sentence in texts.headlines():
        console.print(_plain(sentence, "bold"))
    for reason in summary.obstacles:
        console.print(_plain(f"The arms are not compared: {reason}.", "bold"))
    console.print(_plain(_design(summary), "dim"))
    listings = Listings(summary)
    _print_listings(listings.gates(), console)
    for figures in texts.figures():
        _print_figures(texts, figures, console)
        _print_listings(listings.of_view(figures.view), console)
    console.print(_plain(summary.failures_line))
    _print_listings(listings.reach(), console)
    console.print(_plain(f"Intervals: {summary.resampling.coverage}", "dim"))
    for chart in texts.median_charts():
        console.print(_medians(texts, chart))
    _print_census(texts, console)
    _print_confounders(texts, console)
    _print_listings(listings.conditions(), console)
    _print_checks(summary, console)


def _print_listings(listings: Iterable[Listing], console: Console) -> None:
    for item in listings:
        table = _table(item.caption, item.columns[: item.numbers_from], item.columns[item.numbers_from :])
        for line in item.lines:
            _row(table, *line)
        console.print(table)


def _design(summary: Summary) -> str:
    study = summary.study
    return (
        f"{formatting.counted(study.tasks, 'task')}, {formatting.counted(study.repetitions, 'repetition')}, "
        f"{formatting.counted(study.trials, 'trial')}; {summary.census.complete_blocks:,} of {summary.census.blocks:,} "
        f"blocks complete; client {summary.client.name} {summary.client.version}, model {summary.model.shown}"
    )


def _print_figures(texts: PageTexts, figures: Figures, console: Console) -> None:
    for forest in figures.forests:
        console.print(_contrasts(texts, figures, forest))
    console.print(_totals(texts, figures))
    if figures.excluded:
        console.print(_plain(f"Left out of every measure (blocks): {figures.excluded}", "dim"))


def _contrasts(texts: PageTexts, figures: Figures, forest: Forest) -> Table:
    title = f"{figures.title}: {forest.caption}"
    columns = [texts.control, forest.arm, forest.figure, f"{texts.level} interval", "Blocks"]
    table = _table(title, ["Measure"], columns)
    for group in forest.groups:
        for line in group.lines:
            _row(table, line.label, *line.means, line.figure, line.interval, line.blocks)
        table.add_section()
    return table


def _totals(texts: PageTexts, figures: Figures) -> Table:
    arms = [arm.name for arm in texts.summary.arms]
    columns = [*arms, *(f"{arm}, median" for arm in arms), "Blocks"]
    table = _table(f"{figures.title}: totals, and medians of task medians", ["Measure"], columns)
    for group in figures.totals:
        for line in group.lines:
            _row(table, line.label, *line.totals, *line.medians, line.blocks)
        table.add_section()
    return table


def _medians(texts: PageTexts, chart: MedianChart) -> Table:
    arms = [arm.name for arm in texts.summary.arms]
    table = _table(f"{chart.label}: median of each task", ["Task"], [*arms, "Blocks"])
    for line in chart.lines:
        _row(table, line.task, *line.medians, line.blocks)
    return table


def _print_census(texts: PageTexts, console: Console) -> None:
    arms = [arm.name for arm in texts.summary.arms]
    outcomes = _table("Trials by outcome", ["Outcome"], arms)
    for outcome, _, counts in texts.outcome_lines():
        _row(outcomes, outcome, *counts)
    console.print(outcomes)
    incomplete = [row for row in texts.summary.census.rows if not row.block_complete]
    if incomplete:
        table = _table("Trials of incomplete blocks", ["Trial", "Outcome", "Why the block is incomplete"], [])
        for row in incomplete:
            _row(table, row.trial, row.outcome.value, row.why_not)
        console.print(table)


def _print_confounders(texts: PageTexts, console: Console) -> None:
    columns = [f"{texts.control} before", "Blocks", f"{texts.control} after", "Blocks"]
    order = _table("Order effect: ratio when the control ran", ["Measure", "Arm"], columns)
    for line in texts.order_lines():
        _row(order, *line)
    console.print(order)
    for sentence in texts.inert_lines():
        console.print(_plain(sentence))
    if texts.summary.findings:
        findings = _table("Findings", ["Kind", "For example"], ["Count"])
        for item in texts.summary.findings:
            _row(findings, item.kind, item.example, f"{item.count:,}")
        console.print(findings)
    columns = ["Trials", "Attempts", "Repeated", "Tokens", "Cost", "Memory's"]
    spend = _table("All attempts, at list price", ["Arm"], columns)
    for spent in texts.spend_lines():
        _row(spend, *spent)
    console.print(spend)


# Control, format, surrogate, private and unassigned characters.
_CONTROLS: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_VERDICTS: Final = {True: "passed", False: "failed"}


def _print_checks(summary: Summary, console: Console) -> None:
    table = _table("Checks", ["Check", "Result", "What holds when it passes"], ["Looked at"])
    for check in summary.checks:
        _row(table, check.name, _VERDICTS[check.passed], check.claim, f"{check.checked:,}")
    for item in summary.not_checked:
        _row(table, item.name, "not checked", item.reason, formatting.ABSENT)
    console.print(table)


def _table(title: str, left: Iterable[str], right: Iterable[str]) -> Table:
    table = Table(title=escape(title), title_justify="left", title_style="bold", header_style="dim")
    for name in left:
        table.add_column(escape(name), overflow="fold")
    for name in right:
        table.add_column(escape(name), justify="right")
    return table


def _row(table: Table, *cells: str) -> None:
    """A row of plain texts: what a study or a client wrote is never taken as markup."""
    table.add_row(*(_plain(cell) for cell in cells))


def _plain(text: str, style: str = "") -> Text:
    """`text` without what moves a cursor, changes a colour or turns the direction of writing."""
    shown = "".join("\N{REPLACEMENT CHARACTER}" if unicodedata.category(sign) in _CONTROLS else sign for sign in text)
    return Text(shown, style=style)
