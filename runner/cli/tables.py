"""A summary on a terminal: the same figures as the report, from the same texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from runner.core.visible import visible
from runner.publish import formatting
from runner.publish.accounts import Accounts
from runner.publish.conditions import Conditions
from runner.publish.evidence import Evidence
from runner.publish.headlines import census_line
from runner.publish.listing import figures, words
from runner.publish.memories import Memories
from runner.publish.page import PageTexts
from runner.publish.retrieval import Retrieval

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

    from runner.core.summary import Summary
    from runner.publish.contrasts import Forest
    from runner.publish.listing import Column, Listing
    from runner.publish.page import Figures, MedianChart


def render_summary(summary: Summary, console: Console) -> None:
    """Print what `summary` found: evidence, headline, contrasts, totals, medians, census, confounders, checks."""
    texts, evidence = PageTexts(summary), Evidence(summary)
    accounts, conditions = Accounts(summary), Conditions(summary)
    style = "yellow" if summary.evidence == "fixture" else "green"
    console.print(Panel(_plain(texts.banner()), border_style=style, title=_plain(summary.study.name)))
    for sentence in texts.headlines():
        console.print(_plain(sentence, "bold"))
    console.print(_plain(_design(summary), "dim"))
    _print_listings(evidence.gates(), console)
    if summary.retrieval is not None:
        _print_retrieval(Retrieval(summary, summary.retrieval), console)
    if summary.reconsolidation is not None:
        memories = Memories(summary, summary.reconsolidation)
        _print_listings((*memories.scores(), *memories.rules()), console)
        console.print(_plain(memories.pins(), "dim"))
    for view in texts.figures():
        _print_figures(texts, view, console)
    console.print(_plain(summary.failures_line))
    _print_listings(evidence.reach(), console)
    console.print(_plain(f"Intervals: {summary.resampling.coverage}", "dim"))
    for chart in texts.median_charts():
        console.print(_medians(texts, chart))
    console.print(_plain(census_line(summary)))
    _print_listings((*accounts.census(), *conditions.conditions()), console)
    for sentence in conditions.inert():
        console.print(_plain(sentence))
    _print_listings((*conditions.findings(), *accounts.usage(), *conditions.checks()), console)


def _print_retrieval(found: Retrieval, console: Console) -> None:
    """Systems and what they are worth; what each made of each query is in the report."""
    _print_listings((*found.systems(), *found.overview()), console)
    for item in (*found.contrasts()[:1], *found.latencies()):
        table = _table(item.caption, (*words("System"), *figures(*item.columns)))
        for title, lines in item.groups:
            _row(table, (title, *("" for _ in item.columns)))
            for line in lines:
                _row(table, (f"  {line.heading}", *line.texts))
            table.add_section()
        console.print(table)
        if item.note:
            console.print(_plain(item.note, "dim"))
    _print_listings((*found.boundaries(), *found.exactness()), console)


def _design(summary: Summary) -> str:
    study = summary.study
    return (
        f"{formatting.counted(study.tasks, 'task')}, {formatting.counted(study.repetitions, 'repetition')}, "
        f"{formatting.counted(study.trials, 'trial')}; {summary.census.complete_blocks:,} of {summary.census.blocks:,} "
        f"blocks complete; client {summary.client.name} {summary.client.version}, model {summary.model.shown}"
    )


def _print_figures(texts: PageTexts, view: Figures, console: Console) -> None:
    for forest in view.forests:
        console.print(_contrasts(texts, forest))
        if forest.note:
            console.print(_plain(forest.note, "dim"))
    _print_listings(view.listings, console)
    for note in view.notes:
        console.print(_plain(f"{view.title}: {note}", "dim"))


def _contrasts(texts: PageTexts, forest: Forest) -> Table:
    columns = (texts.control, forest.arm, forest.figure, f"{texts.level} interval", "Blocks (tasks)")
    table = _table(forest.caption, (*words("Measure"), *figures(*columns)))
    for group in forest.groups:
        for line in group.lines:
            _row(table, (line.label, *line.means, line.figure, line.interval, line.size))
        table.add_section()
    return table


def _medians(texts: PageTexts, chart: MedianChart) -> Table:
    arms = [arm.name for arm in texts.summary.arms]
    table = _table(chart.label, (*words("Task"), *figures(*arms, "Blocks")))
    for line in chart.lines:
        _row(table, (line.task, *line.medians, line.blocks))
    return table


def _print_listings(listings: Iterable[Listing], console: Console) -> None:
    for item in listings:
        table = _table(item.caption, item.columns)
        for group in item.groups:
            for line in group.lines:
                _row(table, line)
            table.add_section()
        console.print(table)
        if item.note:
            console.print(_plain(item.note, "dim"))


def _table(title: str, columns: Sequence[Column]) -> Table:
    table = Table(title=_plain(title), title_justify="left", title_style="bold", header_style="dim")
    for column in columns:
        right = column.kind == "figures"
        table.add_column(_plain(column.heading), justify="right" if right else "left", overflow="fold")
    return table


def _row(table: Table, cells: Iterable[str]) -> None:
    """A row of plain texts: what a study or a client wrote is never taken as markup."""
    table.add_row(*(_plain(cell) for cell in cells))


def _plain(text: str, style: str = "") -> Text:
    """`text` without what moves a cursor, changes a colour or turns the direction of writing."""
    return Text(visible(text), style=style)
