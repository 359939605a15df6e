"""The provider's key is found wherever it ends, however it is cut up, and nothing else is taken for it."""

from __future__ import annotations

import gzip

import pytest
from gateway.exchange import Burst, burst_of
from gateway.key_watch import KeyWatch, is_in_head
from hypothesis import given
from hypothesis import strategies as st

KEY = b"sk-0123456789"
TEXT = b"before " + KEY + b" behind"


@given(st.lists(st.integers(1, 25), max_size=30))
def test_it_is_found_with_its_last_byte(sizes: list[int]) -> None:
    """Not before, and in whatever pieces it comes."""
    watch, start = KeyWatch(KEY, ""), 0
    for size in [*sizes, len(TEXT)]:
        piece, start = TEXT[start : start + size], start + size
        if watch.finds(burst_of(piece)):
            break
    assert start - size < len(b"before " + KEY) <= start


def test_what_is_like_it_is_none() -> None:
    """All but its last byte, twice; and nothing at all."""
    watch = KeyWatch(KEY, "")
    assert [watch.finds(burst_of(piece)) for piece in (KEY[:-1], KEY[:-1], b"", KEY[1:])] == [False] * 4


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_it_is_found_in_what_is_packed(size: int) -> None:
    """And in what frames a chunk; a coding that nobody reads is searched as it is."""
    packed = gzip.compress(TEXT)
    watch = KeyWatch(KEY, "gzip")
    assert any(watch.finds(burst_of(packed[start : start + size])) for start in range(0, len(packed), size))
    assert KeyWatch(KEY, "").finds(Burst(b"{}", (2,), b"2;a=" + KEY + b"\r\n{}\r\n"))
    assert not KeyWatch(KEY, "strange").finds(burst_of(packed))
    assert not KeyWatch(KEY, "gzip").finds(burst_of(b"no gzip at all"))


def test_it_is_found_in_a_head() -> None:
    """In a value, or in a name."""
    assert is_in_head(KEY, ((b"x-a", b"b"), (b"x-quoted", b"Bearer " + KEY)))
    assert is_in_head(KEY, ((KEY, b""),))
    assert not is_in_head(KEY, ((b"x-a", KEY[1:]),))
