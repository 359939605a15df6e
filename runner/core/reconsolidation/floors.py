"""A figure of another study that may not get worse: as it was when a contract was made, and as it is since."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core.canonical import parse_json, sha256_digest
from runner.core.errors import EvidenceError
from runner.core.quantities import Measured, Quantity, Unavailable

if TYPE_CHECKING:
    from typing import Any

    from runner.core.canonical import Json
    from runner.core.reconsolidation.contract import Floor

_KIND: Final = ("format", "study")
"""What tells whether two documents are of one kind and one study."""


@dataclass(frozen=True)
class FloorFigures:
    """A floor, and what is held against it."""

    pinned: Quantity
    """Out of the file that the contract names."""
    found: Quantity
    """At the same place of a newer file."""
    found_sha256: str
    """Of the newer file; "" where none was given."""


def floor_figures(floor: Floor, pinned: bytes | None, newer: bytes | None) -> FloorFigures:
    """What `floor` pins, out of the bytes of its own file, and what a newer file of the same study has there."""
    least = floor_figure(floor, f"the file of floor {floor.name}", pinned)
    if newer is None:
        return FloorFigures(least, Unavailable(f"no newer file was given: --floor {floor.name}=FILE"), "")
    return FloorFigures(least, _newer_figure(floor, pinned or b"", newer), sha256_digest(newer))


def floor_figure(floor: Floor, name: str, data: bytes | None) -> Quantity:
    """The integer that `floor` pins, out of `data`, the bytes of the file `name`; or why there is none."""
    if data is None:
        return Unavailable(f"{name} is missing")
    if sha256_digest(data) != floor.sha256:
        return Unavailable(f"{name} isn't the file that the contract names")
    return _figure(floor, name, data)


def _newer_figure(floor: Floor, pinned: bytes, newer: bytes) -> Quantity:
    name = f"the newer file of floor {floor.name}"
    if sha256_digest(newer) == floor.sha256:
        return Unavailable(f"{name} is the one that the contract names: nothing was measured since")
    before, after = _kind(pinned), _kind(newer)
    if before != after:
        return Unavailable(f"{name} is of another study: {after}, not {before}")
    return _figure(floor, name, newer)


def _kind(data: bytes) -> str:
    """What a document says of its kind and its study; "nothing" of one that says neither."""
    try:
        value = parse_json(data, "")
    except EvidenceError:
        return "nothing"
    told = [str(value[key]) for key in _KIND if key in value] if isinstance(value, dict) else []
    return " ".join(told) or "nothing"


def _figure(floor: Floor, name: str, data: bytes) -> Quantity:
    try:
        value: Any = _at(parse_json(data, name), floor.metric)
    except (EvidenceError, KeyError, IndexError, ValueError, TypeError):
        return Unavailable(f"{name} has nothing at {floor.metric}")
    if isinstance(value, bool) or not isinstance(value, int):
        return Unavailable(f"what {name} has at {floor.metric} is no integer: {json.dumps(value)[:80]}")
    return Measured(value)


def _at(value: Json, pointer: str) -> Json:
    """What RFC 6901 calls the value at `pointer`."""
    here: Any = value
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        here = here[int(name)] if isinstance(here, list) else here[name]
    return here  # type: ignore[no-any-return]
