"""Corpora and query sets are frozen: what they are today is written down, or held against what was written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.core.canonical import sha256_digest
from runner.core.corpus import CorpusFile, CorpusLock
from runner.core.declared import parse_toml, read_declared
from runner.core.errors import PairbenchError, StudyError
from runner.core.resolved import CorpusSource
from runner.core.retrieval.queryset import lock_of as lock_of_queries
from runner.core.retrieval.queryset import lock_problems, resolved
from runner.core.sources import SourceIds
from runner.plan.card import CARD, card_of
from runner.plan.corpora import CorpusReader, lock_of
from runner.plan.queries import LOCK_NAME, read_query_set, read_query_set_lock

if TYPE_CHECKING:
    from pathlib import Path

    from runner.core.retrieval.queries import QuerySetLock
    from runner.pipeline.world import World
    from runner.plan.corpora import Corpus

_AGAIN = "run `pairbench corpora lock` if the change is meant"


def is_query_set(world: World, path: Path) -> bool:
    """Whether the file at `path` says that it is a query set; anything else is taken for a corpus.

    Raises:
        StudyError: there is no such file, or it isn't TOML.
    """
    return parse_toml(_bytes(world, path), str(path)).get("format") == "pairbench/queryset"


def freeze_corpus(world: World, path: Path) -> CorpusLock:
    """`corpus.lock.json` and `CARD.md` stand beside the corpus file at `path`, and say what its parts give.

    Raises:
        StudyError: the file or a part of it is wrong.
        EnvironmentNotReady: a part can't be fetched.
    """
    data, declared = _read(world, path)
    found = _reader(world).corpus(declared, path.parent, str(path))
    lock = lock_of(found, sha256_digest(data))
    world.files.write(path.parent / CARD, card_of(declared, found, lock))
    world.files.write(path.parent / "corpus.lock.json", lock.to_bytes())
    return lock


def verify_corpus(world: World, path: Path) -> CorpusLock:
    """The lock beside the corpus file at `path`, which is what its parts give, as its card says too.

    Raises:
        StudyError: the file, a part, what they give, or the card differs from the lock; or there is none.
        EnvironmentNotReady: a part can't be fetched.
    """
    frozen, found = _frozen(world, path)
    place = path.parent / CARD
    if world.files.read(place) != card_of(_read(world, path)[1], found, frozen):
        raise StudyError("it isn't the card of this corpus", document=str(place), hint=_AGAIN)
    return frozen


def freeze_queries(world: World, path: Path) -> QuerySetLock:
    """`queryset.lock.json` stands beside the query set at `path`, whose labels name sources of its frozen corpus.

    Raises:
        StudyError: the set is wrong, or its corpus isn't what it was frozen to.
        EnvironmentNotReady: a part of the corpus can't be fetched.
    """
    lock = _lock_of_queries(world, path)
    world.files.write(path.parent / LOCK_NAME, lock.to_bytes())
    return lock


def verify_queries(world: World, path: Path) -> QuerySetLock:
    """The lock beside the query set at `path`, which is what the set and its corpus are.

    Raises:
        StudyError: the set, its labels or its corpus differ from the lock; or there is none.
        EnvironmentNotReady: a part of the corpus can't be fetched.
    """
    frozen = read_query_set_lock(path, world.files)
    problems = lock_problems(_lock_of_queries(world, path), frozen, str(path.parent / LOCK_NAME))
    if problems:
        raise StudyError.of(problems)
    return frozen


def _lock_of_queries(world: World, path: Path) -> QuerySetLock:
    read = read_query_set(path, world.files)
    queries = read.legible or read.sound()
    try:
        lock, corpus = _frozen(world, path.parent / queries.declared.corpus)
    except PairbenchError as error:
        if not read.problems:
            raise
        # A corpus that can't be had doesn't hide what is wrong with the set.
        raise StudyError.of((*read.problems, *error.problems)) from error
    _, unfit = resolved(queries, corpus.name, SourceIds.of(corpus.files, corpus.collections))
    if problems := (*read.problems, *unfit):
        raise StudyError.of(problems)
    return lock_of_queries(queries, lock.name, lock.tree_sha256)


def _frozen(world: World, path: Path) -> tuple[CorpusLock, Corpus]:
    """The lock beside a corpus file, and the corpus, which is what the lock says."""
    data, declared = _read(world, path)
    place = path.parent / "corpus.lock.json"
    locked = world.files.read(place)
    if locked is None:
        raise StudyError("it was never frozen", document=str(path), hint="run `pairbench corpora lock`")
    frozen = CorpusLock.from_bytes(locked, str(place))
    if frozen.corpus_sha256 != sha256_digest(data):
        raise StudyError("it changed after it was frozen", document=str(path), hint="run `pairbench corpora lock`")
    source = CorpusSource(file=declared, lock=frozen, document=str(path))
    return frozen, _reader(world).locked(source, path.parent)


def _read(world: World, path: Path) -> tuple[bytes, CorpusFile]:
    data = _bytes(world, path)
    return data, read_declared(CorpusFile, data, str(path))


def _bytes(world: World, path: Path) -> bytes:
    data = world.files.read(path)
    if data is None:
        raise StudyError("there is no such file", document=str(path))
    return data


def _reader(world: World) -> CorpusReader:
    return CorpusReader(world.files, world.build.tools.wheels, world.repositories, world.places.cache)
