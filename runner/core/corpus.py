"""What a corpus declares, and what it was frozen to."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from runner.core.documents import Document, Part
from runner.core.study import Name, PathText, Text

DigestText = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]


class WheelPart(Part):
    """The files of one wheel, unzipped and never installed."""

    kind: Literal["wheel"]
    into: str = "."
    include: tuple[Text, ...] = ("**",)
    exclude: tuple[Text, ...] = ()
    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$")]
    version: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9.+!_-]*$")]
    filename: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9.+!_-]*\.whl$")]
    sha256: DigestText


class FilesPart(Part):
    """The files of a folder beside the corpus file."""

    kind: Literal["files"]
    into: str = "."
    include: tuple[Text, ...] = ("**",)
    exclude: tuple[Text, ...] = ()
    path: PathText


class Splitter(Part):
    """How passages are made of files."""

    name: Literal["lines-1"]
    target_bytes: Annotated[int, Field(ge=200, le=4096)] = 800
    max_bytes: Annotated[int, Field(ge=200, le=8192)] = 1600

    @model_validator(mode="after")
    def _target_fits(self) -> Self:
        if self.max_bytes < self.target_bytes:
            raise ValueError("max_bytes must be at least target_bytes")
        return self


class CorpusFile(Part):
    """`corpus.toml`."""

    format: Literal["pairbench/corpus"]
    version: Literal[1]
    name: Name
    description: Text
    licence: Text
    parts: Annotated[tuple[Annotated[WheelPart | FilesPart, Field(discriminator="kind")], ...], Field(min_length=1)]
    splitter: Splitter


class CorpusLock(Document):
    """`corpus.lock.json`: what the corpus was when it was frozen."""

    FORMAT: ClassVar[str] = "pairbench/corpus-lock"

    name: str
    corpus_sha256: DigestText
    tree_sha256: DigestText
    passages_sha256: DigestText
    files: int
    bytes: int
    passages: int
    skipped: int
