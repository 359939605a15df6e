"""Commands about images: built from locked inputs, the same on every machine."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from runner import wiring
from runner.cli.progress import Watch
from runner.pipeline import imaging
from runner.publish import formatting

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.images.oci import BuiltImage
    from runner.pipeline.world import World


@click.group()
def images() -> None:
    """Build, list and verify the images that pods are made of."""


@images.command()
@click.argument("names", nargs=-1)
@click.option("--frozen", is_flag=True, help="Refuse a base whose locked packages can't be had any more.")
@click.option("--no-load", is_flag=True, help="Only build; don't give the images to the engine.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def build(names: tuple[str, ...], *, frozen: bool, no_load: bool, as_json: bool) -> None:
    """Build NAMES (all images of pods when none is named) from their locks, and give them to the engine."""
    with Watch() as watch:
        world = wiring.make_world(watch)
        built = imaging.build(world, names, frozen=frozen)
        if not no_load:
            imaging.load(world, world.engine(), built)
    _show(world, built, as_json=as_json)


@images.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def list_(*, as_json: bool) -> None:
    """List the images with their digests; what isn't built yet is built."""
    with Watch() as watch:
        world = wiring.make_world(watch)
        built = imaging.build(world)
    _show(world, built, as_json=as_json)


@images.command()
def verify() -> None:
    """Hold the engine's images against what their locks give. Exit 3 when one is missing, 4 when one differs."""
    with Watch() as watch:
        world = wiring.make_world(watch)
        built = imaging.build(world)
        imaging.hold(world.engine(), built)
    for image in built:
        click.echo(f"{image.name}: the engine has {image.config_digest}")


@images.command()
@click.argument("names", nargs=-1)
@click.option("--layers-only", is_flag=True, help="Keep packages and wheels; only record the layers that they give.")
def relock(names: tuple[str, ...], *, layers_only: bool) -> None:
    """Resolve packages and wheels afresh for every architecture, and write images/locks.

    Where NAMES are given, only the wheels of those images are; the base and every other image stay as they are locked.
    """
    with Watch() as watch:
        world = wiring.make_world(watch)
        for path in imaging.relock_images(world, names, layers_only=layers_only):
            click.echo(path)


def _show(world: World, built: tuple[BuiltImage, ...], *, as_json: bool) -> None:
    if as_json:
        model = imaging.model_folder(world, built)
        listing = {
            "images": [
                {
                    "name": image.name,
                    "id": image.tag,
                    "config_digest": image.config_digest,
                    "manifest_digest": image.manifest_digest,
                    "diff_ids": list(image.diff_ids),
                    "size_bytes": image.size_bytes,
                    "drifted": [str(drift) for drift in image.drifted],
                }
                for image in built
            ],
            "model_dir": None if model is None else str(model),
        }
        json.dump(listing, sys.stdout, indent=2)
        sys.stdout.write("\n")
        return
    for line in image_lines(built):
        click.echo(line)


def image_lines(built: Sequence[BuiltImage]) -> Iterator[str]:
    """What each image is: a digest that is folded is copied by nobody, so each has a line, which 80 columns hold."""
    for number, image in enumerate(built):
        base = "as locked" if not image.drifted else f"drifted ({formatting.counted(len(image.drifted), 'package')})"
        yield from ("",) if number else ()
        yield f"{image.name}: {image.size_bytes // 1_000_000} MB, base {base}"
        yield from (f"config   {image.config_digest}", f"manifest {image.manifest_digest}")
