"""What the files of an image came out of: a Debian package, a wheel, a folder of ours, a declaration, another image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

OriginKind: TypeAlias = Literal["debian", "wheel", "program", "declaration", "image"]


@dataclass(frozen=True, order=True)
class Origin:
    """One thing that files of an image came out of."""

    kind: OriginKind
    name: str
    """Of the package or distribution; of a folder or a declaration of ours its path from the project's folder."""
    version: str
    """"" for what has none: folders and declarations of ours."""
    file: str
    """The file that was fetched; "" for what is ours."""
    sha256: str
    """Of that file; of a folder the digest over paths and contents, of a declaration that of what it declares."""
    licence: str = ""
    """As an SPDX expression, where the package states one plainly; else ""."""

    def __str__(self) -> str:
        """The origin in a few words."""
        return " ".join(part for part in (self.name, self.version) if part)
