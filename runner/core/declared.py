"""What a person wrote in TOML is read strictly, and as much of it as possible, so that all of its faults are told."""

from __future__ import annotations

import copy
import tomllib
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from runner.core.canonical import parsing_fault
from runner.core.documents import place_of, validated
from runner.core.errors import Problem, StudyError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

M = TypeVar("M", bound=BaseModel)

BOM: Final = b"\xef\xbb\xbf"


def parse_toml(data: bytes, document: str) -> dict[str, Any]:
    """The tables in `data`.

    Raises:
        StudyError: it isn't UTF-8, or isn't TOML.
    """
    if data.startswith(BOM):
        hint = "save it as UTF-8 without one"
        raise StudyError("not TOML: it begins with a byte order mark", document=document, key="line 1", hint=hint)
    try:
        return tomllib.loads(data.decode("utf-8"))
    # Parsing takes a few frames for each bracket; nothing that people write is nested deeper than a handful.
    except RecursionError as error:
        raise StudyError(f"not TOML: {parsing_fault(error)}", document=document) from error
    # Also UnicodeDecodeError and TOMLDecodeError.
    except ValueError as error:
        raise StudyError(f"not TOML: {parsing_fault(error)}", document=document) from error


def read_declared(model: type[M], data: bytes, document: str) -> M:
    """The declaration in `data`.

    Raises:
        StudyError: with everything that is wrong with it.
    """
    return validated(model, parse_toml(data, document), document, StudyError)


def salvage_declared(
    model: type[M],
    data: bytes,
    document: str,
    optional: Collection[str] = (),
    stand_ins: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[M | None, tuple[Problem, ...]]:
    """The declaration in `data`, and everything that is wrong with it.

    What is wrong is left out: a table of `optional` as a whole, anything else by its key. Where a key of the document
    itself is then missing, `stand_ins` may have a value for it. Whoever goes on with what is left finds what else is
    wrong; where too little is left, the declaration is None.
    """
    try:
        value = parse_toml(data, document)
        return validated(model, value, document, StudyError), ()
    except StudyError as error:
        if not isinstance(error.__cause__, ValidationError):
            return None, error.problems
        rest = _without(value, error.__cause__, optional)
        try:
            found = validated(model, {**stand_ins, **rest}, document, StudyError)
        except StudyError:
            found = None
        return found, error.problems


def _without(value: dict[str, Any], invalid: ValidationError, optional: Collection[str]) -> dict[str, Any]:
    rest = copy.deepcopy(value)
    for item in invalid.errors(include_url=False, include_context=False, include_input=False):
        place = place_of(item["loc"], value)
        if place and place[0] in optional:
            rest.pop(str(place[0]), None)
        elif item["type"] != "missing":
            _leave_out(rest, place)
    return rest


def _leave_out(rest: dict[str, Any], place: Sequence[str | int]) -> None:
    """The innermost key on the way to `place` is gone from `rest`: an item of a list takes the list with it."""
    named = list(place)
    while named and isinstance(named[-1], int):
        named.pop()
    holder: Any = rest
    for part in named[:-1]:
        try:
            holder = holder[part]
        except (KeyError, IndexError, TypeError):
            return
    if named and isinstance(holder, dict):
        holder.pop(named[-1], None)
