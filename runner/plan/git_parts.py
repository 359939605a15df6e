"""Which files does a part of kind `git` give? Only what it declares; nothing of a repository is run or followed."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from posixpath import normpath
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit, urlunsplit

from pydantic import TypeAdapter, ValidationError

from runner.core.corpus import RepositoryUrl
from runner.core.errors import EnvironmentNotReady, Problem, StudyError
from runner.core.passages import tree_digest
from runner.core.tars import TreeFile
from runner.core.trees import selected

if TYPE_CHECKING:
    from pathlib import Path

    from runner.core.corpus import GitPart
    from runner.ports.repositories import GitEntry, Repositories

_LIMIT_BYTES: Final = 1 << 30
_URL: Final[TypeAdapter[str]] = TypeAdapter(RepositoryUrl)
# What Git reads as an address of ssh, where no scheme stands: user@host:path.
_SHORT_SSH: Final = re.compile(r"((?:[A-Za-z0-9_][A-Za-z0-9._-]*@)?[A-Za-z0-9][A-Za-z0-9.-]*):(?!//)/?([^:/].*)")


@dataclass(frozen=True)
class _Found:
    """What stands at a path, and in which store."""

    entry: GitEntry
    store: Path


@dataclass(frozen=True)
class _Place:
    """Where a part is declared."""

    document: str
    key: str


@dataclass(frozen=True)
class GitReader:
    """Reads parts of kind `git`; stores are kept below `cache`, by commit."""

    repositories: Repositories
    cache: Path

    def files(self, part: GitPart, document: str, key: str) -> dict[str, TreeFile]:
        """The files of the part by path, after its globs.

        Raises:
            StudyError: it has a link or submodule that wasn't left out, or other files than its digest says.
            EnvironmentNotReady: it can't be fetched.
        """
        place = _Place(document, key)
        found: dict[str, TreeFile] = {}
        if self.repositories.holds(part.commit, self._store(part.commit)):
            # A store that can be deleted at any time can be damaged at any time too.
            with contextlib.suppress(EnvironmentNotReady):
                found = self._files(part, place, fresh=False)
        if found and _digest(found) == part.tree_sha256:
            return found
        found = self._files(part, place, fresh=True)
        if _digest(found) != part.tree_sha256:
            raise StudyError(
                f"the files of the commit are {_digest(found)}",
                document=document,
                key=f"{key}.tree_sha256",
                hint="write that, if these are the files that are meant",
            )
        return found

    def _files(self, part: GitPart, place: _Place, *, fresh: bool) -> dict[str, TreeFile]:
        declared = set(part.submodules)
        found = self._within(part.url, part.commit, "", declared, place, fresh=fresh)
        chosen = {path: found[path] for path in selected(sorted(found), part.include, part.exclude)}
        problems = [
            Problem("the commit has no such submodule", place.document, f"{place.key}.submodules: {path}")
            for path in sorted(declared)
        ]
        problems += [
            Problem(fault, place.document, f"{place.key}: {path}", "leave it out with exclude")
            for path, item in chosen.items()
            if (fault := self._fault(path, item))
        ]
        if sum(item.entry.size_bytes for item in chosen.values()) > _LIMIT_BYTES:
            problems.append(Problem("its files are more than a gigabyte", place.document, place.key))
        if not chosen and not problems:
            problems.append(Problem("it has no such files", place.document, place.key, "look at include and exclude"))
        if problems:
            raise StudyError.of(problems)
        return self._read(chosen)

    def _within(
        self, url: str, commit: str, prefix: str, declared: set[str], place: _Place, *, fresh: bool
    ) -> dict[str, _Found]:
        """What a commit holds by whole path; submodules of `declared` are entered, and taken out of it."""
        store = self._store(commit)
        if fresh or not self.repositories.holds(commit, store):
            self.repositories.fetch(url, commit, store)
        found: dict[str, _Found] = {}
        for path, entry in self.repositories.entries(commit, store).items():
            whole = prefix + path
            if entry.kind != "submodule" or whole not in declared:
                found[whole] = _Found(entry, store)
                continue
            declared.remove(whole)
            try:
                inner = submodule_url(url, self.repositories.submodules(commit, store).get(path, ""))
            except ValueError as error:
                raise StudyError(str(error), document=place.document, key=f"{place.key}.submodules: {whole}") from error
            found |= self._within(inner, entry.object, f"{whole}/", declared, place, fresh=fresh)
        return found

    def _store(self, commit: str) -> Path:
        return self.cache / "corpora" / "git" / commit

    def _fault(self, path: str, item: _Found) -> str:
        """Why what stands there can't be laid out; "" when it can."""
        if any("\ud800" <= char <= "\udfff" for char in path):
            return "its path isn't UTF-8"
        if item.entry.kind == "submodule":
            return "it is a submodule that isn't declared in submodules"
        if item.entry.kind != "link":
            return ""
        name = item.entry.object
        target = self.repositories.blobs([name], item.store)[name].decode("utf-8", "replace")
        led = normpath(f"{path}/../{target}")
        leads_out = target.startswith("/") or led == ".." or led.startswith("../")
        return f"it is a link to {target!r}{', outside of the repository' if leads_out else ''}"

    def _read(self, chosen: dict[str, _Found]) -> dict[str, TreeFile]:
        blobs: dict[tuple[Path, str], bytes] = {}
        for store in {item.store for item in chosen.values()}:
            names = {item.entry.object for item in chosen.values() if item.store == store}
            blobs |= {(store, name): data for name, data in self.repositories.blobs(names, store).items()}
        return {
            path: TreeFile(blobs[item.store, item.entry.object], item.entry.kind == "executable")
            for path, item in chosen.items()
        }


def submodule_url(parent: str, url: str) -> str:
    """The absolute URL of a submodule that a repository at `parent` declares at `url`.

    Raises:
        ValueError: it may not be fetched from there.
    """
    if url.startswith(("./", "../")):
        split = urlsplit(parent)
        url = urlunsplit((split.scheme, split.netloc, normpath(f"{split.path}/{url}"), "", ""))
    short = _SHORT_SSH.fullmatch(url)
    if short is not None:
        url = f"ssh://{short[1]}/{short[2]}"
    try:
        _URL.validate_python(url)
    except ValidationError as error:
        raise ValueError(f"its URL {url!r} is none of https, ssh and file") from error
    # A repository of somebody else's may not choose files of this machine.
    if url.startswith("file:") and not parent.startswith("file:"):
        raise ValueError(f"its URL {url!r} leads to this machine")
    return url


def _digest(files: dict[str, TreeFile]) -> str:
    return tree_digest({path: file.data for path, file in files.items()})
