"""What should a person know of a corpus before using it? Its card: declared words and counted figures, in one form."""

from __future__ import annotations

from collections import Counter
from statistics import median_low
from typing import TYPE_CHECKING, Final

from runner.core.corpus import BeirPart, FilesPart, GitPart, IrPart, WheelPart

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.core.corpus import AnyPart, CorpusFile, CorpusLock
    from runner.core.passages import Passage
    from runner.plan.corpora import Corpus

CARD: Final = "CARD.md"
"""The name of a card, beside the lock."""


def card_of(declared: CorpusFile, corpus: Corpus, lock: CorpusLock) -> bytes:
    """The card of `corpus`, a Markdown page: the same bytes from the same declaration and files."""
    sections = (
        f"# Corpus `{declared.name}`",
        "Written by `pairbench corpora lock` from the corpus file and what its parts give; not to be edited.",
        declared.description.strip(),
        _table(("", ""), _facts(declared, lock)),
        "## Origin",
        *([declared.origin.strip()] if declared.origin.strip() else []),
        _table(("part", "from", "below"), [_part(part) for part in declared.parts]),
        "## Passages",
        _table(("", ""), _sizes(corpus.passages)),
        "## Boundaries",
        _boundaries(corpus.passages),
        "## Second reader",
        declared.agreement.strip() or "No agreement of a second reader is stated.",
    )
    return ("\n\n".join(sections) + "\n").encode("utf-8")


def _facts(declared: CorpusFile, lock: CorpusLock) -> Iterator[tuple[str, str]]:
    yield "licence", declared.licence
    yield "files", f"{lock.files:,}"
    yield "bytes", f"{lock.bytes:,}"
    yield "passages", f"{lock.passages:,}"
    yield "files without a passage", f"{lock.skipped:,}"
    rule = declared.splitter
    if rule is not None:
        yield "passages are", f"made by `{rule.name}`, about {rule.target_bytes:,} bytes, at most {rule.max_bytes:,}"
    else:
        yield "passages are", f"given by `{declared.passages}`"
    yield "digest of the files", f"`{lock.tree_sha256}`"
    yield "digest of the passages", f"`{lock.passages_sha256}`"


def _part(part: AnyPart) -> tuple[str, str, str]:
    match part:
        case WheelPart():
            source = f"{part.name} {part.version}, `{part.filename}`, `{part.sha256}`"
        case FilesPart():
            source = f"folder `{part.path}`"
        case GitPart():
            inner = f", with {', '.join(f'`{path}`' for path in part.submodules)}" if part.submodules else ""
            source = f"{part.url} at `{part.commit}`{inner}"
        case BeirPart():
            source = f"folder `{part.path}`"
        case IrPart():
            source = ", ".join(f"`{path}`" for path in part.paths)
    globs = [f"only {', '.join(f'`{glob}`' for glob in part.include)}"] if tuple(part.include) != ("**",) else []
    globs += [f"without {', '.join(f'`{glob}`' for glob in part.exclude)}"] if part.exclude else []
    return part.kind, "; ".join((source, *globs)), "`/workspace`" if part.into == "." else f"`/workspace/{part.into}`"


def _sizes(passages: Sequence[Passage]) -> Iterator[tuple[str, str]]:
    sizes = [passage.end - passage.start for passage in passages]
    yield "sources", f"{len({passage.source for passage in passages}):,}"
    yield "bytes of the smallest", f"{min(sizes):,}"
    yield "bytes of the middle one", f"{median_low(sizes):,}"
    yield "bytes of the largest", f"{max(sizes):,}"
    texts = Counter(passage.text for passage in passages)
    yield "with the text of an earlier one", f"{len(passages) - len(texts):,}"


def _boundaries(passages: Sequence[Passage]) -> str:
    if not any(
        p.workspace or p.status != "live" or p.known_from_s is not None or p.expires_s is not None for p in passages
    ):
        return "None: everybody may see every passage, and all are live at any time."
    groups = sorted({(passage.workspace, passage.status) for passage in passages})
    rows = []
    for workspace, status in groups:
        found = [passage for passage in passages if (passage.workspace, passage.status) == (workspace, status)]
        known = sum(passage.known_from_s is not None for passage in found)
        ending = sum(passage.expires_s is not None for passage in found)
        rows.append((workspace or "everybody's", status, f"{len(found):,}", f"{known:,}", f"{ending:,}"))
    return _table(("workspace", "status", "passages", "known from a time on", "that expire"), rows)


def _table(head: Sequence[str], rows: Iterator[tuple[str, ...]] | Sequence[tuple[str, ...]]) -> str:
    lines = [tuple(head), ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
