"""What a corpus declares, and what it was frozen to."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self, TypeAlias

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from runner.core.documents import Document, Part
from runner.core.instants import seconds_of
from runner.core.study import Name, PathText, Text

DigestText = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
# A host that begins with a dash would be an option of ssh, and a corpus file is no place for a password.
_HTTPS = r"https://[A-Za-z0-9\[][^\s@?#]*"
_SSH = r"ssh://([A-Za-z0-9_][A-Za-z0-9._-]*@)?[A-Za-z0-9\[][^\s@?#]*"
_FILE = r"file:///[^\s?#]*"
RepositoryUrl = Annotated[str, StringConstraints(pattern=rf"^({_HTTPS}|{_SSH}|{_FILE})$")]


def _instant(text: str) -> str:
    seconds_of(text)
    return text


Instant = Annotated[str, AfterValidator(_instant)]
"""An RFC 3339 date-time of whole seconds."""
Owner = Annotated[str, StringConstraints(pattern=r"^([a-z][a-z0-9-]{0,39})?$")]
"""The name of a workspace; "" is everybody."""
Status = Literal["live", "deleted", "expired"]


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


class GitPart(Part):
    """The files of one commit, read from Git's objects and never checked out."""

    kind: Literal["git"]
    into: str = "."
    include: tuple[Text, ...] = ("**",)
    exclude: tuple[Text, ...] = ()
    url: RepositoryUrl
    commit: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
    tree_sha256: DigestText
    """Over the part's files after its globs, as the lock's digest of the whole: Git's own names are SHA-1."""
    submodules: tuple[PathText, ...] = ()
    """Those that are laid out too; one within another is named by its whole path."""


class BeirPart(Part):
    """The documents of a folder in BEIR's format."""

    kind: Literal["beir"]
    into: str = "."
    path: PathText

    include: ClassVar[tuple[str, ...]] = ("**",)
    exclude: ClassVar[tuple[str, ...]] = ()


class IrPart(Part):
    """The documents of a test collection: TREC's SGML, or `.tsv`, or `.jsonl`."""

    kind: Literal["ir"]
    into: str = "."
    documents: PathText | Annotated[tuple[PathText, ...], Field(min_length=1)]
    encoding: Literal["utf-8", "latin-1"] = "utf-8"

    include: ClassVar[tuple[str, ...]] = ("**",)
    exclude: ClassVar[tuple[str, ...]] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """The files and folders that hold documents."""
        return (self.documents,) if isinstance(self.documents, str) else self.documents


AnyPart: TypeAlias = WheelPart | FilesPart | GitPart | BeirPart | IrPart


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


class Scope(Part):
    """Boundaries of the passages of some files; what a later scope says of a key wins."""

    include: Annotated[tuple[Text, ...], Field(min_length=1)]
    workspace: Owner | None = None
    status: Status | None = None
    known_from: Instant | None = None
    expires: Instant | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if all(value is None for value in (self.workspace, self.status, self.known_from, self.expires)):
            raise ValueError("workspace, status, known_from or expires is needed")
        return self


class CorpusFile(Part):
    """`corpus.toml`."""

    format: Literal["pairbench/corpus"]
    version: Literal[1]
    name: Name
    description: Text
    licence: Text
    origin: str = ""
    """Where it comes from, for the card."""
    agreement: str = ""
    """What a second reader of its labels agreed with, for the card."""
    parts: Annotated[tuple[Annotated[AnyPart, Field(discriminator="kind")], ...], Field(min_length=1)]
    splitter: Splitter | None = None
    passages: PathText | None = None
    """The file that gives them, where no splitter makes them."""
    scopes: tuple[Scope, ...] = ()

    @property
    def collections(self) -> tuple[str, ...]:
        """The folders that documents of test collections are laid out in."""
        return tuple(dict.fromkeys(part.into for part in self.parts if isinstance(part, BeirPart | IrPart)))

    @model_validator(mode="after")
    def _one_way_to_passages(self) -> Self:
        if (self.splitter is None) == (self.passages is None):
            raise ValueError("exactly one of splitter and passages is needed")
        return self


class GivenPassage(Part):
    """One line of a file of given passages: bytes of a file, and boundaries that go before those of scopes."""

    source: PathText
    start: Annotated[int, Field(ge=0)]
    end: Annotated[int, Field(ge=1)]
    title: str = ""
    workspace: Owner | None = None
    status: Status | None = None
    known_from: Instant | None = None
    expires: Instant | None = None


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
