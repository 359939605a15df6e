"""Members of an event as the types that its kind promises; whatever else stands there is a `ShapeError`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from runner.core.events import Corrupt, Event, json_lines, plain_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from runner.core.canonical import Json


class ShapeError(Exception):
    """An event isn't shaped as its kind is."""


def events_of(stdout: bytes, read: Callable[[Mapping[str, Json]], Iterable[Event]]) -> Iterator[Event]:
    """What `read` makes of every object of the stream, in its order; whatever can't be read is a `Corrupt`."""
    for line, _, item in json_lines(stdout):
        if isinstance(item, Corrupt):
            yield item
            continue
        try:
            events = tuple(read(item))
        except ShapeError as error:
            events = (Corrupt(line, str(error)),)
        yield from events


def text_at(item: Mapping[str, Json], key: str) -> str:
    """The text at `key`; raises `ShapeError`."""
    value = item.get(key)
    # Nearly all texts that are asked for are short names.
    return value if isinstance(value, str) and value.isascii() else as_text(value, key)


def as_text(value: Json, key: str) -> str:
    """`value`, which is a text; raises `ShapeError`."""
    if not isinstance(value, str):
        raise ShapeError(f"{key} is not a text")
    return plain_text(value)


def optional_text(item: Mapping[str, Json], key: str) -> str:
    """The text at `key`, "" where there is none; raises `ShapeError`."""
    value = item.get(key)
    return "" if value is None else as_text(value, key)


def truth_at(item: Mapping[str, Json], key: str) -> bool:
    """The boolean at `key`; raises `ShapeError`."""
    value = item.get(key)
    if not isinstance(value, bool):
        raise ShapeError(f"{key} is not true or false")
    return value


def object_at(item: Mapping[str, Json], key: str) -> Mapping[str, Json]:
    """The object at `key`; raises `ShapeError`."""
    return as_object(item.get(key), key)


def as_object(value: Json, key: str) -> Mapping[str, Json]:
    """`value`, which is an object; raises `ShapeError`."""
    if not isinstance(value, Mapping):
        raise ShapeError(f"{plain_text(key)} is not an object")
    return value


def list_at(item: Mapping[str, Json], key: str) -> Sequence[Json]:
    """The list at `key`; raises `ShapeError`."""
    value = item.get(key)
    if not isinstance(value, list):
        raise ShapeError(f"{key} is not a list")
    return value


def objects_at(item: Mapping[str, Json], key: str) -> Iterator[Mapping[str, Json]]:
    """The objects of the list at `key`; raises `ShapeError`."""
    for value in list_at(item, key):
        yield as_object(value, key)


def texts_at(item: Mapping[str, Json], key: str) -> tuple[str, ...]:
    """The texts of the list at `key`; raises `ShapeError`."""
    return tuple(as_text(value, key) for value in list_at(item, key))
