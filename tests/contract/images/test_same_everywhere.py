"""The assembled image depends on nothing but its lock: another clone, user, mask, locale, zone, clock, seed and order."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from runner.images.facts import image_facts
from runner.images.spdx import spdx_document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.images.inputs import Build
    from runner.images.oci import BuiltImage

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[3]
SOMEBODY = 54_321
"""A user without a name, a home or any right here."""

# Everything is imported with the rights of the test, whose Python the other user may not be able to read: what zipfile and
# email look for when they need it, too.
ELSEWHERE = """
import email.header, email.parser, encodings.cp437, os, random, sys, time
clone, cache, uid, mask, clock, seed = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:7])
sys.path.insert(0, clone)
import hashlib
from pathlib import Path
from runner.adapters.apt import AptPackages
from runner.adapters.bytecode import ImageInterpreter
from runner.adapters.wheels import PipWheels
from runner.images.build import build_image
from runner.images.facts import image_facts
from runner.images.inputs import Build, Tools, host_arch
from runner.images.spdx import spdx_document
from runner.images.store import Store

order, real_scandir, real_listdir = random.Random(seed), os.scandir, os.listdir

class Shuffled:
    def __init__(self, path):
        with real_scandir(path) as entries:
            self.entries = list(entries)
        order.shuffle(self.entries)
    def __enter__(self):
        return self
    def __exit__(self, *_):
        return None
    def close(self):
        return None
    def __iter__(self):
        return self
    def __next__(self):
        if not self.entries:
            raise StopIteration
        return self.entries.pop()

os.scandir = lambda path=".": Shuffled(path)
os.listdir = lambda path=".": order.sample(found := real_listdir(path), len(found))
time.time = lambda: float(clock)
time.time_ns = lambda: clock * 10**9
os.umask(mask)
if uid:
    os.setgroups([]); os.setgid(uid); os.setuid(uid)
store = Store(Path(cache))
tools = Tools(AptPackages(store.folder / "apt"), PipWheels(), ImageInterpreter())
build = Build(Path(clone) / "images", store, tools, host_arch(), recorded=True)
image = build_image("gateway", build)
bill = spdx_document(image, image_facts(image, store), "bookworm")
print(image.config_digest, image.manifest_digest, hashlib.sha256(bill).hexdigest(), os.getuid())
"""


@pytest.fixture
def clone(real: tuple[BuiltImage, Build]) -> Iterator[Path]:
    """The project's code and the downloads, copied to where anyone may look, and given to nobody in particular."""
    uid = SOMEBODY if os.geteuid() == 0 else os.geteuid()
    # Folders of pytest are the test's own: another user can't enter them.
    folder = Path(tempfile.mkdtemp(prefix="pairbench clone "))
    try:
        for name in ("runner", "images"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(real[1].store.folder / "downloads", folder / "cache/downloads")
        for path in (folder, *folder.rglob("*")):
            os.chown(path, uid, -1)
        yield folder
    finally:
        shutil.rmtree(folder)


class Elsewhere(NamedTuple):
    """What differs in another place."""

    zone: str
    locale: str
    hash_seed: str
    mask: int
    clock_s: int
    order: int
    """Seed of the order in which folders list their files."""


@pytest.mark.parametrize(
    "there",
    [
        Elsewhere("Pacific/Chatham", "tr_TR.UTF-8", "4711", 0o077, 946_684_799, 1),
        Elsewhere("America/St_Johns", "C", "0", 0, 4_102_444_800, 2),
    ],
    ids=lambda there: there.zone,
)
def test_nothing_of_place_user_or_time_is_in_an_image(
    real: tuple[BuiltImage, Build], clone: Path, there: Elsewhere
) -> None:
    """A user without rights, in a clone of their own, comes to the same digests and the same bill of materials."""
    uid = SOMEBODY if os.geteuid() == 0 else 0
    arguments = map(str, (clone, clone / "cache", uid, there.mask, there.clock_s, there.order))
    done = subprocess.run(
        [sys.executable, "-B", "-c", ELSEWHERE, *arguments],
        env={
            "TZ": there.zone,
            "LC_ALL": there.locale,
            "PYTHONHASHSEED": there.hash_seed,
            "HOME": "/nonexistent",
            "PATH": os.environ["PATH"],
        },
        cwd=clone,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    image, build = real
    bill = spdx_document(image, image_facts(image, build.store), "bookworm")
    assert done.stdout.split() == [
        image.config_digest,
        image.manifest_digest,
        hashlib.sha256(bill).hexdigest(),
        str(uid or os.getuid()),
    ]


def test_the_bill_of_a_real_image_is_whole(real: tuple[BuiltImage, Build]) -> None:
    """Every file of every layer has an origin that its lock or this repository pins."""
    image, build = real
    found = {package.origin for layer in image_facts(image, build.store) for package in layer.packages}
    kinds = {origin.kind for origin in found}
    assert kinds == {"debian", "wheel", "program", "declaration"}
    assert {origin.name for origin in found if origin.kind == "wheel"} == {"Brotli", "certifi", "h11", "zstandard"}
    assert {origin.name for origin in found if origin.kind == "program"} == {"images/gateway/gateway"}
    assert all(origin.sha256.startswith("sha256:") for origin in found)
