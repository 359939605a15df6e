"""What does a query set declare, and what is one after it was read? Shapes and ranges only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, Literal, Self, TypeAlias

from pydantic import Field, StringConstraints, model_validator

from runner.core.documents import Document, Part
from runner.core.study import Name, PathText, Text

QUERY_LIMIT_BYTES: Final = 65_536
HIGHEST_GRADE: Final = 3
HIGHEST_FOREIGN_GRADE: Final = 100
"""Of qrels: collections of the field use up to 16."""
DEEPEST_CUT: Final = 1_000

Split: TypeAlias = Literal["development", "holdout"]
Kind: TypeAlias = Literal["literal", "paraphrase", "no_answer", "unspecified"]
"""Whether the words of a query stand in its sources; `no_answer`: nothing in the corpus answers it."""

QUERY_ID_LIMIT: Final = 100


class Query(Part):
    """One query. Only `id`, `text`, `workspace` and `at_s` may enter a trial."""

    id: str
    text: str
    workspace: str = ""
    """Whoever asks stands in this workspace; "": in none, and sees what every workspace sees."""
    at_s: int | None = None
    """When it is asked, in seconds since the epoch; None: at no time in particular, and nothing is too early."""
    split: Split = "development"
    kind: Kind = "unspecified"
    tags: tuple[str, ...] = ()


class Judgement(Part):
    """What one source is worth to one query."""

    query: str
    source: str
    grade: int
    """0: judged, and not relevant. Of our own sets 1: on topic, 2: answers a part, 3: answers it alone."""


class JsonlQueries(Part):
    """A file with one query a line."""

    kind: Literal["jsonl"]
    path: PathText


class TrecTopics(Part):
    """A file of TREC topics: `<top>` blocks, or an id and a text a line with a tab between."""

    kind: Literal["trec"]
    topics: PathText
    field: Literal["title", "description"] = "title"
    """What of a `<top>` block is asked."""


class BeirFolder(Part):
    """A folder with `queries.jsonl` and `qrels/<split>.tsv`; it brings its labels."""

    kind: Literal["beir"]
    path: PathText
    split: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,40}$")] = "test"


class JsonlLabels(Part):
    """A file with one label a line, sources named by their paths."""

    kind: Literal["jsonl"]
    path: PathText


class TrecQrels(Part):
    """A file of TREC qrels, sources named as TREC files name them."""

    kind: Literal["trec"]
    qrels: PathText


class Cuts(Part):
    """How deep the measures look that have a cut."""

    k: Annotated[tuple[Annotated[int, Field(ge=1, le=DEEPEST_CUT)], ...], Field(min_length=1, max_length=20)]

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        if list(self.k) != sorted(set(self.k)):
            raise ValueError("the numbers of k must ascend")
        return self


class QuerySetFile(Part):
    """`queryset.toml`."""

    format: Literal["pairbench/queryset"]
    version: Literal[1]
    name: Name
    description: Text
    licence: Text
    author: str = ""
    reviewer: str = ""
    notes: str = ""
    corpus: PathText
    """The corpus file that its labels point into, from the folder of this file."""
    queries: Annotated[JsonlQueries | TrecTopics | BeirFolder, Field(discriminator="kind")]
    labels: Annotated[JsonlLabels | TrecQrels, Field(discriminator="kind")] | None = None
    measures: Cuts = Cuts(k=(1, 3, 5, 10))

    @model_validator(mode="after")
    def _labels_from_one_place(self) -> Self:
        if isinstance(self.queries, BeirFolder) and self.labels is not None:
            raise ValueError("a folder of kind beir brings its labels: leave out [labels]")
        if not isinstance(self.queries, BeirFolder) and self.labels is None:
            raise ValueError("[labels] is missing")
        return self


class QuerySetLock(Document):
    """`queryset.lock.json`: what a query set was when it was frozen, and for which corpus."""

    FORMAT: ClassVar[str] = "pairbench/queryset-lock"

    name: str
    corpus: str
    tree_sha256: str
    """Of the corpus that the labels were made for."""
    queries_sha256: str
    """Of every query's id, text, workspace and time, in their order."""
    labels_sha256: str
    split_sha256: str
    """Of every query's split, kind and tags."""
    queries: int
    labels: int
    left_out: int
    """Topics of a foreign file that no label calls relevant to anything: they aren't asked."""
    by_kind: dict[str, int]
    by_split: dict[str, int]
    by_grade: dict[str, int]


class ResolvedQuerySet(Document):
    """A query set as later stages read it: its sources named as TREC files name them."""

    FORMAT: ClassVar[str] = "pairbench/resolved-queryset"

    name: str
    corpus: str
    collections: tuple[str, ...] = ()
    """Folders of the corpus that documents of test collections lie in, by whose ids their sources are called."""
    ks: tuple[int, ...]
    queries: tuple[Query, ...]
    labels: tuple[Judgement, ...]

    def grades(self) -> dict[str, dict[str, int]]:
        """Query -> source -> grade, of the queries that something in the corpus answers; those alone are averaged."""
        found: dict[str, dict[str, int]] = {query.id: {} for query in self.queries if query.kind != "no_answer"}
        for label in self.labels:
            if label.query in found:
                found[label.query][label.source] = label.grade
        return found


@dataclass(frozen=True)
class QuerySet:
    """A query set as its files give it, without a fault of its own; whether its labels fit a corpus is asked later."""

    document: str
    """Path of the set's file."""
    declared: QuerySetFile
    queries: tuple[Query, ...]
    labels: tuple[Judgement, ...]
    label_lines: tuple[int, ...]
    """Where each label stands in `labels_document`."""
    labels_document: str
    names_paths: bool
    """Whether labels name sources by path; else as TREC files do."""
    left_out: tuple[str, ...]
    """Ids of topics that no label calls relevant to anything."""
