"""Do the labels of a study fit the files that they point into?

The shape of a labels file is checked where a study is loaded; this needs the corpora's bytes, so it runs when a study
is locked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.core.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runner.core.study import Label, SourceLabel


def source_problems(
    labels: Sequence[Label], workspaces: Mapping[str, Mapping[str, bytes]], document: str
) -> tuple[Problem, ...]:
    """Everything that is wrong with the reference sources of `labels`; `workspaces` has each task's files by path.

    A source must name a file of its task's corpus, lie inside of it, begin and end between characters, hold its anchor
    byte for byte, and share no byte with another source of the task. A task without a workspace is passed over.
    """
    return tuple(
        Problem(message, document, f"labels[{index}].sources[{number}]", hint)
        for index, label in enumerate(labels)
        if label.task in workspaces
        for number, message, hint in _faults(label, workspaces[label.task])
    )


def _faults(label: Label, files: Mapping[str, bytes]) -> Iterator[tuple[int, str, str]]:
    for number, source in enumerate(label.sources):
        data = files.get(source.path)
        if data is None:
            yield number, f"the corpus of {label.task!r} has no file {source.path!r}", ""
            continue
        yield from ((number, message, hint) for message, hint in _range_faults(source, data))
        for other in label.sources[:number]:
            if other.path == source.path and max(other.start, source.start) < min(other.end, source.end):
                yield number, f"overlaps the source at {other.start} to {other.end}", "make one of the two"


def _range_faults(source: SourceLabel, data: bytes) -> Iterator[tuple[str, str]]:
    if source.end > len(data):
        yield f"ends at {source.end}, and the file at {len(data)}", ""
        return
    try:
        text = data[source.start : source.end].decode("utf-8")
    except UnicodeDecodeError:
        yield "begins or ends inside a character, or isn't UTF-8", ""
        return
    if source.anchor not in text:
        yield f"the anchor {source.anchor!r} doesn't stand there", _where(source.anchor, data)


def _where(anchor: str, data: bytes) -> str:
    """Where the anchor stands instead."""
    position = data.find(anchor.encode("utf-8"))
    return "it isn't in the file at all" if position < 0 else f"it stands at byte {position}"
