"""The journal of a run: each line holds the digest of the one before, so that nothing in it can change unseen.

Pure: it makes lines and reads them; whoever appends them flushes them to disk before the effect that they announce and
after the one that they report.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from runner.core.canonical import Digest, sha256_digest, whole_lines
from runner.core.documents import Document
from runner.core.errors import EvidenceError

if TYPE_CHECKING:
    from collections.abc import Iterable

GENESIS = sha256_digest(b"")
"""What the first line names as the digest of the line before it."""

Kind = Literal[
    "run_started",
    "attempt_started",
    "attempt_granted",
    "attempt_ended",
    "run_ended",
    "run_resumed",
    "contract_bound",
    "control_frozen",
    "contract_rechecked",
]


class LedgerLine(Document):
    """One entry of the journal."""

    FORMAT: ClassVar[str] = "pairbench/ledger"
    EXACT: ClassVar[bool] = True

    seq: int
    """From 1."""
    at: str
    """UTC, RFC 3339."""
    kind: Kind
    trial: str
    """"" in lines about the run."""
    attempt: int
    """0 in lines about the run."""
    files: dict[str, str]
    """Relative name -> digest of what is there from now on."""
    detail: dict[str, str]
    previous: str


def next_line(  # noqa: PLR0913 - one entry has this many facts
    previous: Digest,
    *,
    seq: int,
    at: str,
    kind: Kind,
    trial: str = "",
    attempt: int = 0,
    files: dict[str, str] | None = None,
    detail: dict[str, str] | None = None,
) -> tuple[bytes, Digest]:
    """The bytes of the line that follows the one whose digest is `previous`, and its own digest."""
    line = LedgerLine(
        seq=seq,
        at=at,
        kind=kind,
        trial=trial,
        attempt=attempt,
        files=files or {},
        detail=detail or {},
        previous=previous,
    )
    data = line.to_line()
    return data, sha256_digest(data)


class Chain:
    """The lines of a journal, held against one another as they come."""

    def __init__(self, document: str) -> None:
        """Nothing yet of `document`."""
        self.head = GENESIS
        """The digest of the last line."""
        self._document = document
        self._count = 0
        self._canonical = True

    def next(self, written: bytes) -> LedgerLine:
        """The line that is `written`, without its end.

        Raises:
            EvidenceError: it isn't one, is out of order, or doesn't follow from the one before.
        """
        self._count += 1
        place = f"{self._document} line {self._count}"
        line = LedgerLine.from_bytes(written, place)
        if line.seq != self._count:
            raise EvidenceError(f"its number is {line.seq}", document=place, key="seq")
        if line.previous != self.head:
            raise EvidenceError("it does not follow from the line before", document=place, key="previous")
        canonical = line.to_line()
        self.head = sha256_digest(canonical)
        self._canonical = self._canonical and canonical[:-1] == written
        return line

    def end(self) -> None:
        """Nothing follows.

        Raises:
            EvidenceError: some line isn't canonical.
        """
        if not self._canonical:
            raise EvidenceError("its bytes are not canonical", document=self._document)


def read_ledger(data: bytes, document: str) -> tuple[tuple[LedgerLine, ...], Digest]:
    """The lines of a journal and the digest of the last.

    Raises:
        EvidenceError: a line is torn, isn't canonical, is out of order, or doesn't follow from the one before.
    """
    chain = Chain(document)
    lines = tuple(chain.next(line) for line in whole_lines(data, document))
    chain.end()
    return lines, chain.head


def without_torn_end(data: bytes) -> tuple[bytes, bytes]:
    """The whole lines of a journal, and what follows the last of them: a line that was being written at a crash.

    This is the only damage that is repaired. A line is written in one piece and ends in its only newline, so what a
    crash or a full disk can leave behind is the beginning of one line, at the end.
    """
    end = data.rfind(b"\n") + 1
    return data[:end], data[end:]


def open_attempts(lines: Iterable[LedgerLine]) -> tuple[tuple[str, int], ...]:
    """Attempts (trial, number) that were started and not ended, in the order of their start."""
    found: dict[tuple[str, int], None] = {}
    for line in lines:
        if line.kind == "attempt_started":
            found[line.trial, line.attempt] = None
        elif line.kind == "attempt_ended":
            found.pop((line.trial, line.attempt), None)
    return tuple(found)
