"""Threat: an archive is damaged on its way, by chance or by somebody, and is taken for what it was.

A flipped bit anywhere, or an end that comes too early, is refused before anything of the archive is used, and the entry
in which it is, or the index, is named.
"""

from __future__ import annotations

import io
import os
import random
import tarfile
from typing import TYPE_CHECKING

import pytest

from runner.archives.reading import open_archive
from runner.archives.writing import write_archive
from runner.core.errors import EvidenceError, ExitCode
from tests.fakes.archives import contents, image, lay, run_files

if TYPE_CHECKING:
    from pathlib import Path

PLACES = 200
BLOCK = 512
NOISE = os.urandom(3_000)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """An archive with every kind of entry: packed either way or not at all, a runner, a run, code."""
    folder = tmp_path_factory.mktemp("whole")
    run = lay(folder / "demo", run_files(inputs__noise=NOISE, inputs__other=NOISE[::-1]))
    images = [
        image("trial", b"base " * 400, b"programs " * 100),
        image("runner", b"base " * 400, b"our code " * 100, role="runner"),
        image("gateway", b"alone " * 400),
    ]
    write_archive(contents({"demo": run}, images), folder / "a", cache=folder / "c")
    return (folder / "a").read_bytes()


class Regions:
    """What each byte of an archive belongs to."""

    def __init__(self, whole: bytes) -> None:
        with tarfile.open(fileobj=io.BytesIO(whole)) as archive:
            self.members = archive.getmembers()
        self.end = self.members[-1].offset_data + -(-self.members[-1].size // BLOCK) * BLOCK

    def entry(self, place: int) -> str:
        """The entry that must be named for a fault at `place`."""
        return next((m.name for m in reversed(self.members) if m.offset <= place), "")

    def named(self, place: int) -> set[str]:
        """The names that may stand for it: a seal and the index that it seals are one."""
        name = self.entry(place)
        return {"archive.json", "archive.sha256"} if name == "archive.sha256" else {name}

    def kinds(self) -> dict[str, int]:
        """A byte of every kind."""
        found: dict[str, int] = {}
        for member in self.members:
            kind = member.name.rpartition(".")[2] if member.name.startswith("blobs/") else member.name
            kind = kind if kind in {"zst", "gz"} or not member.name.startswith("blobs/") else "identity"
            found[f"{kind}: name"] = member.offset
            found[f"{kind}: mode"] = member.offset + 100
            found[f"{kind}: size"] = member.offset + 130
            found[f"{kind}: checksum"] = member.offset + 150
            found[f"{kind}: type"] = member.offset + 156
            found[f"{kind}: unused"] = member.offset + 505
            found[f"{kind}: first byte"] = member.offset_data
            found[f"{kind}: last byte"] = member.offset_data + member.size - 1
            if member.size % BLOCK:
                found[f"{kind}: padding"] = member.offset_data + member.size
        found["end: first byte"] = self.end
        found["end: last byte"] = self.end + 2 * BLOCK - 1
        return found


def refused(data: bytes, folder: Path) -> str:
    """What the refusal names; nothing of the archive may be left or used."""
    folder.mkdir()
    (folder / "a").write_bytes(data)
    with pytest.raises(EvidenceError) as caught, open_archive(folder / "a", folder / "s"):
        pass
    assert caught.value.exit_code == ExitCode.DOES_NOT_VERIFY
    left = sorted(path.name for path in folder.iterdir())
    assert left in (["a"], ["a", "s"])
    assert not (folder / "s").exists() or list((folder / "s").iterdir()) == []
    (problem,) = caught.value.problems
    return problem.document


def flipped(whole: bytes, place: int, bit: int) -> bytes:
    data = bytearray(whole)
    data[place] ^= 1 << bit
    return bytes(data)


def test_it_holds_as_it_is(whole: bytes, tmp_path: Path) -> None:
    """What is flipped below is the only thing that is wrong."""
    (tmp_path / "a").write_bytes(whole)
    with open_archive(tmp_path / "a", tmp_path / "s") as archive:
        assert list(archive.index.runs) == ["demo"]
        assert {pin.encoding for pin in archive.index.blobs.values()} == {"identity", "zstd", "gzip"}


def test_a_flipped_bit_anywhere_is_refused_and_placed(whole: bytes, tmp_path: Path) -> None:
    """200 places at random, and other ones each time: the entry is named, or the index."""
    seed = int.from_bytes(os.urandom(4))
    chance, regions = random.Random(seed), Regions(whole)  # noqa: S311 - places, and no secrets
    for number in range(PLACES):
        place, bit = chance.randrange(len(whole)), chance.randrange(8)
        named = refused(flipped(whole, place, bit), tmp_path / str(number))
        assert named in regions.named(place), f"seed {seed}: bit {bit} of byte {place}"


def test_a_flipped_bit_in_every_kind_of_place_is_refused_and_placed(whole: bytes, tmp_path: Path) -> None:
    """Each field of a header, the ends of each body, what fills the last block, the archive's end."""
    regions = Regions(whole)
    kinds = regions.kinds()
    assert len(kinds) > 50
    for number, (kind, place) in enumerate(kinds.items()):
        for bit in (0, 7):
            named = refused(flipped(whole, place, bit), tmp_path / f"{number}-{bit}")
            assert named in regions.named(place), f"{kind}: bit {bit} of byte {place}"


def test_an_end_that_comes_too_early_is_refused_and_placed(whole: bytes, tmp_path: Path) -> None:
    """At any place: within a header, a body, between entries, within the archive's own end, and at its beginning."""
    seed = int.from_bytes(os.urandom(4))
    regions, chance = Regions(whole), random.Random(seed)  # noqa: S311 - places, and no secrets
    places = [0, 1, 511, 512, 600, len(whole) - 1, len(whole) - 512, len(whole) - 1024, len(whole) - 1025]
    places += [member.offset for member in regions.members] + [chance.randrange(len(whole)) for _ in range(60)]
    for number, place in enumerate(places):
        named = refused(whole[:place], tmp_path / str(number))
        # Cut before the index is whole, nobody knows what would have followed.
        known = regions.named(place) | ({"archive.json"} if place <= regions.members[1].offset_data else set())
        assert named in known, f"seed {seed}: cut at byte {place}"


@pytest.mark.parametrize("more", [b"\0", b"x", bytes(512), bytes(10240), b"x" * 5000])
def test_nothing_may_follow_the_end(whole: bytes, tmp_path: Path, more: bytes) -> None:
    """Not even the empty blocks that other programs put there."""
    assert refused(whole + more, tmp_path / "x").endswith("/a")


def test_a_swap_of_two_bodies_is_refused(whole: bytes, tmp_path: Path) -> None:
    """Each is sound, and stands under the other's name."""
    regions = Regions(whole)
    blobs = [member for member in regions.members if member.name.startswith("blobs/")]
    first, second = next(
        (one, other) for one in blobs for other in blobs if one.size == other.size and one.offset < other.offset
    )
    data = bytearray(whole)
    for to, source in ((first, second), (second, first)):
        data[to.offset_data : to.offset_data + to.size] = whole[source.offset_data : source.offset_data + source.size]
    assert refused(bytes(data), tmp_path / "x") == first.name
