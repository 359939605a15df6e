"""How does a passage read to a model? As text, with its number and source, and without a score.

Scores differ in their last bits between CPUs; left out, they can't make two runs of one conversation differ.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Passage(NamedTuple):
    """A stretch of one source: bytes `start` up to `end`."""

    id: int
    source: str
    start: int
    end: int
    title: str
    text: str


class PassageError(ValueError):
    """What the memory holds isn't a passage."""


def from_point(point: Any) -> Passage:
    """The passage that a point of the collection holds.

    Raises:
        PassageError: it holds something else.
    """
    try:
        payload = point["payload"]
        passage = Passage(point["id"], *(payload[key] for key in ("source", "start", "end", "title", "text")))
    except (KeyError, TypeError) as error:
        raise PassageError(f"the memory holds a point that is no passage: {error!r}") from error
    texts = (passage.source, passage.title, passage.text)
    numbers = (passage.id, passage.start, passage.end)
    if not all(isinstance(text, str) for text in texts) or not all(type(number) is int for number in numbers):
        raise PassageError("the memory holds a point that is no passage: a value of the wrong type")
    return passage


def one(passage: Passage) -> str:
    """The passage as `memory_get` answers it."""
    source, title = _line(passage.source), _line(passage.title)
    return f"id={passage.id} source={source} bytes={passage.start}-{passage.end} title={title}\n{_clean(passage.text)}"


def many(found: list[Passage]) -> str:
    """The passages as `memory_search` answers them, best first."""
    if not found:
        return "No passage found."
    return "\n\n".join(f"[{place}] {one(passage)}" for place, passage in enumerate(found, 1))


def _line(text: str) -> str:
    # A line end in a title would let a corpus write headers of its own.
    return _clean(" ".join(text.split()))


def _clean(text: str) -> str:
    # Half a surrogate pair is valid JSON and has no UTF-8: it can't be sent on.
    return text.encode("utf-8", "replace").decode("utf-8")
