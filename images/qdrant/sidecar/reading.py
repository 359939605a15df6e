"""Reads a request's JSON: every value is asked for by type, and every complaint names the place.

A `Node` is one value and its path. It knows nothing of Qdrant. Keys that nobody asked for are refused, so that a
misspelt option can't silently change a measurement; null stands for absent, as in Qdrant's own interface.
"""

from __future__ import annotations

import json
import math

from sidecar.refusal import Refused, bad_format, out_of_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn, TypeAlias, TypeVar

    Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
    T = TypeVar("T")

INT64_MAX = 2**63 - 1


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def parse(body: bytes) -> Node:
    """Return the root of `body`.

    Raises:
        Refused: with 400, when the body is not strict JSON in UTF-8 (NaN and Infinity are not).
    """
    try:
        return Node(json.loads(body.decode("utf-8"), parse_constant=_no_constant), "")
    except RecursionError:
        raise Refused(400, "Format error in JSON body: nested too deeply") from None
    except ValueError as error:
        raise Refused(400, f"Format error in JSON body: {error}") from None


class Node:
    """One JSON value and where it stands in the body."""

    __slots__ = ("value", "where")

    def __init__(self, value: Json, where: str) -> None:
        """Hold `value`, found at the path `where`."""
        self.value = value
        self.where = where

    def refuse(self, message: str) -> Refused:
        """Return the error that says `message` about this place."""
        return bad_format(self.where or "body", message)

    def is_object(self) -> bool:
        """Tell whether the value is an object."""
        return isinstance(self.value, dict)

    def is_list(self) -> bool:
        """Tell whether the value is a list."""
        return isinstance(self.value, list)

    def is_text(self) -> bool:
        """Tell whether the value is a string."""
        return isinstance(self.value, str)

    def object(self, *known: str) -> Node:
        """Return self, an object without keys other than `known`."""
        if not isinstance(self.value, dict):
            raise self.refuse("an object is expected")
        for key in self.value:
            if key not in known:
                raise self.refuse(f"unknown field `{key}`, expected one of: {', '.join(known)}")
        return self

    def members(self) -> dict[str, Node]:
        """Return every member of an object whose keys are the caller's to choose."""
        if not isinstance(self.value, dict):
            raise self.refuse("an object is expected")
        return {key: Node(value, f"{self.where}.{key}" if self.where else key) for key, value in self.value.items()}

    def has(self, key: str) -> bool:
        """Tell whether the object has `key` with something other than null."""
        return isinstance(self.value, dict) and self.value.get(key) is not None

    def get(self, key: str) -> Node | None:
        """Return the member `key`, or None where it is absent or null."""
        if not isinstance(self.value, dict):
            raise self.refuse("an object is expected")
        value = self.value.get(key)
        if value is None:
            return None
        return Node(value, f"{self.where}.{key}" if self.where else key)

    def need(self, key: str) -> Node:
        """Return the member `key`, which must be there."""
        member = self.get(key)
        if member is None:
            raise self.refuse(f"missing field `{key}`")
        return member

    def items(self) -> list[Node]:
        """Return the items of a list."""
        if not isinstance(self.value, list):
            raise self.refuse("a list is expected")
        return [Node(item, f"{self.where}[{index}]") for index, item in enumerate(self.value)]

    def one_or_many(self) -> list[Node]:
        """Return the items of a list, or the one value that stands in its place."""
        return self.items() if isinstance(self.value, list) else [self]

    def integer(self, least: int = 0, most: int = INT64_MAX) -> int:
        """Return a whole number from `least` to `most`."""
        if type(self.value) is not int:
            raise self.refuse("an integer is expected")
        if not least <= self.value <= most:
            raise out_of_range(self.where, f"value {str(self.value)[:40]} invalid, must be from {least} to {most}")
        return self.value

    def number(self) -> float:
        """Return a finite number."""
        if type(self.value) not in (int, float):
            raise self.refuse("a number is expected")
        try:
            number = float(self.value)  # type: ignore[arg-type]
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self.refuse("the number is out of range")
        return number

    def text(self) -> str:
        """Return a string that UTF-8 can carry."""
        if not isinstance(self.value, str):
            raise self.refuse("a string is expected")
        try:
            self.value.encode("utf-8")
        except UnicodeEncodeError:
            raise self.refuse("a lone surrogate is not text") from None
        return self.value

    def flag(self) -> bool:
        """Return a boolean."""
        if not isinstance(self.value, bool):
            raise self.refuse("a boolean is expected")
        return self.value

    def choice(self, table: dict[str, T]) -> T:
        """Return what `table` has for this string."""
        name = self.text()
        if name not in table:
            raise self.refuse(f"unknown variant `{name[:80]}`, expected one of: {', '.join(table)}")
        return table[name]

    def texts(self) -> list[str]:
        """Return a list of strings."""
        return [item.text() for item in self.items()]
