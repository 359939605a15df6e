"""What a person wrote in TOML is read strictly, and as much of it as possible, so that all of its faults are told."""

from __future__ import annotations

import copy
import tomllib
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from runner.core.documents import place_of, validated
from runner.core.errors import Problem, StudyError

if TYPE_CHECKING:
    from collections.abc import Collection

M = TypeVar("M", bound=BaseModel)

# Parsing takes a few frames for each bracket; nothing that people write is nested deeper than a handful.
_TOO_DEEP: Final = "values are nested too deeply"


def parse_toml(data: bytes, document: str) -> dict[str, Any]:
    """The tables in `data`.

    Raises:
        StudyError: it isn't UTF-8, or isn't TOML.
    """
    try:
        return tomllib.loads(data.decode("utf-8"))
    except RecursionError as error:
        raise StudyError(f"not TOML: {_TOO_DEEP}", document=document) from error
    # Also UnicodeDecodeError, TOMLDecodeError, and what Python says of an integer of thousands of digits.
    except ValueError as error:
        raise StudyError(f"not TOML: {error}", document=document) from error


def read_declared(model: type[M], data: bytes, document: str) -> M:
    """The declaration in `data`.

    Raises:
        StudyError: with everything that is wrong with it.
    """
    return validated(model, parse_toml(data, document), document, StudyError)


def salvage_declared(
    model: type[M], data: bytes, document: str, optional: Collection[str] = ()
) -> tuple[M | None, tuple[Problem, ...]]:
    """The declaration in `data`, and everything that is wrong with it.

    Where all that is wrong are unknown keys, or what stands in the tables `optional`, the declaration is there without
    these: whoever goes on with it finds what else is wrong. Otherwise it is None.
    """
    try:
        value = parse_toml(data, document)
        return validated(model, value, document, StudyError), ()
    except StudyError as error:
        if not isinstance(error.__cause__, ValidationError):
            return None, error.problems
        rest = _without(value, error.__cause__, optional)
        try:
            found = None if rest is None else validated(model, rest, document, StudyError)
        except StudyError:
            found = None
        return found, error.problems


def _without(value: dict[str, Any], invalid: ValidationError, optional: Collection[str]) -> dict[str, Any] | None:
    rest = copy.deepcopy(value)
    for item in invalid.errors(include_url=False, include_context=False, include_input=False):
        place = place_of(item["loc"], value)
        if place and place[0] in optional:
            rest.pop(str(place[0]), None)
        elif item["type"] == "extra_forbidden":
            holder: Any = rest
            for part in place[:-1]:
                holder = holder[part]
            holder.pop(place[-1], None)
        else:
            return None
    return rest
