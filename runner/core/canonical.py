"""The one place where canonical bytes and digests are made.

Canonical JSON follows RFC 8785 (JCS). Floats are refused: every hashed figure is an integer whose unit is in its name.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NewType, TypeAlias

import orjson
import rfc8785

from runner.core.errors import EvidenceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

Digest = NewType("Digest", str)

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
# RFC 8785 section 3.2.2.3 takes numbers as IEEE 754 doubles: integers beyond this lose digits in other readers.
MAX_SAFE_INTEGER = 2**53 - 1

_SORTED: Final = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER
_AS_IT_IS: Final = orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
# UTF-8 of a character beyond the BMP: RFC 8785 sorts keys by UTF-16, where those stand before U+E000 to U+FFFF.
_BEYOND_BMP: Final = re.compile(rb"[\xf0-\xf4]")
# orjson reads an integer beyond 64 bits as a double. Every digit is looked at as if it were 0.
_DIGITS: Final = bytes(ord("0") if chr(byte).isdecimal() else ord(" ") for byte in range(128)) + b" " * 128
_LONG_NUMBER: Final = b"0" * 19
_BEFORE_NUMBERS: Final = b" \t\n\r:,[-"
# A character of the ASCII digits' row, colon included, written as an escape.
_ESCAPED_COLON: Final = b"\\u003"


def sha256_digest(data: bytes) -> Digest:
    """The labelled SHA-256 of `data`."""
    return Digest("sha256:" + hashlib.sha256(data).hexdigest())


def parse_digest(text: str) -> Digest:
    """`text` as a digest.

    Raises:
        EvidenceError: it isn't `sha256:` and 64 lower-case hexadecimal digits.
    """
    if not _DIGEST.fullmatch(text):
        raise EvidenceError(f"{text!r} is not a digest", hint="a digest is sha256: and 64 hexadecimal digits")
    return Digest(text)


def canonical_bytes(value: Json) -> bytes:
    """The RFC 8785 bytes of `value`.

    Raises:
        EvidenceError: it holds a float, an integer beyond 2**53 - 1, half of a surrogate pair, or is nested too deeply.
    """
    try:
        _refuse_inexact(value, "")
        return _written(value)
    except (rfc8785.CanonicalizationError, UnicodeError, RecursionError) as error:
        raise EvidenceError(f"it has no canonical form: {parsing_fault(error)}") from error


def parsing_fault(error: Exception) -> str:
    """What a parser means by `error`, in words that speak of the document and not of Python."""
    if isinstance(error, RecursionError):
        return "values are nested too deeply"
    # CPython's guard against integers of thousands of digits: its advice is for whoever runs the interpreter.
    if "set_int_max_str_digits" in str(error):
        return "a number has too many digits"
    return str(error)


def exact_bytes(value: object, member: Callable[[Any], object]) -> bytes | None:
    """The RFC 8785 bytes of `value`, which holds no float; None where they are to be made the slow way.

    `member` gives what stands for a value that isn't one of JSON's.
    """
    try:
        data = orjson.dumps(value, member, _SORTED | _AS_IT_IS)
    except TypeError:
        # It may have no canonical form, or only be nested more deeply than orjson goes.
        return None
    return data if data.isascii() or not _BEYOND_BMP.search(data) else None


def _written(value: Json) -> bytes:
    try:
        data = orjson.dumps(value, option=_SORTED | _AS_IT_IS)
    except TypeError:
        return rfc8785.dumps(value)
    return data if data.isascii() or not _BEYOND_BMP.search(data) else rfc8785.dumps(value)


def digest_of(value: Json) -> Digest:
    """The digest of the canonical bytes of `value`."""
    return sha256_digest(canonical_bytes(value))


def canonical_line(value: Json) -> bytes:
    """One line of canonical NDJSON."""
    return canonical_bytes(value) + b"\n"


def canonical_lines(values: Iterable[Json]) -> bytes:
    """A canonical NDJSON document."""
    return b"".join(canonical_line(value) for value in values)


def parse_json(data: bytes, document: str) -> Json:
    """The value in `data`.

    Raises:
        EvidenceError: it isn't UTF-8 JSON, or it names a key twice.
    """
    try:
        value: Json = orjson.loads(data)
        if _is_exact(data, value):
            return value
    except (orjson.JSONDecodeError, TypeError):
        # The other reader knows more numbers, and says what is wrong.
        pass
    return _read_slowly(data, document)


def read_exactly(lines: Sequence[bytes]) -> list[Json] | None:
    """The values of `lines`, read at once; None where some line isn't JSON, or says more than its value holds."""
    try:
        values: list[Json] = list(map(orjson.loads, lines))
        return values if _is_exact(b"\n".join(lines), values) else None
    except (orjson.JSONDecodeError, TypeError):
        return None


def _is_exact(data: bytes, value: Json) -> bool:
    """Whether `value` holds all that `data` says: no key stands twice, and no integer became a double.

    Every key has one colon. Written again, the value has as many as before, unless a key, or a value that one replaced,
    was lost, or one was written as an escape.
    """
    if _ESCAPED_COLON in data or _has_long_number(data):
        return False
    return data.count(b":") == orjson.dumps(value).count(b":")


def _has_long_number(data: bytes) -> bool:
    """Whether a run of digits too long for 64 bits stands where a number may; within a text it says nothing."""
    digits = data.translate(_DIGITS)
    start = digits.find(_LONG_NUMBER)
    while start >= 0:
        if start == 0 or data[start - 1] in _BEFORE_NUMBERS:
            return True
        end = digits.find(b" ", start)
        start = digits.find(_LONG_NUMBER, end) if end >= 0 else -1
    return False


def _read_slowly(data: bytes, document: str) -> Json:
    try:
        value: Json = json.loads(data.decode("utf-8"), object_pairs_hook=_unique_keys, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise EvidenceError(f"not JSON: {parsing_fault(error)}", document=document) from error
    return value


def parse_lines(data: bytes, document: str) -> Iterator[Json]:
    """The values of an NDJSON document whose every line must be whole.

    Raises:
        EvidenceError: a line isn't JSON, or the last one has no end.
    """
    for number, line in enumerate(whole_lines(data, document), 1):
        yield parse_json(line, f"{document} line {number}")


def whole_lines(data: bytes, document: str) -> Iterator[bytes]:
    """The lines of `data`, without their ends.

    Raises:
        EvidenceError: the last one has no end.
    """
    lines = data.split(b"\n")
    if lines.pop():
        raise EvidenceError("the last line is torn", document=document)
    yield from lines


def _unique_keys(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"key {twice!r} stands twice")
    return found


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


def _refuse_inexact(value: Json, path: str) -> None:
    if isinstance(value, float):
        raise EvidenceError("a float can't be hashed", key=path or "(root)", hint="use a scaled integer")
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > MAX_SAFE_INTEGER:
        raise EvidenceError(f"{value} is beyond 2**53 - 1", key=path or "(root)", hint="write it as text")
    if isinstance(value, Mapping):
        for key, item in value.items():
            _refuse_inexact(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _refuse_inexact(item, f"{path}[{index}]")
