"""Which systems can a study compare? Ways to search, ours or any MCP server's, and memories that reconsolidate."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Final, Literal, Self, TypeAlias

from pydantic import Field, StringConstraints, model_validator

from runner.core.documents import Part

MOST_RESULTS: Final = 1_000
RESULT_GROUPS: Final = ("id", "source", "start", "end", "score")
"""What a mapping can read out of a result."""

Argument = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]{0,63}$")]
Pattern = Annotated[str, StringConstraints(min_length=1, max_length=2000)]
Boundary: TypeAlias = Literal["workspace", "status", "time"]
ReconsolidationMode: TypeAlias = Literal["original_only", "merge_only", "connections"]
ScoreE6 = Annotated[int, Field(ge=-(10**12), le=10**12)]


class _Own(Part):
    """What our systems have in common: they search the sidecar."""

    minimum_score_e6: ScoreE6 | None = None
    """Results that score less are dropped; where none is left, the system abstains."""
    ignore: tuple[Boundary, ...] = ()
    """Boundaries that it leaves out on purpose."""

    is_own: ClassVar[bool] = True
    is_retrieval: ClassVar[bool] = True

    @model_validator(mode="after")
    def _once(self) -> Self:
        if len(set(self.ignore)) < len(self.ignore):
            raise ValueError("ignore names a boundary twice")
        return self


class DenseSystem(_Own):
    """The nearest vectors of the embedding model."""

    kind: Literal["dense"]
    approximate: bool = False
    """Search as the engine would by itself; recall against exact search is a measure then."""


class Bm25System(_Own):
    """The words that query and passage share."""

    kind: Literal["bm25"]


class HybridSystem(_Own):
    """Both, put together by their ranks."""

    kind: Literal["hybrid"]
    rrf_k: Annotated[int, Field(ge=1, le=100_000)] = 60
    approximate: bool = False


class McpSystem(Part):
    """A search tool of the arm's MCP server, and what its answers mean."""

    kind: Literal["mcp"]
    tool: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    query: Argument
    """Name of the argument that takes the query's text."""
    limit: Argument | None = None
    """Name of the argument that takes the number of results; the others that are names of arguments likewise."""
    limit_value: Annotated[int, Field(ge=1, le=MOST_RESULTS)] | None = None
    """None: the client's depth."""
    workspace: Argument | None = None
    at: Argument | None = None
    results: Pattern
    """A regular expression of which each match is a result, read by its named groups."""
    empty: Pattern | None = None
    """A regular expression that an answer without results matches; one that doesn't is a failed query."""

    is_own: ClassVar[bool] = False
    is_retrieval: ClassVar[bool] = True

    @model_validator(mode="after")
    def _sound(self) -> Self:
        arguments = [name for name in (self.query, self.limit, self.workspace, self.at) if name is not None]
        if len(set(arguments)) < len(arguments):
            raise ValueError("query, limit, workspace and at are names of different arguments")
        if self.limit_value is not None and self.limit is None:
            raise ValueError("limit_value needs limit: the name of the argument that takes it")
        _check_mapping(_compiled(self.results, "results"))
        if self.empty is not None:
            _compiled(self.empty, "empty")
        return self


class Reconsolidator(Part):
    """The memory of ours that merges, connects and recalls."""

    kind: Literal["reconsolidator"]
    mode: ReconsolidationMode

    is_own: ClassVar[bool] = True
    is_retrieval: ClassVar[bool] = False


class ReconsolidationProgram(Part):
    """Any program that reads the seeds of cases, and leaves its memory in the sidecar."""

    kind: Literal["program"]
    command: Annotated[tuple[Annotated[str, StringConstraints(min_length=1)], ...], Field(min_length=1)]
    mode: ReconsolidationMode
    """What it is told to do; how it does that is its own business."""

    is_own: ClassVar[bool] = True
    is_retrieval: ClassVar[bool] = False


System: TypeAlias = Annotated[
    DenseSystem | Bm25System | HybridSystem | McpSystem | Reconsolidator | ReconsolidationProgram,
    Field(discriminator="kind"),
]


def _compiled(pattern: str, key: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{key} is no regular expression of Python's: {error}") from error


def _check_mapping(pattern: re.Pattern[str]) -> None:
    groups = set(pattern.groupindex)
    if unknown := sorted(groups - set(RESULT_GROUPS)):
        raise ValueError(f"results has the group {unknown[0]!r}; there are {', '.join(RESULT_GROUPS)}")
    if "source" not in groups:
        raise ValueError("results needs the group source, as in (?P<source>\\S+)")
    if len({"start", "end"} & groups) == 1:
        raise ValueError("results has the groups start and end together, or neither")
    if pattern.search("") is not None:
        raise ValueError("results matches the empty text: it would find results where there are none")
