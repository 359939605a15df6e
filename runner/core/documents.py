"""Persisted documents: format, version, canonical bytes, and readers that refuse what they do not know."""

from __future__ import annotations

import enum
import json
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, ValidationError, WithJsonSchema

from runner.core.canonical import (
    MAX_SAFE_INTEGER,
    Digest,
    canonical_bytes,
    exact_bytes,
    parse_json,
    sha256_digest,
    whole_lines,
)
from runner.core.errors import EvidenceError, PairbenchError, Problem
from runner.core.quantities import Measured, Quantity, Unavailable, parse_quantity, quantity_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from runner.core.canonical import Json


def _quantity(value: object) -> Quantity:
    if isinstance(value, Measured):
        if not isinstance(value.value, int):
            raise ValueError("not an integer")  # noqa: TRY004 - what pydantic takes for a wrong value
        # A figure that no document can hold is as good as none: it is beyond anything that was measured.
        fits = abs(value.value) <= MAX_SAFE_INTEGER
        return value if fits else Unavailable("beyond 2**53 - 1, the largest figure that a document holds")
    if isinstance(value, Unavailable):
        return value
    try:
        return parse_quantity(value, "")
    except EvidenceError as error:
        raise ValueError(error.problems[0].message) from error


_QUANTITY_SCHEMA = {
    "anyOf": [
        {"type": "integer"},
        {
            "type": "object",
            "properties": {"unavailable": {"type": "string"}},
            "required": ["unavailable"],
            "additionalProperties": False,
        },
    ]
}
QuantityField = Annotated[
    Any,
    BeforeValidator(_quantity),
    PlainSerializer(quantity_json, return_type=Any),
    WithJsonSchema(_QUANTITY_SCHEMA),
]
"""A `Quantity` in a document: an integer, or `{"unavailable": reason}`."""


_AT_ONCE: Final = 500

MANY: Final = ConfigDict(extra="forbid", strict=True)
"""How a dataclass is read that stands in for a `Part` where a document holds very many of them."""


class Part(BaseModel):
    """A value inside a document: frozen, strict, without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, arbitrary_types_allowed=True)

    def json_value(self) -> dict[str, Json]:
        """The value as canonical JSON takes it."""
        return self.model_dump(mode="json")


class Document(Part):
    """A persisted document of one format and version."""

    FORMAT: ClassVar[str]
    VERSION: ClassVar[int] = 1
    EXACT: ClassVar[bool] = False
    """Its fields leave no room for a float, so that none is looked for when it is written."""
    LEFT_OUT: ClassVar[frozenset[str]] = frozenset()
    """Fields that aren't written where they are None: what documents of this kind may not have at all."""

    format: str = ""
    version: int = 0

    def model_post_init(self, context: object, /) -> None:
        """Stamp a document that is made here, refuse one that is read and isn't ours."""
        del context
        if not self.format:
            object.__setattr__(self, "format", self.FORMAT)
            object.__setattr__(self, "version", self.VERSION)

    def json_value(self) -> dict[str, Json]:
        """The value as canonical JSON takes it."""
        return self.model_dump(mode="json", exclude=set(self.__dict__) - set(_written(self)))

    def to_bytes(self) -> bytes:
        """The document's canonical bytes, ending in a newline."""
        data = exact_bytes(self, _member) if self.EXACT else None
        return (canonical_bytes(self.json_value()) if data is None else data) + b"\n"

    def pieces(self) -> Iterator[bytes]:
        """As `to_bytes`, some at a time; only of a document that is exact."""
        yield from _pieces(self)
        yield b"\n"

    def to_line(self) -> bytes:
        """The document as one line of NDJSON."""
        return self.to_bytes()

    def digest(self) -> Digest:
        """The digest of `to_bytes`."""
        return sha256_digest(self.to_bytes())

    @classmethod
    def from_json(cls, value: Json, document: str, written: bytes | None = None) -> Self:
        """The document that `value` holds, whose JSON is `written` where that is at hand.

        Raises:
            EvidenceError: another format or version, an unknown or missing key, a wrong type; all of them at once.
        """
        if not isinstance(value, dict):
            raise EvidenceError("not a JSON object", document=document)
        if value.get("format") != cls.FORMAT:
            raise EvidenceError(
                f"format is {value.get('format')!r}, not {cls.FORMAT!r}", document=document, key="format"
            )
        if value.get("version") != cls.VERSION:
            raise EvidenceError(
                f"version {value.get('version')!r} is not known here, only {cls.VERSION}",
                document=document,
                key="version",
                hint="read it with the version of pairbench that wrote it",
            )
        return validated(cls, value, document, EvidenceError, written)

    @classmethod
    def from_bytes(cls, data: bytes, document: str) -> Self:
        """The document that `data` holds; raises `EvidenceError` as `from_json` does."""
        return cls.from_json(parse_json(data, document), document, data)

    @classmethod
    def from_lines(cls, data: bytes, document: str) -> Iterator[Self]:
        """The documents of an NDJSON file; raises `EvidenceError` as `from_json` does."""
        for number, line in enumerate(whole_lines(data, document), 1):
            yield cls.from_bytes(line, f"{document} line {number}")


