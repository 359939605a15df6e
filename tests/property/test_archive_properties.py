"""Whatever a run holds comes out of its archive as it went in, and an archive's bytes say nothing else."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from pathlib import Path

import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.archives.packing import packed_pieces, unpacked_pieces
from runner.archives.places import path_fault, path_problems
from runner.archives.reading import open_archive
from runner.archives.saved import read_saved
from runner.archives.trials import members, tar_chunks, tar_size
from runner.archives.writing import write_archive
from runner.core.canonical import sha256_digest
from runner.core.errors import EvidenceError
from runner.images.store import Store
from tests.fakes.archives import contents, image, laid, lay, run_files, saved_tar

PARTS = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/\\"), min_size=1, max_size=20
).filter(lambda part: part not in {".", ".."} and not part.startswith(".writing-"))
BODIES = st.one_of(st.binary(max_size=2000), st.integers(1, 4000).map(lambda size: b"ab" * size))
PATHS = st.lists(PARTS, min_size=1, max_size=3).map("/".join)
FILES = st.dictionaries(
    st.one_of(PATHS.map(lambda path: f"inputs/{path}"), PATHS.map(lambda path: f"trials/t.r1.off/{path}")),
    BODIES,
    max_size=6,
).filter(lambda files: not [*path_problems(files, "drawn")])


@settings(max_examples=40)
@given(files=FILES, split=st.one_of(st.none(), st.integers(1000, 20_000)))
def test_unpacking_gives_what_was_archived(files: dict[str, bytes], split: int | None) -> None:
    """Any paths that can be laid down, any bytes, in one file or in parts."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        wanted = {**run_files(), **files}
        run = lay(folder / "demo", wanted)
        write_archive(contents({"demo": run}), folder / "a", cache=folder / "c", split_bytes=split)
        with open_archive(folder / "a", folder / "s") as archive:
            archive.unpack_run("demo", folder / "out")
        assert laid(folder / "out") == wanted


@settings(max_examples=15)
@given(files=FILES, seed=st.integers(0, 2**32), mask=st.sampled_from([0o000, 0o022, 0o077]))
def test_an_archive_says_nothing_of_where_and_when(files: dict[str, bytes], seed: int, mask: int) -> None:
    """Order of creation, times, mask and folder leave no trace, and neither does a cache that was used."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        wanted = {**run_files(), **files}
        images = [image("trial", b"base " * 3000, b"programs"), image("gateway", b"base " * 3000)]
        write_archive(contents({"demo": lay(folder / "demo", wanted)}, images), folder / "a", cache=folder / "c")
        chance = random.Random(seed)  # noqa: S311 - an order, and no secret
        shuffled = sorted(wanted.items(), key=lambda _: chance.random())
        old = os.umask(mask)
        try:
            other = lay(folder / "deep" / "er" / "demo", dict(shuffled))
        finally:
            os.umask(old)
        for path in other.rglob("*"):
            os.utime(path, (chance.randrange(2**31), chance.randrange(2**31)))
        write_archive(contents({"demo": other}, images[::-1]), folder / "deep" / "a", cache=folder / "c")
        assert (folder / "a").read_bytes() == (folder / "deep" / "a").read_bytes()
        shutil.rmtree(folder / "c")


@given(files=st.dictionaries(PATHS, BODIES, max_size=5).filter(lambda files: not [*path_problems(files, "drawn")]))
def test_a_trials_tar_is_what_its_files_are(files: dict[str, bytes]) -> None:
    """Its size is known before it is made; what it lists is what went in, in order."""
    listed = [(path, len(data)) for path, data in sorted(files.items())]
    data = b"".join(tar_chunks(listed, lambda path: [files[path]]))
    assert len(data) == tar_size(listed)
    with tempfile.TemporaryFile() as stream:
        stream.write(data)
        stream.seek(0)
        found = members(stream, "drawn")
    assert [(member.path, member.size) for member in found] == listed
    assert all(data[member.start : member.start + member.size] == files[member.path] for member in found)


@given(data=st.binary(max_size=4000))
def test_no_bytes_make_the_reader_of_tars_fall_over(data: bytes) -> None:
    """It refuses them, in words of its own."""
    with tempfile.TemporaryFile() as stream:
        stream.write(data)
        stream.seek(0)
        try:
            members(stream, "drawn")
        except EvidenceError as error:
            assert error.problems[0].document == "drawn"  # noqa: PT017 - either is right: taken, or refused so
        else:
            assert data == bytes(1024)


@given(data=st.binary(max_size=3000), encoding=st.sampled_from(["identity", "zstd", "gzip"]), cut=st.integers(0, 3000))
def test_packing_and_unpacking_are_inverse(data: bytes, encoding: str, cut: int) -> None:
    """Wherever the pieces end."""
    pieces = [data[:cut], data[cut:]]
    packed = b"".join(packed_pieces(encoding, pieces, len(data)))  # type: ignore[arg-type]
    with tempfile.TemporaryFile() as stream:
        stream.write(packed)
        stream.seek(0)
        assert b"".join(unpacked_pieces(encoding, stream.read, len(data))) == data  # type: ignore[arg-type]


@given(data=st.binary(max_size=300), encoding=st.sampled_from(["zstd", "gzip"]), size=st.integers(0, 10_000))
def test_no_bytes_make_unpacking_fall_over(data: bytes, encoding: str, size: int) -> None:
    """They come to the declared size, or are refused."""
    magic = zstandard.MAGIC_NUMBER.to_bytes(4, "little") if encoding == "zstd" else b"\x1f\x8b\x08\x00"
    with tempfile.TemporaryFile() as stream:
        stream.write(magic + data)
        stream.seek(0)
        try:
            found = b"".join(unpacked_pieces(encoding, stream.read, size))  # type: ignore[arg-type]
        except EvidenceError:
            found = bytes(size)
        assert len(found) == size


@given(path=st.text(max_size=40))
def test_a_path_that_is_taken_stays_where_it_is_laid(path: str) -> None:
    """Joined to a folder it is below that folder, whatever it is made of."""
    if not path_fault(path):
        base = Path("/some/folder")
        assert (base / path).is_relative_to(base)
        assert os.path.normpath(base / path) == str(base / path)


@given(
    layers=st.lists(st.binary(min_size=1, max_size=3000), min_size=1, max_size=3, unique=True),
    step=st.integers(1, 5000),
)
def test_a_saved_image_is_read_however_it_comes(layers: list[bytes], step: int) -> None:
    """In pieces of any length, packed or not."""
    with tempfile.TemporaryDirectory() as temporary:
        store = Store(Path(temporary))
        made = image("trial", *layers)
        saved = saved_tar(made.config, layers)
        pieces = [saved[start : start + step] for start in range(0, len(saved), step)]
        found = read_saved(pieces, store, "drawn")
        assert found.config == made.config
        assert [blob.digest for blob in found.layers] == [sha256_digest(layer) for layer in layers]
        assert [b"".join(store.read_blob(blob.digest)) for blob in found.layers] == layers
