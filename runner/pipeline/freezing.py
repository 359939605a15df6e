"""Corpora are frozen: what their parts give today is written down, or held against what was written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.core.canonical import sha256_digest
from runner.core.corpus import CorpusFile, CorpusLock
from runner.core.declared import read_declared
from runner.core.errors import StudyError
from runner.core.resolved import CorpusSource
from runner.plan.corpora import CorpusReader, lock_of

if TYPE_CHECKING:
    from pathlib import Path

    from runner.pipeline.world import World


def freeze_corpus(world: World, path: Path) -> CorpusLock:
    """`corpus.lock.json` stands beside the corpus file at `path`, and says what its parts give.

    Raises:
        StudyError: the file or a part of it is wrong.
        EnvironmentNotReady: a part can't be fetched.
    """
    data, declared = _read(world, path)
    lock = lock_of(_reader(world).corpus(declared, path.parent, str(path)), sha256_digest(data))
    world.files.write(path.parent / "corpus.lock.json", lock.to_bytes())
    return lock


def verify_corpus(world: World, path: Path) -> CorpusLock:
    """The lock beside the corpus file at `path`, which is what its parts give.

    Raises:
        StudyError: the file, a part, or what they give differs from the lock; or there is none.
        EnvironmentNotReady: a part can't be fetched.
    """
    data, declared = _read(world, path)
    place = path.parent / "corpus.lock.json"
    locked = world.files.read(place)
    if locked is None:
        raise StudyError("it was never frozen", document=str(path), hint="run `pairbench corpora lock`")
    frozen = CorpusLock.from_bytes(locked, str(place))
    if frozen.corpus_sha256 != sha256_digest(data):
        raise StudyError("it changed after it was frozen", document=str(path), hint="run `pairbench corpora lock`")
    _reader(world).locked(CorpusSource(file=declared, lock=frozen, document=str(path)), path.parent)
    return frozen


def _read(world: World, path: Path) -> tuple[bytes, CorpusFile]:
    data = world.files.read(path)
    if data is None:
        raise StudyError("there is no such file", document=str(path))
    return data, read_declared(CorpusFile, data, str(path))


def _reader(world: World) -> CorpusReader:
    return CorpusReader(world.files, world.build.tools.wheels, world.repositories, world.places.cache)
