"""Reconsolidation corpora are frozen by their manifest, once, and read as it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.plan.reconsolidation import FrozenCorpus, freeze_reconsolidation, read_reconsolidation

if TYPE_CHECKING:
    from pathlib import Path

    from runner.core.reconsolidation.corpus import ReconsolidationManifest
    from runner.pipeline.world import World


def is_manifest(path: Path) -> bool:
    """Whether `path` is called as the manifest of a reconsolidation corpus is."""
    return path.suffix == ".json"


def freeze_corpus(world: World, path: Path) -> ReconsolidationManifest:
    """The manifest at `path`, which stands there from now on.

    Raises:
        StudyError: the corpus is inconsistent, or a manifest that says something else is there.
    """
    return freeze_reconsolidation(path, world.files, world.sources())


def read_corpus(world: World, path: Path) -> FrozenCorpus:
    """The corpus whose manifest is at `path`.

    Raises:
        StudyError: with every inconsistency and every drift from the manifest.
    """
    return read_reconsolidation(path, world.files, world.sources())


def described(path: Path, manifest: ReconsolidationManifest) -> str:
    """One line: what the manifest at `path` holds, and its digest."""
    return f"{path}: {len(manifest.files)} splits, scorer {', '.join(manifest.scorer)}, {manifest.digest()}"
