"""The raw files of an attempt as typed documents, or what is wrong with each of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from runner.clients.report import short
from runner.core.documents import Document, validated
from runner.core.errors import EvidenceError
from runner.core.events import Corrupt, json_lines, plain_text
from runner.core.evidence import (
    ENGINE,
    EXCHANGES,
    EXIT,
    REPLAYED,
    SIDECAR,
    EngineFacts,
    Exchange,
    ExitReport,
    Replayed,
    SidecarRequest,
)
from runner.core.quantities import Unavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

D = TypeVar("D", bound=Document)

_MAX_EXCHANGES = 100_000
"""As many requests as a study may allow."""


@dataclass(frozen=True)
class Damage:
    """A line of a log that can't be read."""

    line: int
    reason: str


@dataclass(frozen=True)
class ExchangeLog:
    """`exchanges.jsonl`, in the order of arrival."""

    exchanges: tuple[Exchange, ...]
    damage: tuple[Damage, ...]

    def absent(self) -> tuple[int, ...]:
        """Numbers of exchanges that arrived and aren't in the log, below the highest one that is.

        A gateway that has reached its record limit answers on without writing: then nothing is absent that counts.
        """
        if any(exchange.refused == "record_limit" for exchange in self.exchanges):
            return ()
        present = {exchange.seq for exchange in self.exchanges}
        # Numbers come from a log that may be damaged: what one absurd number leaves out isn't listed one by one.
        highest = min(max(present, default=0), _MAX_EXCHANGES)
        return tuple(seq for seq in range(1, highest + 1) if seq not in present)


@dataclass(frozen=True)
class SidecarLog:
    """`sidecar.jsonl`, in its own order."""

    requests: tuple[SidecarRequest, ...]
    damage: tuple[Damage, ...]


@dataclass(frozen=True)
class Documents:
    """Everything of an attempt but what the client itself wrote."""

    engine: EngineFacts | Unavailable
    exit: ExitReport | Unavailable
    exchanges: ExchangeLog | Unavailable
    sidecar: SidecarLog | Unavailable
    replayed: Replayed | Unavailable


def read_documents(files: Mapping[str, bytes]) -> Documents:
    """The documents that `files` hold; a missing or damaged one is unavailable, and says why."""
    return Documents(
        engine=_document(EngineFacts, files, ENGINE),
        exit=_document(ExitReport, files, EXIT),
        exchanges=_exchanges(files[EXCHANGES]) if EXCHANGES in files else _missing(EXCHANGES),
        sidecar=_sidecar(files[SIDECAR]) if SIDECAR in files else _missing(SIDECAR),
        replayed=_document(Replayed, files, REPLAYED),
    )


def _missing(name: str) -> Unavailable:
    return Unavailable(f"{name} is missing")


def _document(model: type[D], files: Mapping[str, bytes], name: str) -> D | Unavailable:
    if name not in files:
        return _missing(name)
    try:
        return model.from_bytes(files[name], name)
    except EvidenceError as error:
        return Unavailable(_first(error))


def _first(error: EvidenceError, *, place: bool = True) -> str:
    """The error's first problem, without the name of its document where that is said already."""
    problem = error.problems[0]
    return short(plain_text(str(problem if place else replace(problem, document=""))))


def _exchanges(data: bytes) -> ExchangeLog:
    found: dict[int, Exchange] = {}
    damage: list[Damage] = []
    for line, written, item in json_lines(data):
        if isinstance(item, Corrupt):
            damage.append(Damage(line, item.reason))
            continue
        try:
            exchange = Exchange.from_json(item, f"{EXCHANGES} line {line}", written)
        except EvidenceError as error:
            damage.append(Damage(line, _first(error, place=False)))
            continue
        if exchange.seq in found:
            damage.append(Damage(line, f"exchange {exchange.seq} stands twice"))
        else:
            found[exchange.seq] = exchange
    last = data.count(b"\n") + 1
    if data and not data.endswith(b"\n") and not any(damaged.line == last for damaged in damage):
        # The gateway ends each line: what stands behind the last end may be all of an exchange, or its beginning.
        damage.append(Damage(last, "the line has no end"))
    return ExchangeLog(tuple(found[seq] for seq in sorted(found)), tuple(damage))


def _sidecar(data: bytes) -> SidecarLog:
    """Requests of the log; a line of another event, such as `ready`, says nothing of a trial."""
    requests: list[SidecarRequest] = []
    damage: list[Damage] = []
    for line, written, item in json_lines(data):
        if isinstance(item, Corrupt):
            damage.append(Damage(line, item.reason))
        elif item.get("event") == "request":
            try:
                requests.append(validated(SidecarRequest, item, f"{SIDECAR} line {line}", EvidenceError, written))
            except EvidenceError as error:
                damage.append(Damage(line, _first(error, place=False)))
    return SidecarLog(tuple(requests), tuple(damage))
