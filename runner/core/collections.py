"""Which documents does a file of a test collection hold, and which bytes of a workspace are they?

Knows three forms: TREC's SGML, tab-separated lines, and lines of JSON as BEIR and others have them. A document becomes
one file: its title, a blank line, its text.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from runner.core.canonical import parse_json
from runner.core.errors import EvidenceError, Problem
from runner.core.sources import document_id_fault, document_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_DOCUMENT: Final = re.compile(r"<DOC(?:\s[^>]*)?>(.*?)</DOC>", re.DOTALL | re.IGNORECASE)
_NUMBER: Final = re.compile(r"<DOCNO>(.*?)</DOCNO>", re.DOTALL | re.IGNORECASE)
# The names that TREC's own collections give to a title.
_TITLE: Final = re.compile(r"<(TITLE|HEADLINE|HEAD|TTL|HL)(?:\s[^>]*)?>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
_BODY: Final = re.compile(r"<TEXT(?:\s[^>]*)?>(.*?)</TEXT>", re.DOTALL | re.IGNORECASE)
_APART: Final = re.compile(r"<(DOCNO|DOCID|DOCHDR)(?:\s[^>]*)?>.*?</\1>", re.DOTALL | re.IGNORECASE)
_TAG: Final = re.compile(r"</?[A-Za-z][^<>]*>|<!--.*?-->", re.DOTALL)
_BLANK_LINES: Final = re.compile(r"\n[ \t\r]*\n\s*")
_ID_KEYS: Final = ("_id", "id", "docid", "docno")
_TEXT_KEYS: Final = ("text", "contents", "body")


@dataclass(frozen=True)
class CollectedDocument:
    """A document of a collection."""

    id: str
    title: str
    text: str

    def contents(self) -> bytes:
        """The bytes of its file."""
        return (f"{self.title}\n\n{self.text}" if self.title else self.text).encode("utf-8")


@dataclass
class Collection:
    """The documents of the files that were added, and everything that is wrong with those."""

    document: str
    """Whom problems are told of."""
    encoding: str = "utf-8"
    files: dict[str, bytes] = field(default_factory=dict)
    """File name -> contents."""
    problems: list[Problem] = field(default_factory=list)
    _places: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, data: bytes) -> None:
        """The documents of the file `name`, which holds `data`, are among `files`; its ending says its form."""
        text = self._decoded(name, data)
        if text is None:
            return
        read = _READERS.get(name.rpartition("/")[2].rpartition(".")[2].lower(), _sgml)
        count = len(self._places) + len(self.problems)
        for place, found in read(text):
            if isinstance(found, str):
                self._refuse(name, place, found)
            else:
                self._take(name, place, found)
        if len(self._places) + len(self.problems) == count:
            self.problems.append(Problem("it holds no document", self.document, name))

    def _take(self, name: str, place: str, found: CollectedDocument) -> None:
        fault = document_id_fault(found.id)
        if not fault and found.id in self._places:
            fault = f"the id {found.id!r} is taken by {self._places[found.id]}"
        if fault:
            self._refuse(name, place, fault)
            return
        self._places[found.id] = f"{name} {place}"
        try:
            self.files[document_path(".", found.id)] = found.contents()
        except UnicodeEncodeError:
            self._refuse(name, place, "its text has half of a surrogate pair")

    def _refuse(self, name: str, place: str, message: str) -> None:
        self.problems.append(Problem(message, self.document, f"{name} {place}"))

    def _decoded(self, name: str, data: bytes) -> str | None:
        try:
            return data.decode(self.encoding)
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            self._refuse(name, f"line {line}", f"it is not {self.encoding.upper()} at byte {error.start}")
            return None


def _json_lines(text: str) -> Iterator[tuple[str, CollectedDocument | str]]:
    for number, line in _numbered(text):
        try:
            value = parse_json(line.encode("utf-8"), "")
        except EvidenceError as error:
            yield f"line {number}", error.problems[0].message
            continue
        yield f"line {number}", _from_json(value) if isinstance(value, dict) else "an object is expected"


def _from_json(value: Mapping[str, object]) -> CollectedDocument | str:
    identity = next((value[key] for key in _ID_KEYS if key in value), None)
    text = next((value[key] for key in _TEXT_KEYS if key in value), None)
    title = value.get("title") or ""
    if not isinstance(identity, str | int) or isinstance(identity, bool):
        return "it has no id: _id, id, docid or docno"
    if not isinstance(text, str) or not isinstance(title, str):
        return "it has no text: text, contents or body"
    return CollectedDocument(str(identity), title.strip(), text)


def _tab_separated(text: str) -> Iterator[tuple[str, CollectedDocument | str]]:
    for number, line in _numbered(text):
        match line.rstrip("\r").split("\t"):
            case [identity, body]:
                yield f"line {number}", CollectedDocument(identity, "", body)
            case [identity, title, body]:
                yield f"line {number}", CollectedDocument(identity, title.strip(), body)
            case columns:
                yield f"line {number}", f"it has {len(columns)} columns, not id, text or id, title, text"


def _sgml(text: str) -> Iterator[tuple[str, CollectedDocument | str]]:
    end = 0
    for number, match in enumerate(_DOCUMENT.finditer(text), 1):
        place = f"document {number}"
        if text[end : match.start()].strip():
            yield place, "there is text before its <DOC>"
        end = match.end()
        identity = _NUMBER.search(match[1])
        yield place, "it has no <DOCNO>" if identity is None else _from_sgml(identity[1].strip(), match[1])
    if text[end:].strip():
        yield "end", "there is text after the last </DOC>"


def _from_sgml(identity: str, inner: str) -> CollectedDocument:
    title = _TITLE.search(inner)
    bodies = _BODY.findall(inner)
    rest = inner if title is None else inner[: title.start()] + inner[title.end() :]
    body = "\n\n".join(bodies) if bodies else _APART.sub("", rest)
    return CollectedDocument(identity, "" if title is None else " ".join(_plain(title[2]).split()), _plain(body))


def _plain(text: str) -> str:
    """The text without tags, its references to characters resolved, without blank lines at its ends or two in a row."""
    return _BLANK_LINES.sub("\n\n", html.unescape(_TAG.sub("", text))).strip()


def _numbered(text: str) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip())


_READERS: Final[Mapping[str, Callable[[str], Iterator[tuple[str, CollectedDocument | str]]]]] = {
    "jsonl": _json_lines,
    "json": _json_lines,
    "tsv": _tab_separated,
}