def _pieces(value: object) -> Iterator[bytes]:
    """The canonical bytes of a model, of what it holds, or of a tuple, whose items come in batches."""
    if isinstance(value, BaseModel):
        opening = "{"
        for name, member in sorted(_written(value).items()):
            yield f'{opening}"{name}":'.encode()
            yield from _pieces(member)
            opening = ","
        yield b"}"
    elif isinstance(value, tuple) and len(value) > _AT_ONCE:
        opening = "["
        for start in range(0, len(value), _AT_ONCE):
            yield opening.encode() + _exact(value[start : start + _AT_ONCE])[1:-1]
            opening = ","
        yield b"]"
    elif isinstance(value, tuple) and value and isinstance(value[0], BaseModel):
        opening = "["
        for item in value:
            yield opening.encode()
            yield from _pieces(item)
            opening = ","
        yield b"]"
    else:
        yield _exact(value)


def _written(value: BaseModel) -> dict[str, object]:
    """The fields of `value` that are written."""
    if not isinstance(value, Document) or not value.LEFT_OUT:
        return value.__dict__
    return {name: member for name, member in value.__dict__.items() if member is not None or name not in value.LEFT_OUT}


def _exact(value: object) -> bytes:
    data = exact_bytes(value, _member)
    return canonical_bytes(json.loads(json.dumps(value, default=_member))) if data is None else data


def _member(value: Any) -> object:
    """What stands in JSON for a member of a document whose fields say how they are written."""
    if isinstance(value, Measured | Unavailable):
        return quantity_json(value)
    if isinstance(value, BaseModel):
        return _written(value)
    if isinstance(value, enum.Enum):
        return value.value
    if is_dataclass(value):
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    raise TypeError(type(value).__name__)


M = TypeVar("M", bound=BaseModel)


def validated(
    model: type[M], value: object, document: str, error: type[PairbenchError], written: bytes | None = None
) -> M:
    """`value`, whose JSON is `written` where that is at hand, as a `model`.

    Raises:
        PairbenchError: of the class `error`, with one problem for each key that is wrong.
    """
    if written is not None:
        try:
            return model.model_validate_json(written)
        except ValidationError:
            # What is wrong is told of the value, whichever way it was written.
            pass
    try:
        return model.model_validate_json(_as_json(value))
    except ValidationError as invalid:
        raise error.of(_problems(invalid, document, value)) from invalid


def place_of(loc: Sequence[int | str], value: object) -> tuple[int | str, ...]:
    """The keys and indexes that lead to the fault at `loc` of `value`, without the marks that validation puts between.

    Those are the kind that chose one of several models, and `[key]` behind a key that is itself at fault.
    """
    place: list[int | str] = []
    here = value
    chosen = False
    for number, part in enumerate(loc):
        is_last = number == len(loc) - 1
        is_kind = isinstance(here, dict) and here.get("kind") == part
        # A fault of the model as a whole ends with its kind.
        if isinstance(here, dict) and is_kind and not chosen and (not is_last or part not in here):
            chosen = True
            continue
        chosen = False
        if isinstance(here, dict) and (part in here or (is_last and part != "[key]")):
            place.append(part)
            here = here.get(part)
        elif isinstance(here, list) and isinstance(part, int):
            place.append(part)
            here = here[part] if part < len(here) else None
    return tuple(place)


def _length_at(place: Sequence[int | str], value: object) -> int:
    for part in place:
        value = value[part] if isinstance(value, dict | list) else None  # type: ignore[index]  # `place_of` led there
    return len(value) if isinstance(value, dict | list) else 0


def _as_json(value: object) -> bytes:
    return json.dumps(value, default=_no_text).encode("utf-8")


def _no_text(value: object) -> Json:
    """Stands for a date or a time, which TOML has and no document takes."""
    return {f"a {type(value).__name__}": str(value)}


def _problems(invalid: ValidationError, document: str, value: object) -> Iterable[Problem]:
    """What is wrong, each thing once: of a number that stands for a range, both of its ends are."""
    return dict.fromkeys(_each_problem(invalid, document, value))


def _each_problem(invalid: ValidationError, document: str, value: object) -> Iterator[Problem]:
    for item in invalid.errors(include_url=False):
        place = place_of(item["loc"], value)
        if item["type"] == "too_short" and _length_at(place, value) >= item.get("ctx", {}).get("min_length", 0):
            # Items that are wrong don't count, so a list of them is called too short as well.
            continue
        key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in _named(place, value)).lstrip(".")
        yield Problem(_plain(item["type"], item["msg"]), document, key)


def _named(place: Sequence[str | int], value: object) -> Sequence[str | int]:
    """`place`, with a gate by its name, as every other complaint about gates has it."""
    match value, place:
        case {"gates": [*gates]}, ("gates", int(number), *rest) if number < len(gates):
            name = gates[number].get("name") if isinstance(gates[number], dict) else None
            is_known = isinstance(name, str) and bool(name) and "name" not in rest
            return ("gates", name, *rest) if is_known and isinstance(name, str) else place
        case _:
            return place


def _plain(kind: str, message: str) -> str:
    match kind:
        case "extra_forbidden":
            return "unknown key"
        case "missing":
            return "missing"
        case "union_tag_invalid":
            return f"its kind must be one of {message.rpartition(': ')[2]}"
        case "union_tag_not_found":
            return "its kind is missing"
        case _:
            plain = message.removeprefix("Value error, ")
            return (
                plain.replace("Input should be", "must be")
                .replace("String should", "must")
                .replace("Input tag", "kind")
            )
