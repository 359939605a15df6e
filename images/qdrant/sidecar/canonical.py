"""The canonical form of a payload (RFC 8785) and the digest over points that identifies an index by what it holds."""

from __future__ import annotations

import hashlib
import json
import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sidecar.reading import Json

SAFE_INTEGER = 2**53 - 1


def canonical_json(value: Json) -> bytes:
    """Return the one RFC 8785 text of `value`, in UTF-8.

    Raises:
        ValueError: for an integer beyond 2^53 - 1, a number that isn't finite, or text that UTF-8 can't carry.
    """
    return _text(value).encode("utf-8")


def _text(value: Json) -> str:
    if isinstance(value, dict):
        # RFC 8785 section 3.2.3 orders names by their UTF-16 code units.
        names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{_text(name)}:{_text(value[name])}" for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > SAFE_INTEGER:
        raise ValueError(f"the integer {value} isn't exact in every JSON reader (beyond 2^53 - 1)")
    return json.dumps(value, ensure_ascii=False)


def _number(value: float) -> str:
    """Return a number as ECMAScript's Number::toString does (ECMA-262 section 6.1.6.1.20)."""
    if not math.isfinite(value):
        raise ValueError("a number that isn't finite")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent_text = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent_text or "0") - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        return sign + digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    exponent = f"e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return sign + digits[0] + ("." + digits[1:] if count > 1 else "") + exponent


class LogicalDigest:
    """The digest over (id, vector, canonical payload) of points that are added in the order of their ids.

    An id is 8 bytes, little-endian; vector (little-endian float32) and payload follow their lengths in 8 such bytes.
    Where there are sparse vectors, their canonical declaration comes first, after its length; and after each payload,
    for each of their names in order, the indices (little-endian uint32) and the values (float32), after their lengths.
    """

    __slots__ = ("_digest",)

    def __init__(self, sparse: dict[str, Json]) -> None:
        """Cover no point yet; `sparse` declares the sparse vectors, empty for none."""
        self._digest = hashlib.sha256()
        if sparse:
            self._part(canonical_json(sparse))

    def add(self, identifier: int, *parts: bytes) -> None:
        """Cover one more point: its vector, its payload, and the indices and values of each sparse vector."""
        self._digest.update(identifier.to_bytes(8, "little"))
        for part in parts:
            self._part(part)

    def text(self) -> str:
        """Return `sha256:<hex>` over what was added so far."""
        return f"sha256:{self._digest.hexdigest()}"

    def _part(self, part: bytes) -> None:
        self._digest.update(len(part).to_bytes(8, "little"))
        self._digest.update(part)
