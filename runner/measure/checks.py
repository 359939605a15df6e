"""What of a task's labels does an answer show?

Counts, and nothing else: reference sources and files that the answer cites, and reference checks whose words it holds.
The latter is *diagnostic coverage*: it says which words an answer holds, not whether it is good. An answer that was
never given has no counts: whoever has none says `Unavailable`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.core.citations import ByteRange, parse_citations, resolve

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runner.core.citations import CitedRange

# White space is spelled out: what `\s` means in a text pattern follows the Unicode tables of the Python version.
_SPACE = re.compile("[ \t\n\r\f\v\u00a0]+")


@dataclass(frozen=True)
class ReferenceSource:
    """A range of a file that answers a task (grade 2) or supports the answer (grade 1)."""

    path: str
    range: ByteRange
    grade: int


@dataclass(frozen=True)
class ReferenceCheck:
    """Wordings of one thing that an answer should mention; any of them will do."""

    id: str
    alternatives: tuple[str, ...]


@dataclass(frozen=True)
class TaskLabels:
    """Everything that is known of a good answer to one task."""

    sources: tuple[ReferenceSource, ...]
    checks: tuple[ReferenceCheck, ...]


@dataclass(frozen=True)
class Count:
    """How many of how many."""

    found: int
    total: int


@dataclass(frozen=True)
class AnswerCounts:
    """What an answer shows of its task's labels."""

    sources: Count
    """Reference sources of which some cited range holds a byte."""
    grade_2_sources: Count
    """The same of those that answer the question by themselves."""
    files: Count
    """Files of reference sources that the answer cites at all."""
    cited_ranges: Count
    """Cited ranges that touch a reference source, of all cited ranges that exist."""
    outside: int
    """Citations of a file of the workspace, beyond its end."""
    coverage: Count
    """Diagnostic coverage: reference checks whose words the answer holds."""
    missed_sources: tuple[str, ...]
    """The sources not found, as `path#bytes=start-end`, in the order of the labels."""
    missed_checks: tuple[str, ...]
    """The ids of the checks not found, in the order of the labels."""


def count(answer: str, labels: TaskLabels, files: Mapping[str, bytes]) -> AnswerCounts:
    """What `answer` shows of `labels`, in a workspace that holds `files`."""
    cited = resolve(parse_citations(answer), files)
    found = [source for source in labels.sources if _is_cited(source, cited.ranges)]
    strong = [source for source in labels.sources if source.grade == 2]
    paths = dict.fromkeys(source.path for source in labels.sources)
    cited_paths = {item.path for item in cited.ranges}
    held = held_checks(answer, labels.checks)
    return AnswerCounts(
        sources=Count(len(found), len(labels.sources)),
        grade_2_sources=Count(sum(source.grade == 2 for source in found), len(strong)),
        files=Count(sum(path in cited_paths for path in paths), len(paths)),
        cited_ranges=Count(sum(_touches(item, labels.sources) for item in cited.ranges), len(cited.ranges)),
        outside=len(cited.outside),
        coverage=Count(len(held), len(labels.checks)),
        missed_sources=tuple(_written(source) for source in labels.sources if source not in found),
        missed_checks=tuple(check.id for check in labels.checks if check.id not in held),
    )


def held_checks(answer: str, checks: Sequence[ReferenceCheck]) -> tuple[str, ...]:
    """The ids of the checks of which `answer` holds an alternative, case and runs of white space folded."""
    text = folded(answer)
    return tuple(check.id for check in checks if any(folded(wording) in text for wording in check.alternatives))


def folded(text: str) -> str:
    """`text` with case folded and every run of white space as one space, none at its ends."""
    return _SPACE.sub(" ", text.casefold()).strip(" ")


def _is_cited(source: ReferenceSource, cited: Sequence[CitedRange]) -> bool:
    return any(item.path == source.path and item.range.overlaps(source.range) for item in cited)


def _touches(item: CitedRange, sources: Sequence[ReferenceSource]) -> bool:
    return any(item.path == source.path and item.range.overlaps(source.range) for source in sources)


def _written(source: ReferenceSource) -> str:
    return f"{source.path}#bytes={source.range.start}-{source.range.end}"
