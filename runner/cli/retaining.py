"""What `pairbench gc --archives` prints: the disk that runs take, what of the cache stays and why, and what goes."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table

from runner import wiring
from runner.cli.progress import Watch
from runner.core.errors import EnvironmentNotReady, Problem
from runner.pipeline.retention import KINDS, Cleaned, clean, survey

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.core.canonical import Json
    from runner.pipeline.retention import Item, RunUse, Survey

_MOST_REASONS: Final = 3


def clean_cache(more: Sequence[Path], *, user_images: bool, dry_run: bool, as_json: bool) -> None:
    """What nothing needs is gone from the cache, or with `dry_run` is only told.

    With `user_images` also images of studies' own, which nothing makes again.

    Raises:
        EnvironmentNotReady: another process uses the cache, or the disk keeps something.
    """
    with Watch() as watch:
        world = wiring.make_world(watch)
        if dry_run:
            found = survey(world, more, (Path.cwd(),), user_images=not user_images)
            done = Cleaned((), ())
        else:
            with world.alone():
                found = survey(world, more, (Path.cwd(),), user_images=not user_images)
                done = clean(found)
    if as_json:
        sys.stdout.write(json.dumps(_value(found, done, dry_run=dry_run), indent=2) + "\n")
    else:
        render_survey(found, done, Console(highlight=False, markup=False), dry_run=dry_run)
    if done.kept:
        raise EnvironmentNotReady.of(Problem(reason, str(item.path)) for item, reason in done.kept)


def render_survey(found: Survey, done: Cleaned, console: Console, *, dry_run: bool) -> None:
    """Print what runs take, what of the cache stays and why, what goes, and what couldn't be read."""
    runs = _table("run", ("folder", "its\narchives", "needs of\nthe cache", "needed by\nit alone"))
    for use in found.runs:
        sizes = (use.folder_bytes, use.archives_bytes, use.cache_bytes, use.alone_bytes)
        runs.add_row(use.run, *map(_megabytes, sizes))
    gone = "would go" if dry_run else "gone"
    cache = _table("cache", ("before", gone, "after"))
    cache.add_column("what stays is\nneeded by", overflow="fold")
    removed = found.superfluous if dry_run else done.removed
    for kind, words in KINDS.items():
        items = [item for item in found.items if item.kind == kind]
        before, away = _sum(items), _sum([item for item in removed if item.kind == kind])
        cache.add_row(words, *map(_megabytes, (before, away, before - away)), _reasons(items, found.runs))
    before, away = _sum(found.items), _sum(removed)
    cache.add_row("in all", *map(_megabytes, (before, away, before - away)), "")
    console.print(runs)
    console.print()
    console.print(cache)
    for name in found.unknown:
        console.print(f"{name} can't be read: nothing that it may need is taken away")


def _table(first: str, figures: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False)
    # Runs differ in how their names end: none is cut.
    table.add_column(first, overflow="fold")
    for name in figures:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _value(found: Survey, done: Cleaned, *, dry_run: bool) -> Json:
    removed = found.superfluous if dry_run else done.removed
    return {
        "dry_run": dry_run,
        "before_bytes": _sum(found.items),
        "after_bytes": _sum(found.items) - _sum(removed),
        "runs": [dataclasses.asdict(use) for use in found.runs],
        "removed": [{"kind": item.kind, "path": str(item.path), "size_bytes": item.size_bytes} for item in removed],
        "kept": [
            {
                "kind": item.kind,
                "path": str(item.path),
                "size_bytes": item.size_bytes,
                "needed_by": list(item.needed_by),
            }
            for item in found.items
            if item.needed_by
        ],
        "not_removed": [{"path": str(item.path), "reason": reason} for item, reason in done.kept],
        "unknown": list(found.unknown),
    }


def _reasons(items: Sequence[Item], runs: Sequence[RunUse]) -> str:
    """Who needs some of `items`, each on a line: runs by their number, everybody else by name."""
    who = {name for item in items for name in item.needed_by}
    among = who & {use.run for use in runs}
    others = sorted(who - among)
    told = [f"{len(among)} run{'s' if len(among) != 1 else ''}"] if among else []
    more = [f"{len(others) - _MOST_REASONS} more"] if len(others) > _MOST_REASONS else []
    return "\n".join((*told, *others[:_MOST_REASONS], *more))


def _sum(items: Sequence[Item]) -> int:
    return sum(item.size_bytes for item in items)


def _megabytes(size: int) -> str:
    return f"{size // 1_000_000}.{size % 1_000_000 // 100_000} MB"
