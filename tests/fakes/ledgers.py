"""Ledgers of somebody who changes a run and chains its ledger anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.core import layout
from runner.core.ledger import GENESIS, next_line, read_ledger

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from tests.fakes.files import MemoryFiles


def rewritten(
    files: MemoryFiles,
    folder: Path,
    changed: Mapping[str, str],
    *,
    added: Mapping[str, str] | None = None,
    left_out: Collection[str] = (),
) -> None:
    """The ledger gives the files that it names the digests in `changed`, and those `added` to lines of their folder."""
    head, data = GENESIS, b""
    for number, line in enumerate(read_ledger(files.held[folder / layout.LEDGER], layout.LEDGER)[0], 1):
        more = dict(line.files)
        if line.kind == "attempt_ended":
            place = f"{layout.attempt_folder(line.trial, line.attempt)}/"
            more |= {name: digest for name, digest in (added or {}).items() if name.startswith(place)}
        text, head = next_line(
            head,
            seq=number,
            at=line.at,
            kind=line.kind,
            trial=line.trial,
            attempt=line.attempt,
            files={name: changed.get(name, digest) for name, digest in more.items() if name not in left_out},
            detail=line.detail,
        )
        data += text
    files.held[folder / layout.LEDGER] = data
