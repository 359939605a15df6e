"""A corpus is laid out from its parts, its passages are made or taken, and it is held against its lock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core.boundaries import bounded, scope_problems, scoped
from runner.core.canonical import Digest
from runner.core.corpus import CorpusLock
from runner.core.errors import Problem, StudyError
from runner.core.given import given_passages
from runner.core.passages import LINES_1, Splitter, passages_digest, skipped, split, tree_digest
from runner.core.sources import source_id_problems
from runner.core.trees import placed, selected, tree_problems
from runner.plan.parts import PartReader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from runner.core.corpus import CorpusFile
    from runner.core.passages import Passage
    from runner.core.resolved import CorpusSource
    from runner.core.tars import TreeFile
    from runner.ports.fetching import WheelFetcher
    from runner.ports.files import Files
    from runner.ports.repositories import Repositories

# A file of a hundred thousand lines can be wrong in each; nobody reads more than these.
_MOST_PROBLEMS: Final = 100


@dataclass(frozen=True)
class Corpus:
    """A corpus as it is laid out: its files by path in the workspace, and its passages by id."""

    name: str
    files: Mapping[str, TreeFile]
    passages: tuple[Passage, ...]
    collections: tuple[str, ...] = ()
    """The folders that documents of test collections lie in."""

    def contents(self) -> dict[str, bytes]:
        """The bytes of every file."""
        return {path: file.data for path, file in self.files.items()}


@dataclass(frozen=True)
class CorpusReader:
    """Reads corpora; what is fetched for them is kept in `cache`."""

    files: Files
    wheels: WheelFetcher
    repositories: Repositories
    cache: Path

    def corpus(self, declared: CorpusFile, folder: Path, document: str) -> Corpus:
        """The corpus that `declared`, a file in `folder`, describes.

        Raises:
            StudyError: a part is missing or may not be laid out, or passages are wrong; everything is named.
            EnvironmentNotReady: a part can't be fetched, or isn't what its digest says.
        """
        files = self._laid_out(declared, folder, document)
        contents = {path: file.data for path, file in files.items()}
        problems = list(scope_problems(list(files), declared.scopes, document))
        problems += source_id_problems(files, declared.collections, document)
        passages: tuple[Passage, ...] = ()
        try:
            passages = self._passages(declared, contents, folder, document)
        except StudyError as error:
            problems += error.problems
        else:
            if not passages:
                problems.append(Problem("no file of the corpus gives a passage", document, "parts"))
        _refuse(problems, document)
        return Corpus(declared.name, files, passages, declared.collections)

    def locked(self, source: CorpusSource, folder: Path) -> Corpus:
        """The corpus, which is what its lock says; raises as `corpus` does, and `StudyError` when it isn't."""
        found = self.corpus(source.file, folder, source.document)
        now, frozen = lock_of(found, Digest(source.lock.corpus_sha256)), source.lock
        problems = [
            Problem(
                f"it is {getattr(now, key)}, and was frozen as {getattr(frozen, key)}",
                source.document,
                key,
                "run `pairbench corpora lock` if the change is meant",
            )
            for key in ("tree_sha256", "passages_sha256", "files", "bytes", "passages", "skipped")
            if getattr(now, key) != getattr(frozen, key)
        ]
        if problems:
            raise StudyError.of(problems)
        return found

    def _laid_out(self, declared: CorpusFile, folder: Path, document: str) -> dict[str, TreeFile]:
        reader = PartReader(self.files, self.wheels, self.repositories, self.cache)
        pairs: list[tuple[str, TreeFile]] = []
        problems: list[Problem] = []
        for index, part in enumerate(declared.parts):
            try:
                found = reader.read(part, folder, document, f"parts[{index}]")
            except StudyError as error:
                problems += error.problems
                continue
            names = selected(sorted(found), part.include, part.exclude)
            pairs += [(placed(part.into, name), found[name]) for name in names]
        if not problems:
            problems += tree_problems((path for path, _ in pairs), document)
        _refuse(problems, document)
        return dict(sorted(pairs, key=lambda pair: pair[0].encode("utf-8")))

    def _passages(
        self, declared: CorpusFile, contents: Mapping[str, bytes], folder: Path, document: str
    ) -> tuple[Passage, ...]:
        scopes = scoped(list(contents), declared.scopes)
        if declared.passages is None:
            rule = declared.splitter
            parameters = LINES_1 if rule is None else Splitter(rule.name, rule.target_bytes, rule.max_bytes)
            return bounded(split(contents, parameters), scopes)
        place = folder / declared.passages
        data = self.files.read(place)
        if data is None:
            raise StudyError(f"there is no file {place}", document=document, key="passages")
        return given_passages(data, contents, scopes, str(place))


def lock_of(corpus: Corpus, corpus_sha256: Digest) -> CorpusLock:
    """What `corpus` is frozen to; `corpus_sha256` is the digest of its file."""
    contents = corpus.contents()
    return CorpusLock(
        name=corpus.name,
        corpus_sha256=corpus_sha256,
        tree_sha256=tree_digest(contents),
        passages_sha256=passages_digest(corpus.passages),
        files=len(contents),
        bytes=sum(len(data) for data in contents.values()),
        passages=len(corpus.passages),
        skipped=len(skipped(contents, corpus.passages)),
    )


def _refuse(problems: Sequence[Problem], document: str) -> None:
    """Everything that is wrong is raised, if anything is; beyond what anybody reads, as a number."""
    if not problems:
        return
    rest = len(problems) - _MOST_PROBLEMS
    more = [Problem(f"and {rest} more are wrong", document)] if rest > 0 else []
    raise StudyError.of([*problems[:_MOST_PROBLEMS], *more])
