"""Where the documents that are computed from a run go: into its folder, or against what lies there."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Protocol

from runner.core import layout
from runner.core.errors import Problem
from runner.pipeline.sinks import Compared, Written

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from runner.core.canonical import Digest
    from runner.pipeline.sinks import Sink
    from runner.ports.files import Files


class Outlet(Protocol):
    """Takes the documents of a run by their names."""

    def sink(self, name: str) -> Sink:
        """Where the document `name` goes piece by piece."""

    def put(self, name: str, data: bytes) -> Digest:
        """The document `name` is `data`; its digest."""


class IntoFolder:
    """Writes the documents; those that are taken piece by piece are whole when the context ends."""

    def __init__(self, files: Files, folder: Path) -> None:
        """Nothing yet."""
        self._files = files
        self._folder = folder
        self._open = ExitStack()

    def __enter__(self) -> Self:
        """Documents are taken until the context ends."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        """What was taken piece by piece is in place; after an error, none of it is."""
        return self._open.__exit__(kind, error, trace)

    def sink(self, name: str) -> Sink:
        """Where the document `name` goes piece by piece."""
        return Written(self._open.enter_context(self._files.writing(self._folder / name)))

    def put(self, name: str, data: bytes) -> Digest:
        """The document `name` is written."""
        sink = Written(lambda piece: self._files.write(self._folder / name, piece))
        sink.put(data)
        return sink.digest()


class AgainstFolder:
    """Holds the documents against those that lie in the folder."""

    def __init__(self, files: Files, folder: Path) -> None:
        """Nothing yet."""
        self._files = files
        self._folder = folder
        self._sinks: dict[str, Sink] = {}
        self._problems: list[Problem] = []
        self.documents = 0

    def sink(self, name: str) -> Sink:
        """What holds the document against its file; where there is none, what takes it and forgets it."""
        self.documents += 1
        self._sinks[name] = self._of_file(name)
        return self._sinks[name]

    def put(self, name: str, data: bytes) -> Digest:
        """The document `name` was held against its file, and is done with."""
        self.documents += 1
        self._sinks[name] = sink = self._of_file(name)
        sink.put(data)
        digest = sink.digest()
        if isinstance(sink, Compared):
            self._problems += [problem] if (problem := sink.difference(name)) else []
            self._sinks[name] = _DONE
        return digest

    def differences(self) -> Iterator[Problem]:
        """Everything that lies there otherwise, after all was taken."""
        for name, sink in self._sinks.items():
            if sink is _DONE:
                continue
            problem = sink.difference(name) if isinstance(sink, Compared) else Problem("missing", name)
            if problem:
                yield problem
        yield from self._problems
        for name in self._files.walk(self._folder / layout.FIELD_FILES):
            if f"{layout.FIELD_FILES}/{name}" not in self._sinks:
                yield Problem("nothing of the run gives this file", f"{layout.FIELD_FILES}/{name}")

    def _of_file(self, name: str) -> Sink:
        pieces = self._files.pieces(self._folder / name)
        return Written(lambda _: None) if pieces is None else Compared(pieces)


_DONE: Sink = Written(lambda _: None)
