"""`pairbench compare`: two runs, held against each other."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from runner import wiring
from runner.cli.progress import Watch
from runner.core.errors import ExitCode
from runner.core.visible import visible
from runner.pipeline.comparing import compare as compare_runs
from runner.pipeline.opening import opened
from runner.pipeline.sides import Side
from runner.publish.comparisons import Comparisons

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runner.core.comparison import Comparison
    from runner.publish.listing import Listing


@click.command()
@click.argument("one", metavar="A")
@click.argument("other", metavar="B")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def compare(one: str, other: str, *, as_json: bool) -> None:
    """Compare A and B: equal field by field, or their estimates side by side.

    Each is a run, or an archive: FILE, or FILE#RUN where it holds several. A run that repeats the other, or was made of
    the same where no provider answers, must equal it in everything but declared fields: exit 1 when it doesn't. Two
    measurements under equal conditions are shown side by side, without a verdict. Of any other two it is said what
    differs in how they were made, first: that is no controlled comparison, and ends with exit 1.
    """
    with Watch() as watch, ExitStack() as held:
        world = wiring.make_world(watch)
        folders = [held.enter_context(opened(world, name, Path.cwd())) for name in (one, other)]
        a, b = (Side.of(world.files, folder, name) for folder, name in zip(folders, (one, other), strict=True))
        found = compare_runs(a, b)
    if as_json:
        sys.stdout.write(found.to_bytes().decode("utf-8"))
    else:
        render_comparison(found, Console(highlight=False))
    sys.exit(exit_code(found))


def exit_code(found: Comparison) -> ExitCode:
    """Whether the two are what they must be: equal, or measured under equal conditions."""
    return ExitCode.DONE if found.equal or found.kind == "estimates" else ExitCode.FINDING


def render_comparison(found: Comparison, console: Console) -> None:
    """Print what the two have to do with each other, what differs, first difference first, and what else there is."""
    texts = Comparisons(found)
    for warning in found.warnings:
        _say(console, f"Beware: {warning}.", "bold yellow")
    for line in texts.sides():
        _say(console, line)
    _say(console, texts.verdict(), "bold red" if exit_code(found) else "bold green")
    for place, a, b in texts.differences():
        _say(console, place, "bold")
        _print_pair(console, a, b)
    if texts.more():
        _say(console, texts.more(), "dim")
    if found.kind == "equality":
        _print_listings((*texts.documents(), *texts.volatile()), console)
    else:
        _print_listings((*texts.contrasts(), *texts.means()), console)
    for note in texts.notes():
        _say(console, note, "dim")


def _print_pair(console: Console, a: str, b: str) -> None:
    """What stands on both sides, each behind its letter, also where it takes several lines."""
    table = Table(box=None, show_header=False, padding=(0, 1, 0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in (("A", a), ("B", b)):
        table.add_row(name, Text(visible(text)))
    console.print(table)


def _print_listings(listings: Iterable[Listing], console: Console) -> None:
    for item in listings:
        table = Table(
            title=Text(visible(item.caption)),
            title_justify="left",
            title_style="bold",
            header_style="dim",
            box=box.SIMPLE_HEAD,
            pad_edge=False,
        )
        for column in item.columns:
            right = column.kind == "figures"
            table.add_column(Text(column.heading), justify="right" if right else "left", overflow="fold")
        for line in item.lines:
            table.add_row(*(Text("\n".join(map(visible, cell.split("\n")))) for cell in line))
        console.print(table)
        if item.note:
            _say(console, item.note, "dim")


def _say(console: Console, text: str, style: str = "") -> None:
    console.print(Text(visible(text), style=style))
