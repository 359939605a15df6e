"""Commands that say what images are made of, and whether they are still the ones that version control names."""

from __future__ import annotations

import json
import sys
import textwrap
from typing import TYPE_CHECKING

import click
from rich.console import Console

from runner import wiring
from runner.cli.progress import Watch
from runner.core.visible import visible
from runner.pipeline import provenance
from runner.publish import formatting

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.core.canonical import Json
    from runner.images.facts import LayerFacts, PackageFacts
    from runner.images.oci import BuiltImage
    from runner.images.records import FileFacts


@click.command()
@click.argument("name")
@click.option("--files", is_flag=True, help="List every file with what it came out of.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--spdx", is_flag=True, help="Print the bill of materials, SPDX 2.3 in JSON.")
def show(name: str, *, files: bool, as_json: bool, spdx: bool) -> None:
    """Show what the image NAME is made of: layers, and the packages, wheels and programs that each came out of."""
    if spdx and (files or as_json):
        raise click.UsageError("--spdx prints a document of its own: it goes with neither --files nor --json")
    with Watch() as watch:
        world = wiring.make_world(watch)
        if spdx:
            document = provenance.bill_of(world, name)
        else:
            image, layers = provenance.facts_of(world, name)
    if spdx:
        sys.stdout.write(document.decode("utf-8") + "\n")
    elif as_json:
        json.dump(_described(image, layers, files=files), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        for line in fact_lines(image, layers, Console().width, files=files):
            click.echo(line)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def check(*, as_json: bool) -> None:
    """Build every image, and hold it against the digests in images/locks. Exit 4 when one has moved.

    A base that can't be had as locked any more is told, and is no failure: `make relock` takes today's.
    """
    with Watch() as watch:
        standing = provenance.standing_of(wiring.make_world(watch))
    if as_json:
        listing: dict[str, Json] = {
            "base": standing.base,
            "compared": standing.compared,
            "images": {image.name: image.config_digest for image in standing.images},
        }
        json.dump(listing, sys.stdout, indent=2)
        sys.stdout.write("\n")
        return
    click.echo(f"base: {standing.base}")
    if standing.compared:
        for image in standing.images:
            click.echo(f"{image.name}: {image.config_digest}, as recorded")
    elif standing.recorded:
        click.echo("nothing was held against images/locks: these images stand on another base")
    else:
        click.echo(f"nothing is recorded for {standing.images[0].arch}: nothing was held against it")


def _described(image: BuiltImage, layers: Sequence[LayerFacts], *, files: bool) -> dict[str, Json]:
    return {
        "name": image.name,
        "id": image.tag,
        "arch": image.arch,
        "base": image.base,
        "config_digest": image.config_digest,
        "manifest_digest": image.manifest_digest,
        "layers": [_layer(layer, files=files) for layer in layers],
    }


def _layer(layer: LayerFacts, *, files: bool) -> dict[str, Json]:
    described: dict[str, Json] = {
        "name": layer.layer.name,
        "diff_id": layer.layer.diff_id,
        "size_bytes": layer.layer.blob.size_bytes,
        "made_of": layer.layer.made_of,
        "packages": [_package(package) for package in layer.packages],
    }
    if files:
        described["files"] = [_file(file) for file in layer.files]
    return described


def _package(package: PackageFacts) -> dict[str, Json]:
    origin = package.origin
    return {
        "kind": origin.kind,
        "name": origin.name,
        "version": origin.version,
        "file": origin.file,
        "sha256": origin.sha256,
        "licence": origin.licence,
        "files": package.files,
        "compiled": package.compiled,
        "size_bytes": package.size_bytes,
    }


def _file(file: FileFacts) -> dict[str, Json]:
    return {
        "path": file.path,
        "kind": file.kind,
        "sha256": file.sha256,
        "size_bytes": file.size_bytes,
        "target": file.target,
        "compiled": file.compiled,
        "from": {"kind": file.origin.kind, "name": file.origin.name, "sha256": file.origin.sha256},
    }


def fact_lines(image: BuiltImage, layers: Sequence[LayerFacts], width: int, *, files: bool) -> Iterator[str]:
    """What the image is made of, within `width` columns but for digests, which aren't folded, and the list of files."""
    yield from (image.tag, f"{image.arch}, base: {image.base}", f"manifest {image.manifest_digest}")
    for layer in layers:
        size = f"{layer.layer.blob.size_bytes:,} bytes, {formatting.counted(len(layer.files), 'file')}"
        yield from ("", f"{layer.layer.name}: {size}", str(layer.layer.diff_id))
        if files:
            yield from (visible(_line(file)) for file in layer.files)
        else:
            yield from (line for package in layer.packages for line in _package_lines(package, width))


def _package_lines(package: PackageFacts, width: int) -> Iterator[str]:
    """What the package is, within `width` columns, and its digest, which isn't folded."""
    origin = package.origin
    counts = [formatting.counted(package.files, "file"), f"{package.size_bytes:,} bytes"]
    if package.compiled:
        counts.insert(1, f"{package.compiled:,} compiled")
    facts = ", ".join((*counts, *((origin.licence,) if origin.licence else ())))
    called = " ".join(part for part in (origin.kind, origin.name, origin.version) if part)
    yield from textwrap.wrap(
        visible(f"{called}: {facts}"), width, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )
    yield f"    sha256 {origin.sha256.removeprefix('sha256:')}"


def _line(file: FileFacts) -> str:
    what = f"-> {file.target}" if file.kind == "link" else f"{file.sha256} {file.size_bytes}"
    how = "compiled from " if file.compiled else ""
    return f"{file.path} {what} {how}{file.origin.kind} {file.origin}"
