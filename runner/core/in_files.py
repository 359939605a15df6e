"""What a trial found in `/in` beside its launch document: `in.json` of an attempt."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, ClassVar

from runner.core.documents import Document, Part

if TYPE_CHECKING:
    from runner.core.launch import PodLaunch


class Packed(Part):
    """Bytes that are no UTF-8."""

    base64: str


class InFiles(Document):
    """The files by name, as texts wherever they are such."""

    FORMAT: ClassVar[str] = "pairbench/in-files"

    files: dict[str, str | Packed]


def in_files(launch: PodLaunch) -> InFiles:
    """The files beside the launch document."""
    return InFiles(files={file.name: _held(file.data) for file in launch.files})


def _held(data: bytes) -> str | Packed:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return Packed(base64=base64.b64encode(data).decode("ascii"))
