"""A cassette: what a run's gateways recorded, in one file that names itself by its digest.

The first line says where it comes from; every other one is an exchange of one trial, in the order in which it ended.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from runner.core.canonical import Digest, canonical_line, digest_of, sha256_digest
from runner.core.cassette_entry import CassetteEntry
from runner.core.documents import Document, validated
from runner.core.errors import EvidenceError
from runner.core.masks import Mask

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runner.core.bodies import Bodies
    from runner.core.plan import PlannedTrial

CASSETTE: str = "cassette.jsonl"
ENTRY_DIGEST: str = "entry_sha256"


class CassetteHeader(Document):
    """The first line."""

    FORMAT: ClassVar[str] = "pairbench/cassette"

    run: str
    evidence: Literal["fixture", "measurement"]
    model_shown: str
    masks: tuple[Mask, ...]
    """What the digests of requests don't see."""
    exchanges: int
    incomplete: tuple[str, ...]
    """Trials of which not every exchange could be recorded."""


@dataclass(frozen=True)
class Cassette:
    """A cassette that was read."""

    header: CassetteHeader
    digest: Digest
    lines: Mapping[tuple[str, str, int], bytes]
    """(task, arm, repetition) -> the entries of that trial."""

    def of_trial(self, trial: PlannedTrial) -> bytes:
        """The entries of a trial; nothing where none were recorded."""
        return self.lines.get((trial.task, trial.arm, trial.repetition), b"")


def read_cassette(data: bytes, document: str) -> Cassette:
    """The cassette in `data`.

    Raises:
        EvidenceError: it is none, or damaged.
    """
    first, *rest = data.splitlines(keepends=True) or [b""]
    header = CassetteHeader.from_bytes(first, document)
    found: dict[tuple[str, str, int], bytearray] = {}
    for number, line in enumerate(rest, 2):
        entry = _entry(line, f"{document} line {number}")
        found.setdefault((entry.task, entry.arm, entry.repetition), bytearray()).extend(line)
    if len(rest) != header.exchanges:
        raise EvidenceError(f"holds {len(rest)} exchanges, and says {header.exchanges}", document=document)
    return Cassette(header, sha256_digest(data), {place: bytes(lines) for place, lines in found.items()})


def _entry(line: bytes, place: str) -> CassetteEntry:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise EvidenceError("not an entry of a cassette, which is a line of JSON", document=place) from error
    entry = validated(CassetteEntry, value, place, EvidenceError, line)
    if entry_digest(value) != entry.entry_sha256:
        raise EvidenceError(
            f"exchange {entry.seq} of {entry.task}.r{entry.repetition}.{entry.arm} isn't what was recorded: "
            f"its digest is another one than its {ENTRY_DIGEST} says",
            document=place,
        )
    return entry


def entry_digest(entry: Mapping[str, Any]) -> Digest:
    """The digest of what an entry says besides its digest: its request, its answer and what was seen of that.

    Raises:
        EvidenceError: it has no canonical form.
    """
    return digest_of({name: value for name, value in entry.items() if name != ENTRY_DIGEST})


def entries_of(trial: PlannedTrial, recording: bytes, bodies: Iterable[Bodies]) -> tuple[bytes, ...]:
    """The entries that a trial's recording makes, each with its answer's body.

    Raises:
        EvidenceError: the two don't fit, or `bodies` raises it.
    """
    texts: dict[int, Any] = {body.seq: body.response for body in bodies}
    found = []
    for line in recording.splitlines():
        entry = _recorded(line, trial)
        if entry["seq"] not in texts:
            raise EvidenceError(f"exchange {entry['seq']} has no body", document="recording.jsonl", key=trial.trial)
        place: dict[str, Any] = {"task": trial.task, "arm": trial.arm, "repetition": trial.repetition}
        whole = {**entry, **place, "body": texts[entry["seq"]]}
        found.append(canonical_line({**whole, ENTRY_DIGEST: entry_digest(whole)}))
    return tuple(found)


def _recorded(line: bytes, trial: PlannedTrial) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        entry = None
    if not isinstance(entry, dict) or not isinstance(entry.get("seq"), int):
        raise EvidenceError("a line isn't an exchange", document="recording.jsonl", key=trial.trial)
    return entry


def cassette_bytes(header: CassetteHeader, entries: Iterable[bytes]) -> bytes:
    """The file."""
    return header.to_line() + b"".join(entries)
