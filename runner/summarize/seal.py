"""The sealed form of a summary: canonical bytes, and the checksum that belongs to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.core.canonical import sha256_digest
from runner.core.errors import EvidenceError
from runner.core.summary import Summary

if TYPE_CHECKING:
    from runner.core.canonical import Digest

SUMMARY_NAME = "summary.json"
CHECKSUM_NAME = "summary.json.sha256"


@dataclass(frozen=True)
class Sealed:
    """The two files of a sealed summary."""

    summary_bytes: bytes
    checksum_bytes: bytes
    """One line as `sha256sum --check` reads it."""


def seal(summary: Summary) -> Sealed:
    """The summary's canonical bytes and their checksum."""
    data = summary.to_bytes()
    return Sealed(data, checksum_line(sha256_digest(data)))


def open_sealed(summary_bytes: bytes, checksum_bytes: bytes, document: str = SUMMARY_NAME) -> Summary:
    """The summary in `summary_bytes`.

    Raises:
        EvidenceError: the checksum isn't that of the bytes, the bytes aren't a summary, or they aren't canonical.
    """
    if checksum_bytes != checksum_line(sha256_digest(summary_bytes)):
        raise EvidenceError("its bytes are not those that were sealed", document=document, key=CHECKSUM_NAME)
    summary = Summary.from_bytes(summary_bytes, document)
    if summary.to_bytes() != summary_bytes:
        raise EvidenceError("its bytes are not canonical", document=document)
    return summary


def checksum_line(digest: Digest) -> bytes:
    """What belongs beside a summary whose bytes have this digest: one line as `sha256sum --check` reads it."""
    return f"{digest.removeprefix('sha256:')}  {SUMMARY_NAME}\n".encode("ascii")
