"""What a verification found, for a person and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from runner.core.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runner.archives.index import ArchivedImage
    from runner.pipeline.concluding import Verification


def show_whole(archive: str, content_sha256: str, images: Iterable[ArchivedImage], *, err: bool = False) -> None:
    """That every byte of the archive is what its index says, and which images it holds, were printed."""
    click.echo(f"{visible(archive)} is whole: {content_sha256}", err=err)
    for image in images:
        click.echo(f"image {visible(image.pin.name)} {image.config}", err=err)


def show_verdict(run: str, found: Verification) -> None:
    """Every difference of `run` and the verdict were printed, and to standard error by which code it was reached."""
    for problem in found.differences:
        click.echo(str(problem))
    if not found.same_code:
        added = f", and {found.added} fields more than it has were computed" if found.added else ""
        skipped = f"; {', '.join(found.not_compared)} wasn't compared" if found.not_compared else ""
        click.echo(
            f"{visible(run)} was recomputed by other code than its own: figures were compared, not bytes"
            f"{added}{skipped} (the code that it keeps recomputes it with --archived-code)",
            err=True,
        )
    verdict = f"verifies: {found.checked_files} files" if found.holds else "does not verify"
    click.echo(f"{visible(run)} {verdict}")


def verdict_listing(run: str, found: Verification) -> dict[str, Any]:
    """The same as `show_verdict` prints, as JSON takes it."""
    return {
        "run": run,
        "holds": found.holds,
        "checked_files": found.checked_files,
        "same_code": found.same_code,
        "compared": "bytes" if found.same_code else "figures",
        "fields_added": found.added,
        "not_compared": list(found.not_compared),
        "differences": [
            {"document": item.document, "key": item.key, "message": item.message} for item in found.differences
        ],
    }
