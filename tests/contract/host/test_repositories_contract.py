"""What the repositories port promises, of Git and of the one in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from runner.adapters.git import GitRepositories
from runner.core.errors import EnvironmentNotReady
from runner.ports.repositories import GitEntry
from tests.fakes.git_sources import git_source
from tests.fakes.repositories import Commit, MemoryRepositories

if TYPE_CHECKING:
    from pathlib import Path

    from runner.ports.repositories import Repositories

MODES = {"file": "100644", "executable": "100755", "link": "120000", "submodule": "160000"}
INNER = "1" * 40
MODULES = b'[submodule "lib"]\n\tpath = vendor/lib\n\turl = ../lib.git\n[submodule "half"]\n\tpath = half\n'
PATHS = {
    ".gitmodules": ("file", MODULES),
    "a/link": ("link", b"../b"),
    "b": ("file", b"bee\r\n\x00\xff"),
    "run": ("executable", b"#!/bin/sh\n"),
    "vendor/lib": ("submodule", INNER.encode()),
}


@dataclass
class Bench:
    """A kind of repositories, and one of them with a commit."""

    repositories: Repositories
    url: str
    commit: str
    store: Path


@pytest.fixture(params=["git", "memory"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    """Git, and the fake."""
    source = git_source(tmp_path / "source.git")
    commit = source.commit({path: (MODES[kind], data) for path, (kind, data) in PATHS.items()})
    source.git("update-ref", "refs/heads/main", source.commit({"other": ("100644", b"newer")}, commit))
    known = {(source.url, commit): Commit(PATHS, {"vendor/lib": "../lib.git"})}
    made: Repositories = GitRepositories() if request.param == "git" else MemoryRepositories(known)
    return Bench(made, source.url, commit, tmp_path / "cache" / commit)


def test_a_commit_is_fetched_into_its_store(bench: Bench) -> None:
    """It isn't there before, and can be fetched again."""
    assert not bench.repositories.holds(bench.commit, bench.store)
    for _ in range(2):
        bench.repositories.fetch(bench.url, bench.commit, bench.store)
        assert bench.repositories.holds(bench.commit, bench.store)
    assert not bench.repositories.holds("2" * 40, bench.store)


def test_entries_say_what_stands_where(bench: Bench) -> None:
    """The names are Git's own: of the blob `bee`, computed apart with `git hash-object`."""
    bench.repositories.fetch(bench.url, bench.commit, bench.store)
    entries = bench.repositories.entries(bench.commit, bench.store)
    assert {path: (entry.kind, entry.size_bytes) for path, entry in entries.items()} == {
        ".gitmodules": ("file", len(MODULES)),
        "a/link": ("link", 4),
        "b": ("file", 7),
        "run": ("executable", 10),
        "vendor/lib": ("submodule", 0),
    }
    assert entries["vendor/lib"] == GitEntry("submodule", INNER, 0)
    assert entries["run"].object == "1a2485251c33a70432394c93fb89330ef214bfc9"


def test_blobs_are_their_bytes(bench: Bench) -> None:
    """Line ends and bytes that are no text stay; one name may be asked twice."""
    bench.repositories.fetch(bench.url, bench.commit, bench.store)
    entries = bench.repositories.entries(bench.commit, bench.store)
    names = [entries[path].object for path in ("a/link", "b", "b", "run")]
    found = bench.repositories.blobs(names, bench.store)
    assert [found[name] for name in names] == [b"../b", b"bee\r\n\x00\xff", b"bee\r\n\x00\xff", b"#!/bin/sh\n"]
    assert bench.repositories.blobs([], bench.store) == {}


def test_submodules_are_those_with_path_and_url(bench: Bench) -> None:
    """As they are declared, not yet resolved."""
    bench.repositories.fetch(bench.url, bench.commit, bench.store)
    assert bench.repositories.submodules(bench.commit, bench.store) == {"vendor/lib": "../lib.git"}


def test_what_is_not_there_is_told(bench: Bench) -> None:
    """A commit that nobody has leaves no store, and the one that was there as it is."""
    with pytest.raises(EnvironmentNotReady, match="git fetch failed"):
        bench.repositories.fetch(bench.url, "2" * 40, bench.store)
    assert not bench.repositories.holds("2" * 40, bench.store)
    bench.repositories.fetch(bench.url, bench.commit, bench.store)
    with pytest.raises(EnvironmentNotReady, match="git fetch failed"):
        bench.repositories.fetch(f"{bench.url}-gone", bench.commit, bench.store)
    assert bench.repositories.holds(bench.commit, bench.store)
