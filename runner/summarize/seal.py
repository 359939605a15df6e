"""The sealed form of a summary: canonical bytes, and the checksum that belongs to them."""

from __future__ import annotations

from dataclasses import dataclass

from runner.core.canonical import sha256_digest
from runner.core.errors import EvidenceError
from runner.core.summary import Summary

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
    return Sealed(data, _checksum(data))


def open_sealed(summary_bytes: bytes, checksum_bytes: bytes, document: str = SUMMARY_NAME) -> Summary:
    """The summary in `summary_bytes`.

    Raises:
        EvidenceError: the checksum isn't that of the bytes, the bytes aren't a summary, or they aren't canonical.
    """
    if checksum_bytes != _checksum(summary_bytes):
        raise EvidenceError("its bytes are not those that were sealed", document=document, key=CHECKSUM_NAME)
    summary = Summary.from_bytes(summary_bytes, document)
    if summary.to_bytes() != summary_bytes:
        raise EvidenceError("its bytes are not canonical", document=document)
    return summary


def _checksum(data: bytes) -> bytes:
    return f"{sha256_digest(data).removeprefix('sha256:')}  {SUMMARY_NAME}\n".encode("ascii")
