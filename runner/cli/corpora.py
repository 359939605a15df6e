"""Commands about corpora: frozen by digest, and held against what they were frozen to."""

from __future__ import annotations

from pathlib import Path

import click

from runner import wiring
from runner.cli.progress import Watch
from runner.pipeline import freezing


@click.group()
def corpora() -> None:
    """Freeze corpora, and hold them against what they were frozen to."""


@corpora.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
def lock(files: tuple[Path, ...]) -> None:
    """Write corpus.lock.json beside each corpus.toml of FILES: digests of its tree and of its passages."""
    with Watch() as watch:
        world = wiring.make_world(watch)
        for file in files:
            made = freezing.freeze_corpus(world, file)
            click.echo(f"{made.name}: {made.files} files, {made.passages} passages, {made.tree_sha256}")


@corpora.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
def verify(files: tuple[Path, ...]) -> None:
    """Fetch and lay out each corpus of FILES, and compare it with its lock. Exit 2 when one differs."""
    with Watch() as watch:
        world = wiring.make_world(watch)
        for file in files:
            frozen = freezing.verify_corpus(world, file)
            click.echo(f"{frozen.name}: as it was frozen, {frozen.tree_sha256}")
