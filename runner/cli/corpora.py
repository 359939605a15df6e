"""Commands about corpora and query sets: frozen by digest, and held against what they were frozen to."""

from __future__ import annotations

from pathlib import Path

import click

from runner import wiring
from runner.cli.progress import Watch
from runner.pipeline import freezing, reconsolidating


@click.group()
def corpora() -> None:
    """Freeze corpora and query sets, and hold them against what they were frozen to."""


@corpora.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
def lock(files: tuple[Path, ...]) -> None:
    """Write the lock of each corpus.toml and queryset.toml of FILES beside it, and the CARD.md of a corpus.

    A manifest.json freezes the reconsolidation corpus in its folder, once: it is never written again.

    A corpus.lock.json holds digests of the tree and of its passages, a queryset.lock.json those of queries, labels and
    splits, for the corpus that the set names. Name a corpus before the sets that ask it.
    """
    with Watch() as watch:
        world = wiring.make_world(watch)
        for file in files:
            if reconsolidating.is_manifest(file):
                frozen = reconsolidating.freeze_corpus(world, file)
                click.echo(reconsolidating.described(file, frozen))
            elif freezing.is_query_set(world, file):
                asked = freezing.freeze_queries(world, file)
                click.echo(f"{asked.name}: {asked.queries} queries, {asked.labels} labels, of {asked.corpus}")
            else:
                made = freezing.freeze_corpus(world, file)
                click.echo(f"{made.name}: {made.files} files, {made.passages} passages, {made.tree_sha256}")


@corpora.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
def verify(files: tuple[Path, ...]) -> None:
    """Lay out each corpus and read each query set of FILES, and compare it with its lock. Exit 2 when one differs."""
    with Watch() as watch:
        world = wiring.make_world(watch)
        for file in files:
            if reconsolidating.is_manifest(file):
                read = reconsolidating.read_corpus(world, file)
                click.echo(reconsolidating.described(file, read.manifest))
            elif freezing.is_query_set(world, file):
                asked = freezing.verify_queries(world, file)
                click.echo(f"{asked.name}: as it was frozen, {asked.queries_sha256}")
            else:
                frozen = freezing.verify_corpus(world, file)
                click.echo(f"{frozen.name}: as it was frozen, {frozen.tree_sha256}")
