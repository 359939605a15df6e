"""What do TREC files call a source, and where does a document of a test collection lie in a workspace?

A document of a collection is one file, named after its id, so that the id comes back from the path alone. Any other
source is called by its path. Columns of TREC files end at white space, so that nothing with white space stands there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core.errors import Problem
from runner.core.trees import placed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

UNMAPPED_PREFIX: Final = "%unmapped-"
"""What a result that is no source of the corpus is called, before its rank: no path is encoded to this."""

LONGEST_ID_BYTES: Final = 200
"""An encoded document id is a file name, which ends at 255 bytes on common file systems."""

_SUFFIX: Final = ".txt"
# RFC 3986 section 2.3: what needs no encoding anywhere.
_UNRESERVED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
# All that str.split() takes for white space, and what a terminal acts on.
_BREAK: Final = re.compile(r"[\s\x00-\x1f\x7f]")
_ENCODED: Final = re.compile(r"[%\s\x00-\x1f\x7f]")
_ESCAPE: Final = re.compile("%([0-9A-F]{2})")


def document_path(into: str, document_id: str) -> str:
    """Where the document `document_id` of a collection laid out in `into` lies in the workspace."""
    name = "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in document_id.encode("utf-8"))
    return placed(into, name + _SUFFIX)


def document_id(into: str, path: str) -> str | None:
    """The id of the document at `path` of a collection laid out in `into`; None when no document has this path."""
    folder = placed(into, "")
    if not path.startswith(folder) or not path.endswith(_SUFFIX):
        return None
    found = _decoded(path[len(folder) : -len(_SUFFIX)])
    return found if found and document_path(into, found) == path else None


def document_id_fault(document_id: str) -> str:
    """Why no file can be named after `document_id`; "" when one can."""
    if not document_id:
        return "the id is empty"
    try:
        size = len(document_path("", document_id)) - 1 - len(_SUFFIX)
    except UnicodeEncodeError:
        return "the id isn't UTF-8"
    if size > LONGEST_ID_BYTES:
        return f"the id takes {size} bytes as a file name; the limit is {LONGEST_ID_BYTES}"
    if document_id.startswith(UNMAPPED_PREFIX):
        return f"no id may begin with {UNMAPPED_PREFIX}"
    return ""


def trec_id(path: str, collections: Sequence[str] = ()) -> str:
    """What TREC files call the source at `path`; `collections` are the folders that test collections are laid out in.

    The document's own id, where it has one without white space; else the id, or the path, with white space, control
    characters and % percent-encoded.
    """
    for into in collections:
        found = document_id(into, path)
        if found is not None:
            return document_name(found)
    return _one_word(path)


def document_name(document_id: str) -> str:
    """What TREC files call the document `document_id` of a collection."""
    return document_id if is_one_word(document_id) else _one_word(document_id)


@dataclass(frozen=True)
class SourceIds:
    """What TREC files call the sources of one corpus, both ways."""

    ids: Mapping[str, str]
    """Path -> id."""
    paths: Mapping[str, str]
    """Id -> path."""

    @classmethod
    def of(cls, paths: Iterable[str], collections: Sequence[str] = ()) -> SourceIds:
        """The ids of the sources at `paths`; of two with one id the first is found by it (`source_id_problems`)."""
        ids = {path: trec_id(path, collections) for path in paths}
        back: dict[str, str] = {}
        for path, name in ids.items():
            back.setdefault(name, path)
        return cls(ids, back)


def is_one_word(text: str) -> bool:
    """Whether `text` can stand in a column: it has no white space and no control character."""
    return not _BREAK.search(text)


def source_id_problems(paths: Iterable[str], collections: Sequence[str], document: str) -> tuple[Problem, ...]:
    """Every source at `paths` that TREC files couldn't tell from another one, or from none."""
    problems: list[Problem] = []
    seen: dict[str, str] = {}
    for path in paths:
        name = trec_id(path, collections)
        if name in seen:
            message = f"TREC files would call it {name!r}, as they call {seen[name]}"
            problems.append(Problem(message, document, path, "leave one of them out with exclude"))
        elif name.startswith(UNMAPPED_PREFIX):
            problems.append(Problem(f"no id may begin with {UNMAPPED_PREFIX}", document, path))
        seen.setdefault(name, path)
    return tuple(problems)


def _one_word(text: str) -> str:
    return _ENCODED.sub(lambda match: "".join(f"%{byte:02X}" for byte in match.group().encode("utf-8")), text)


def _decoded(text: str) -> str | None:
    """`text` with its escapes resolved; None when that isn't UTF-8."""
    pieces = _ESCAPE.split(text)
    try:
        data = b"".join(
            bytes([int(piece, 16)]) if number % 2 else piece.encode("utf-8") for number, piece in enumerate(pieces)
        )
        return data.decode("utf-8")
    except UnicodeError:
        return None
