"""Commands that send images to a registry and fetch them from one, by digest."""

from __future__ import annotations

import dataclasses
import json
import sys
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runner import wiring
from runner.archives.reading import is_archive
from runner.cli.progress import Watch
from runner.core.errors import StudyError
from runner.pipeline import archiving, imaging, registries
from runner.ports.registry import parse_pinned, parse_place
from runner.publish.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.images.oci import BuiltImage
    from runner.images.store import Store
    from runner.pipeline.registries import Pushed

_PLAIN = click.option(
    "--plain-http", is_flag=True, help="Speak HTTP without TLS, also with a registry that isn't on this machine."
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.command()
@click.argument("names", nargs=-1, metavar="[NAMES... | ARCHIVE]")
@click.option("--to", required=True, metavar="HOST[:PORT]/REPOSITORY", help="Each image goes below it, by its name.")
@_PLAIN
@_JSON
def push(names: tuple[str, ...], *, to: str, plain_http: bool, as_json: bool) -> None:
    """Send images to a registry, under the manifest digests of their locks: those of pods, NAMES, or of an ARCHIVE."""
    place = parse_place(to)
    given = _archive_of(names)
    with Watch() as watch:
        world = wiring.make_world(watch)
        repository = partial(wiring.repository, plain_http=plain_http)
        with ExitStack() as opened:
            images: tuple[BuiltImage, ...]
            store: Store
            if given is not None:
                archive = opened.enter_context(archiving.opened(world, given))
                images, store = archive.built(), archive.store
            else:
                images, store = imaging.build(world, names), world.build.store
            pushed = registries.push(repository, place, images, store, watch)
    _show(pushed, as_json=as_json)


@click.command()
@click.argument("references", nargs=-1, required=True, metavar="HOST[:PORT]/REPOSITORY@sha256:DIGEST...")
@click.option("--name", help="What the image is called here; the last part of its repository by default.")
@click.option("--no-load", is_flag=True, help="Only fetch into the cache; don't give it to the engine.")
@_PLAIN
@_JSON
def pull(references: tuple[str, ...], *, name: str | None, no_load: bool, plain_http: bool, as_json: bool) -> None:
    """Fetch images by the digests of their manifests, check every byte, and give them to the engine."""
    wanted = [parse_pinned(reference) for reference in references]
    if name is not None and len(wanted) > 1:
        raise click.UsageError("--name is for one image")
    with Watch() as watch:
        world = wiring.make_world(watch)
        store = world.build.store
        pulled = []
        for place, digest in wanted:
            with closing(wiring.repository(place, plain_http=plain_http)) as source:
                pulled.append(registries.pull(source, digest, name or place.last, store, watch))
        for image in pulled:
            if image.arch != world.build.arch:
                watch.step(f"{image.name} is an image for {image.arch}, and this machine is {world.build.arch}")
        if not no_load:
            registries.give(world.engine(), pulled, store, watch)
    if as_json:
        listing = [
            {
                "name": image.name,
                "id": image.tag,
                "manifest_digest": image.manifest_digest,
                "size_bytes": image.size_bytes,
            }
            for image in pulled
        ]
        json.dump({"images": listing}, sys.stdout, indent=2)
        sys.stdout.write("\n")
        return
    for image in pulled:
        click.echo(image.tag)


def _archive_of(names: Sequence[str]) -> Path | None:
    """The archive that `names` are; None where they name images.

    Raises:
        StudyError: a path among them is no archive's.
        UsageError: an archive stands beside something else.
    """
    archives = [Path(name) for name in names if is_archive(Path(name))]
    for name in names:
        # No image has such a name.
        if "/" in name and Path(name) not in archives:
            raise StudyError(
                "there is no archive there", document=name, hint="give an archive's file, or names of images"
            )
    if archives and len(names) > 1:
        raise click.UsageError(f"an archive is sent alone: {archives[0]} is a file, and stands beside something else")
    return archives[0] if archives else None


def _show(pushed: tuple[Pushed, ...], *, as_json: bool) -> None:
    if as_json:
        json.dump({"images": [dataclasses.asdict(item) for item in pushed]}, sys.stdout, indent=2)
        sys.stdout.write("\n")
        return
    for item in pushed:
        click.echo(item.reference)
        sent = f"{counted(item.sent_blobs, 'blob')} sent ({item.sent_bytes} bytes)"
        click.echo(f"{item.name}: {sent}; there already: {item.present_blobs}", err=True)
