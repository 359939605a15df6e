"""What the stages may rely on from a store of vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from runner.adapters.vector_cache import VectorCache
from runner.core.canonical import sha256_digest
from runner.core.errors import EnvironmentNotReady
from tests.fakes.vectors import MemoryVectors

if TYPE_CHECKING:
    from pathlib import Path

    from runner.ports.vectors import Vectors

ONE, TWO, THREE = (sha256_digest(name) for name in (b"one", b"two", b"three"))


@pytest.fixture(params=["memory", "sqlite"])
def vectors(request: pytest.FixtureRequest, tmp_path: Path) -> Vectors:
    return MemoryVectors() if request.param == "memory" else VectorCache(tmp_path / "cache/vectors.sqlite")


def test_what_was_put_is_got(vectors: Vectors) -> None:
    """Bytes come back unchanged, and keys that nobody put are left out."""
    vectors.put({ONE: b"\x00\x01", TWO: b""})
    assert vectors.get([ONE, TWO, THREE]) == {ONE: b"\x00\x01", TWO: b""}


def test_an_empty_store_has_nothing(vectors: Vectors) -> None:
    """The first run on a machine."""
    assert vectors.get([ONE]) == {}
    assert vectors.get([]) == {}


def test_the_last_put_counts(vectors: Vectors) -> None:
    """Two processes that embed the same text write the same vector twice."""
    vectors.put({ONE: b"old", TWO: b"two"})
    vectors.put({ONE: b"new"})
    assert vectors.get([ONE, TWO]) == {ONE: b"new", TWO: b"two"}


def test_a_store_outlives_its_process(tmp_path: Path) -> None:
    """It is a file, and two may have it open."""
    first, second = VectorCache(tmp_path / "v.sqlite"), VectorCache(tmp_path / "v.sqlite")
    first.put({ONE: b"one"})
    second.put({TWO: b"two"})
    assert first.get([ONE, TWO]) == {ONE: b"one", TWO: b"two"}


def test_a_damaged_store_says_what_to_do(tmp_path: Path) -> None:
    """It holds nothing that can't be made again."""
    (tmp_path / "v.sqlite").write_bytes(b"this is no database, whatever its name says" * 100)
    with pytest.raises(EnvironmentNotReady) as caught:
        VectorCache(tmp_path / "v.sqlite").get([ONE])
    assert caught.value.problems[0].document == str(tmp_path / "v.sqlite")
    assert caught.value.problems[0].hint == "delete the file and try again"
