"""A figure of another study, found in the file that a contract names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from runner.core.canonical import parse_json, sha256_digest
from runner.core.errors import EvidenceError
from runner.core.quantities import Measured, Quantity, Unavailable

if TYPE_CHECKING:
    from typing import Any

    from runner.core.canonical import Json
    from runner.core.reconsolidation.contract import Floor


def floor_figure(floor: Floor, name: str, data: bytes | None) -> Quantity:
    """The integer that `floor` means, out of `data`, the bytes of the file `name`; or why there is none."""
    if data is None:
        return Unavailable(f"{name} is missing")
    if sha256_digest(data) != floor.sha256:
        return Unavailable(f"{name} isn't the file that the contract names")
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
