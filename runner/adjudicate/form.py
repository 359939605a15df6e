"""The form: one self-contained page that shows a packet and takes decisions; it knows the packet and nothing else.

Every text is spelled out by `visible` before it gets into the page, stands there as data, and is shown as text: nothing
in it can act, turn the writing, or hide.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from importlib import resources
from typing import TYPE_CHECKING, Final

from runner.adjudicate.highlighting import names_of, segments
from runner.core.canonical import canonical_bytes
from runner.core.reconsolidation.packet import ATTESTATION, Decisions
from runner.core.visible import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.adjudicate.highlighting import Names
    from runner.core.canonical import Json
    from runner.core.reconsolidation.packet import Entry, Packet

# What could end the element that the data stands in, or a line of a script.
_ESCAPES: Final = str.maketrans(
    {char: f"\\u{ord(char):04x}" for char in ("<", ">", "&", "\N{LINE SEPARATOR}", "\N{PARAGRAPH SEPARATOR}")}
)
_SCRIPTS: Final = ("deciding", "keeping", "showing", "exchanging", "acting")


def render_form(packet: Packet) -> bytes:
    """The page of `packet` in UTF-8, the same bytes for the same packet: it loads nothing and sends nothing."""
    style, script = _read("form.css"), _script()
    parts = {
        "STYLE": style,
        "STYLE-SOURCE": _source(style),
        "SCRIPT": script,
        "SCRIPT-SOURCE": _source(script),
        "DATA": canonical_bytes(_data(packet)).decode("utf-8").translate(_ESCAPES),
    }
    pieces = _read("form.html").split("@@")
    # Every other piece names what stands there; what is put in is never looked at again.
    return "".join(parts[piece] if number % 2 else piece for number, piece in enumerate(pieces)).encode("utf-8")


class _Texts:
    """Texts that many entries show, looked at once; names are found in all of them before the first is marked."""

    def __init__(self, packet: Packet) -> None:
        self.places: dict[str, int] = {}
        """A text -> its place in the page's data."""
        self.visible = functools.cache(visible)
        sources = [source for entry in packet.entries for source in entry.sources]
        meanings = [reference.meaning for entry in packet.entries for reference in entry.references]
        self.names = names_of(
            {self.visible(text) for text in (*(source.statement for source in sources), *meanings)},
            {self.visible(entry.candidate) for entry in packet.entries},
            {self.visible(source.attribution) for source in sources},
        )

    def kept(self, text: str) -> int:
        return self.places.setdefault(self.visible(text), len(self.places))


def _data(packet: Packet) -> Json:
    texts = _Texts(packet)
    entries = [_entry(entry, texts) for entry in packet.entries]
    return {
        "packet": packet.digest(),
        "format": Decisions.FORMAT,
        "version": Decisions.VERSION,
        "rules": list(packet.rules),
        "attestation": ATTESTATION,
        "entries": entries,
        "texts": [_marked(text, texts.names) for text in texts.places],
    }


def _entry(entry: Entry, texts: _Texts) -> Json:
    places = {source.source: number for number, source in enumerate(entry.sources)}
    events = sorted({source.event for source in entry.sources})
    return {
        "entry": entry.entry,
        "candidate": _marked(texts.visible(entry.candidate), texts.names),
        "sources": [
            {
                "text": texts.kept(source.statement),
                "attribution": texts.visible(source.attribution),
                "scope": texts.visible(source.scope),
                "event": events.index(source.event),
            }
            for source in entry.sources
        ],
        "support": _places(entry.support, places),
        "references": [
            {
                "reference": reference.reference,
                "text": texts.kept(reference.meaning),
                "support": _places(reference.support, places),
                "exact": reference.support == entry.support,
            }
            for reference in entry.references
        ],
    }


def _places(support: Sequence[str], places: dict[str, int]) -> list[int]:
    """Which sources these are, by their places; -1 for one that there isn't."""
    return sorted(places.get(name, -1) for name in support)


def _marked(text: str, names: Names) -> list[Json]:
    return [
        [segment.text, segment.kind, segment.key] if segment.kind else segment.text for segment in segments(text, names)
    ]


def _script() -> str:
    """One script, of which nothing can be seen from outside."""
    return '"use strict";\n{\n' + "\n".join(_read(f"form-{part}.js") for part in _SCRIPTS) + "}\n"


def _read(name: str) -> str:
    return resources.files("runner.adjudicate").joinpath("templates", name).read_text("utf-8")


def _source(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}"
