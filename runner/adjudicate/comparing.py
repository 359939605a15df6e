"""In what does a document of a review differ from what it must be? Every difference is named, to the entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.core.errors import PairbenchError, Problem
from runner.core.reconsolidation.key import Key
from runner.core.reconsolidation.packet import Packet

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.core.reconsolidation.key import KeyEntry
    from runner.core.reconsolidation.packet import Entry


def packet_differences(data: bytes, wanted: Packet, document: str) -> tuple[Problem, ...]:
    """In what the packet in `data` differs from the one that is `wanted`."""
    return _differences(Packet, data, wanted, document)


def key_differences(data: bytes, wanted: Key, document: str) -> tuple[Problem, ...]:
    """In what the key in `data` differs from the one that is `wanted`."""
    return _differences(Key, data, wanted, document)


def _differences(model: type[Packet | Key], data: bytes, wanted: Packet | Key, document: str) -> tuple[Problem, ...]:
    if data == wanted.to_bytes():
        return ()
    try:
        found = model.from_bytes(data, document)
    except PairbenchError as error:
        return error.problems
    named = [
        Problem("it isn't what secret and observations give", document, name)
        for name in model.model_fields
        if name != "entries" and getattr(found, name) != getattr(wanted, name)
    ]
    named += _entries(found.entries, wanted.entries, document)
    return tuple(named) or (Problem("its bytes are not canonical", document),)


def _entries(found: Sequence[Entry | KeyEntry], wanted: Sequence[Entry | KeyEntry], document: str) -> Iterator[Problem]:
    names = [entry.entry for entry in found]
    expected = {entry.entry: entry for entry in wanted}
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield Problem(f"{name} stands {names.count(name)} times", document, "entries")
    for name in sorted(set(expected) - set(names)):
        yield Problem(f"{name} is missing", document, "entries")
    for number, entry in enumerate(found):
        place = f"entries[{number}]"
        if entry.entry not in expected:
            yield Problem(f"{entry.entry} is of no output", document, place)
            continue
        for name in type(entry).model_fields:
            if getattr(entry, name) != getattr(expected[entry.entry], name):
                yield Problem(f"{name} of {entry.entry} isn't what secret and observations give", document, place)
    if sorted(names) == sorted(expected) and names != list(expected):
        yield Problem("the entries stand in another order", document, "entries")
