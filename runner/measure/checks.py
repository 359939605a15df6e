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
    from runner.core.study import CheckLabel, Label, SourceLabel

# White space is spelled out: what `\s` means in a text pattern follows the Unicode tables of the Python version.
_SPACE = re.compile("[ \t\n\r\f\v\u00a0]+")


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


def count(answer: str, label: Label, files: Mapping[str, bytes]) -> AnswerCounts:
    """What `answer` shows of `label`, in a workspace that holds `files`."""
    cited = resolve(parse_citations(answer), files)
    missed = [source for source in label.sources if not any(_touches(item, source) for item in cited.ranges)]
    paths = dict.fromkeys(source.path for source in label.sources)
    cited_paths = {item.path for item in cited.ranges}
    held = held_checks(answer, label.checks)
    return AnswerCounts(
        sources=_count(label.sources, missed),
        grade_2_sources=_count(
            [source for source in label.sources if source.grade == 2],
            [source for source in missed if source.grade == 2],
        ),
        files=Count(sum(path in cited_paths for path in paths), len(paths)),
        cited_ranges=Count(
            sum(any(_touches(item, source) for source in label.sources) for item in cited.ranges), len(cited.ranges)
        ),
        outside=len(cited.outside),
        coverage=Count(len(held), len(label.checks)),
        missed_sources=tuple(f"{source.path}#bytes={source.start}-{source.end}" for source in missed),
        missed_checks=tuple(check.id for check in label.checks if check.id not in held),
    )


def held_checks(answer: str, checks: Sequence[CheckLabel]) -> tuple[str, ...]:
    """The ids of the checks of which `answer` holds an alternative, case and runs of white space folded."""
    text = folded(answer)
    return tuple(check.id for check in checks if any(folded(wording) in text for wording in check.any))


def folded(text: str) -> str:
    """`text` with case folded and every run of white space as one space, none at its ends."""
    return _SPACE.sub(" ", text.casefold()).strip(" ")


def _count(sources: Sequence[SourceLabel], missed: Sequence[SourceLabel]) -> Count:
    return Count(len(sources) - len(missed), len(sources))


def _touches(item: CitedRange, source: SourceLabel) -> bool:
    return item.path == source.path and item.range.overlaps(ByteRange(source.start, source.end))
