"""A document is held against a file piece by piece, and where the two part is told as if both were whole."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runner.core.canonical import sha256_digest
from runner.core.errors import Problem
from runner.pipeline.sinks import Compared, Written

TEXTS = st.binary(max_size=120).map(lambda data: data.replace(b"\x01", b"\n"))


def cut(data: bytes, sizes: list[int]) -> list[bytes]:
    """`data` in pieces of these sizes, and what is left."""
    pieces = []
    for size in sizes:
        pieces.append(data[:size])
        data = data[size:]
    return [*pieces, data]


def told(found: bytes, expected: bytes) -> Problem | None:
    """What is said where both are at hand."""
    if found == expected:
        return None
    pairs = zip(found, expected, strict=False)
    place = next((place for place, (one, other) in enumerate(pairs) if one != other), min(len(found), len(expected)))
    line = expected[:place].count(b"\n") + 1
    around = expected[max(0, place - 40) : place + 20].decode("utf-8", "replace").replace("\n", " ")
    where = f"line {line}, byte {place}, near {around!r}"
    return Problem(f"differs from what the raw evidence gives, first at {where}", "x")


@given(TEXTS, TEXTS, TEXTS, st.lists(st.integers(1, 30), max_size=6), st.lists(st.integers(0, 30), max_size=6))
def test_where_a_document_differs_does_not_depend_on_its_pieces(
    same: bytes, found: bytes, expected: bytes, read: list[int], given_sizes: list[int]
) -> None:
    """Whichever way the file is read and the document is made; one may also be longer than the other."""
    sink = Compared(piece for piece in cut(same + found, read) if piece)
    for piece in cut(same + expected, given_sizes):
        sink.put(piece)
    assert sink.difference("x") == told(same + found, same + expected)
    assert sink.digest() == sha256_digest(same + expected)


def test_what_is_written_is_passed_on_and_counted() -> None:
    """In its order, with the digest of all of it."""
    pieces: list[bytes] = []
    sink = Written(pieces.append)
    sink.put(b"one\n")
    sink.put(b"two\n")
    assert pieces == [b"one\n", b"two\n"]
    assert sink.digest() == sha256_digest(b"one\ntwo\n")
