"""What does an archive of images cost beside `docker save | zstd`, and loading it beside `zstd -d | docker load`?

Both ways, in turn, with the same images and a container engine of the benchmark's own, which loses them before each
load. The archive is written with nothing packed in the cache; layers are in the store, as an engine has them in its
own. Our load checks every byte first, and what the engine reports after. Medians may be 1.3 times those of the pipes.

Needs root, dockerd, docker and zstd (`apt-get install zstd`).

    .venv/bin/python benchmarks/archiving.py [--rounds 5] [--json] [NAME...]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from runner import wiring
from runner.adapters.docker_engine import DockerEngine
from runner.adapters.engine_address import find_engine_address
from runner.cli.progress import Watch
from runner.images.archive import archive_chunks
from runner.pipeline import archiving, imaging
from runner.pipeline.archiving import Order

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 1.3
PRIVATE = {**os.environ, "PAIRBENCH_ENGINE": "private"}


@contextmanager
def own_engine(folder):
    """The address of an engine that nobody else uses; it and its images are gone at the end."""
    for name in ("scripts/engine.sh", "runner/adapters/engine_address.py"):
        (folder / name).parent.mkdir(parents=True)
        shutil.copy(ROOT / name, folder / name)
    script = str(folder / "scripts" / "engine.sh")
    try:
        subprocess.run([script, "start"], env=PRIVATE, check=True, stdout=sys.stderr)
        yield find_engine_address(PRIVATE, folder / ".cache")
    finally:
        subprocess.run([script, "remove"], env=PRIVATE, check=False, stdout=sys.stderr)


def seconds(work):
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def pipe(command, address):
    subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        env={**os.environ, "DOCKER_HOST": address},
        check=True,
        stdout=subprocess.DEVNULL,
    )


def forget(address, tags):
    pipe(f"docker image rm --force {' '.join(tags)}", address)


def measure(world, names, rounds, folder, address):
    engine = DockerEngine(address)
    built = imaging.build(world, [name for name in names if name != "runner"])
    if "runner" in names:
        built = (*built, imaging.runner_image(world))
    tags = [image.tag for image in built]
    engine.load_images(archive_chunks(built, world.build.store))
    ours, theirs = folder / "ours.pairbench", folder / "theirs.tar.zst"
    times = {name: [] for name in ("archive", "save | zstd", "load", "zstd -d | load")}
    for number in range(rounds):
        for file in (ours, theirs):
            file.unlink(missing_ok=True)
        # Nothing is packed yet.
        places = replace(world.places, cache=folder / f"cache-{number}")
        fresh = replace(world, places=places, engine=lambda: engine)
        order = Order(ours)
        times["archive"].append(seconds(lambda: archiving.archive_images(fresh, names, order)))  # noqa: B023
        times["save | zstd"].append(
            seconds(lambda: pipe(f"docker save {' '.join(tags)} | zstd -q -T0 -3 -o {theirs}", address))
        )
        forget(address, tags)
        times["load"].append(seconds(lambda: archiving.load_images(fresh, ours)))  # noqa: B023
        forget(address, tags)
        times["zstd -d | load"].append(seconds(lambda: pipe(f"zstd -q -dc {theirs} | docker load", address)))
        shutil.rmtree(places.cache, ignore_errors=True)
    raw = sum({layer.diff_id: layer.blob.size_bytes for image in built for layer in image.layers}.values())
    sizes = {"raw": raw, "archive": ours.stat().st_size, "save | zstd": theirs.stat().st_size}
    return times, sizes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="images; all that pods are made of when none is named")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    for program, package in (("zstd", "zstd"), ("docker", "docker.io"), ("dockerd", "docker.io")):
        if shutil.which(program) is None:
            sys.exit(f"there is no {program}: apt-get install {package}")
    with Watch() as watch, tempfile.TemporaryDirectory(prefix="pb-") as temporary:
        world = wiring.make_world(watch)
        folder = Path(temporary)
        names = given.names or [image.name for image in imaging.build(world)]
        with own_engine(folder / "e") as address:
            times, sizes = measure(world, names, given.rounds, folder, address)
    median = {name: statistics.median(values) for name, values in times.items()}
    ratios = {
        "archive": median["archive"] / median["save | zstd"],
        "load": median["load"] / median["zstd -d | load"],
    }
    if given.json:
        json.dump({"seconds": times, "bytes": sizes, "ratios": ratios, "limit": LIMIT}, sys.stdout, indent=2)
        print()
    else:
        print(f"{', '.join(names)}: {sizes['raw'] / 1e6:.0f} MB of layers, {given.rounds} rounds")
        print(f"{'way':<16} {'median s':>9} {'min':>7} {'max':>7}")
        for name, values in times.items():
            print(f"{name:<16} {median[name]:9.2f} {min(values):7.2f} {max(values):7.2f}")
        for name in ("archive", "save | zstd"):
            print(f"{name}: {sizes[name] / 1e6:.0f} MB")
        print(f"ratios (at most {LIMIT}): archive {ratios['archive']:.2f}, load {ratios['load']:.2f}")
    sys.exit(0 if max(ratios.values()) <= LIMIT else 1)


if __name__ == "__main__":
    main()
