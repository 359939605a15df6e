"""Which answers does a cassette hold? Reads its entries and hands them out, each once, in their order."""

from __future__ import annotations

import base64
import json
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from gateway.canonical_request import differing_parts
from gateway.exchange import Observation, Usage, UsageUnavailable, digest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateway.canonical_request import CanonicalRequest

# What is told of a difference; a conversation that went another way differs in everything behind.
TOLD_PARTS = 12
# Of the entries that nobody asked for.
TOLD_ENTRIES = 20
REPLAYED_FORMAT = "pairbench/replayed"
DIGEST = "entry_sha256"
ENDS = ("whole", "closed", "reset", "client_gone")


class CassetteError(Exception):
    """A cassette can't be read."""


@dataclass(frozen=True)
class Entry:
    """One recorded exchange."""

    seq: int
    key: str
    parts: dict[str, str]
    status: int | None
    headers: tuple[tuple[str, str], ...]
    length_bytes: int | None
    head_us: int
    pieces: tuple[tuple[int, bytes], ...]
    """Microseconds from the request, and the piece that came then."""
    ended: Literal["whole", "closed", "reset", "client_gone"]
    seen: Observation


class Cassette:
    """Entries that weren't played yet."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        """All of them are to be played."""
        self._left: dict[str, deque[Entry]] = {}
        self._played: set[str] = set()
        self._entries = 0
        for entry in entries:
            self._left.setdefault(entry.key, deque()).append(entry)
            self._entries += 1

    def take(self, request: CanonicalRequest) -> Entry | None:
        """The first entry of that request that wasn't played yet, or None when there is none."""
        entries = self._left.get(request.key)
        if not entries:
            return None
        entry = entries.popleft()
        if not entries:
            del self._left[request.key]
        self._played.add(request.key)
        return entry

    def difference(self, request: CanonicalRequest) -> tuple[str, ...]:
        """What of the request differs from the nearest entry that is left."""
        if request.key in self._played:
            return ("asked more often than recorded",)
        nearest = [differing_parts(request.parts, entries[0].parts) for entries in self._left.values()]
        if not nearest:
            return ("nothing that was recorded is left",)
        return min(nearest, key=len)[:TOLD_PARTS]

    def replayed(self) -> dict[str, object]:
        """What was asked of it until now, as `replayed.json` says it."""
        left = sorted(entry.seq for entries in self._left.values() for entry in entries)
        return {
            "format": REPLAYED_FORMAT,
            "version": 1,
            "entries": self._entries,
            "unasked": len(left),
            "first_unasked": left[:TOLD_ENTRIES],
        }


def read_cassette(text: str) -> Cassette:
    """The entries of a file, one JSON object a line.

    Raises:
        CassetteError: naming the first line that is no entry.
    """
    entries = []
    # A line ends where JSON lines do: other ends of lines stand within texts as they are.
    lines = text.removesuffix("\n").split("\n") if text else []
    for number, line in enumerate(lines, 1):
        try:
            entries.append(_entry(json.loads(line)))
        except (ValueError, KeyError, TypeError) as error:
            raise CassetteError(f"line {number} is no entry: {type(error).__name__}: {error}") from error
    return Cassette(entries)


def _entry(line: dict[str, Any]) -> Entry:
    if line["ended"] not in ENDS:
        raise ValueError(f"ended {line['ended']!r}")
    body = line["body"]
    data = base64.b64decode(body["base64"], validate=True) if isinstance(body, dict) else str(body).encode()
    if sum(line["piece_bytes"]) < len(data) or len(line["piece_bytes"]) != len(line["piece_us"]):
        raise ValueError("the pieces don't make up the body")
    if line["length_bytes"] is not None and line["length_bytes"] < len(data):
        raise ValueError("the body is longer than its length")
    if entry_digest(line) != line[DIGEST]:
        raise ValueError(f"exchange {line['seq']} isn't what was recorded: its digest is another one")
    pieces, start = [], 0
    for size, us in zip(line["piece_bytes"], line["piece_us"], strict=True):
        pieces.append((int(us), data[start : start + size]))
        start += size
    seen = line["seen"]
    return Entry(
        seq=int(line["seq"]),
        key=line["key"],
        parts=dict(line["parts"]),
        status=line["status"],
        headers=tuple((str(name), str(value)) for name, value in line["headers"]),
        length_bytes=line["length_bytes"],
        head_us=int(line["head_us"]),
        pieces=tuple(pieces),
        ended=line["ended"],
        seen=Observation(
            seen["model_asked"],
            seen["model_resolved"],
            seen["stop_reason"],
            seen["streamed"],
            _usage(seen["usage"]),
            line["ended"] in {"closed", "reset"},
            seen["details"],
        ),
    )


def entry_digest(line: dict[str, Any]) -> str:
    """The digest of what an entry says besides its digest, in canonical JSON (RFC 8785); it holds no floats."""
    said = _ordered({name: value for name, value in line.items() if name != DIGEST})
    return digest(json.dumps(said, separators=(",", ":"), ensure_ascii=False).encode())


def _ordered(value: object) -> object:
    """The same, with keys in the order of their UTF-16."""
    if isinstance(value, list):
        return [_ordered(item) for item in value]
    if isinstance(value, dict):
        return {name: _ordered(value[name]) for name in sorted(value, key=lambda name: str(name).encode("utf-16-be"))}
    return value


def _usage(document: dict[str, Any]) -> Usage | UsageUnavailable:
    if "unavailable" in document:
        return UsageUnavailable(document["unavailable"])
    classes = {
        name: UsageUnavailable(value["unavailable"]) if isinstance(value, dict) else value
        for name, value in document.items()
    }
    return Usage(**classes)
