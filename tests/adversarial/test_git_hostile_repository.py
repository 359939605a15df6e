"""Threat: a repository that a corpus names is somebody else's. It may try to run something where it is fetched, to
bring in files that weren't declared, to lead out of itself, or to send the runner to another place.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from runner.adapters.disk import Disk
from runner.adapters.git import GitRepositories
from runner.core.corpus import CorpusFile
from runner.core.declared import read_declared
from runner.core.errors import EnvironmentNotReady, StudyError
from runner.core.passages import tree_digest
from runner.plan.corpora import Corpus, CorpusReader
from tests.fakes.git_sources import GitSource, git_source
from tests.fakes.image_tools import FakeIndex

PLAIN, RUN, LINK, MODULE = "100644", "100755", "120000", "160000"
OUT = "outside of the repository (leave it out with exclude)"
UNDECLARED = "it is a submodule that isn't declared in submodules (leave it out with exclude)"
README, MAIN, LIBRARY, DEEP = b"# The project\n", b"print('hello')\r\n", b"LIB = 1\n", b"DEEP = 2\n"


def trap(place: Path, witness: Path) -> None:
    """An executable at `place` that leaves `witness` when it is run."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"#!/bin/sh\ntouch {witness}\n")
    place.chmod(0o755)


@dataclass
class Yard:
    """A hostile repository with a submodule in a submodule, and whoever lays its commits out."""

    root: Path
    source: GitSource
    commit: str
    witness: Path

    def corpus(self, digest: str = "sha256:" + "0" * 64, **more: object) -> Corpus:
        keys = {"url": self.source.url, "commit": self.commit, "tree_sha256": digest, **more}
        text = ", ".join(f"{key} = {value!r}".replace("'", '"') for key, value in keys.items())
        declared = f"""
format = "pairbench/corpus"
version = 1
name = "yard"
description = "A yard."
licence = "MIT"
splitter = {{ name = "lines-1" }}
parts = [{{ kind = "git", {text} }}]
"""
        reader = CorpusReader(Disk(), FakeIndex(), GitRepositories(), self.root / "cache")
        return reader.corpus(read_declared(CorpusFile, declared.encode(), "corpus.toml"), self.root, "corpus.toml")

    def problems(self, **more: object) -> list[str]:
        with pytest.raises(StudyError) as caught:
            self.corpus(**more)  # type: ignore[arg-type]
        return [str(problem) for problem in caught.value.problems]


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    """Branches, tags, a submodule in a submodule, links that lead out, hooks, filters, and settings that run things."""
    witness = tmp_path / "it-ran"
    deep = git_source(tmp_path / "sources" / "deep.git")
    deep_commit = deep.commit({"deep.py": (PLAIN, DEEP)})
    deep.git("update-ref", "refs/heads/main", deep_commit)
    library = git_source(tmp_path / "sources" / "lib.git")
    modules = b'[submodule "deep"]\n\tpath = deep\n\turl = ../deep.git\n\tupdate = !touch %s\n' % bytes(witness)
    library_commit = library.commit(
        {".gitmodules": (PLAIN, modules), "deep": (MODULE, deep_commit.encode()), "lib.py": (PLAIN, LIBRARY)}
    )
    library.git("update-ref", "refs/heads/main", library_commit)
    source = git_source(tmp_path / "sources" / "yard.git")
    first = source.commit({"old.txt": (PLAIN, b"secret of an older commit\n")})
    modules = b'[submodule "lib"]\n\tpath = vendor/lib\n\turl = ../lib.git\n[include]\n\tpath = /etc/passwd\n'
    commit = source.commit(
        {
            ".gitattributes": (PLAIN, b"* text eol=lf filter=trap export-ignore\n*.py ident diff=trap\n"),
            ".gitmodules": (PLAIN, modules),
            "README.md": (PLAIN, README),
            "docs/inside": (LINK, b"../README.md"),
            "docs/outside": (LINK, b"../../../../etc/passwd"),
            "docs/root": (LINK, b"/etc/shadow"),
            "hooks/post-checkout": (RUN, b"#!/bin/sh\ntouch %s\n" % bytes(witness)),
            "src/main.py": (PLAIN, MAIN),
            "vendor/lib": (MODULE, library_commit.encode()),
        },
        first,
    )
    other = source.commit({"branch.txt": (PLAIN, b"of a branch\n")}, commit)
    source.git("update-ref", "refs/heads/main", commit)
    source.git("update-ref", "refs/heads/feature", other)
    source.git("tag", "-a", "-m", "A tag.", "v1", commit)
    source.git("update-ref", "refs/tags/light", first)
    for hook in ("post-checkout", "post-merge", "pre-receive", "post-update", "reference-transaction", "pre-auto-gc"):
        trap(source.place / "hooks" / hook, witness)
    trap(tmp_path / "program", witness)
    for key in ("uploadpack.packObjectsHook", "core.fsmonitor", "filter.trap.smudge", "filter.trap.process"):
        source.git("config", key, str(tmp_path / "program"))
    return Yard(tmp_path, source, commit, witness)


DECLARED = {"include": ["README.md", "src/**", "hooks/*", ".gitattributes"]}


def test_only_what_was_declared_is_laid_out(yard: Yard) -> None:
    """One commit's files, byte for byte: no other branch, tag, older file, link or submodule; and nothing ran."""
    attributes = b"* text eol=lf filter=trap export-ignore\n*.py ident diff=trap\n"
    hook = b"#!/bin/sh\ntouch %s\n" % bytes(yard.witness)
    expected = {".gitattributes": attributes, "README.md": README, "hooks/post-checkout": hook, "src/main.py": MAIN}
    found = yard.corpus(tree_digest(expected), **DECLARED)
    assert found.contents() == expected
    assert {path for path, file in found.files.items() if file.executable} == {"hooks/post-checkout"}
    assert not yard.witness.exists()
    store = GitSource(yard.root / "cache" / "corpora" / "git" / yard.commit)
    assert store.git("rev-list", "--all", "--reflog") == ""
    with pytest.raises(subprocess.CalledProcessError):
        store.git("cat-file", "-e", yard.source.git("rev-parse", "feature:branch.txt"))
    assert not (store.place / "hooks").exists()


def test_links_and_undeclared_submodules_are_refused_by_name(yard: Yard) -> None:
    """All of them at once, and where they lead."""
    assert yard.problems() == [
        "corpus.toml: parts[0]: docs/inside: it is a link to '../README.md' (leave it out with exclude)",
        f"corpus.toml: parts[0]: docs/outside: it is a link to '../../../../etc/passwd', {OUT}",
        f"corpus.toml: parts[0]: docs/root: it is a link to '/etc/shadow', {OUT}",
        f"corpus.toml: parts[0]: vendor/lib: {UNDECLARED}",
    ]
    assert not yard.witness.exists()


def test_declared_submodules_are_laid_out_at_their_commits(yard: Yard) -> None:
    """One within another too, each below its path; its own submodules have to be declared as well."""
    expected = {"vendor/lib/lib.py": LIBRARY, "vendor/lib/deep/deep.py": DEEP}
    more = {"include": ["vendor/**"], "exclude": ["**/.gitmodules"]}
    both = ["vendor/lib", "vendor/lib/deep"]
    assert yard.corpus(tree_digest(expected), submodules=both, **more).contents() == expected
    assert yard.problems(submodules=["vendor/lib"], **more) == [f"corpus.toml: parts[0]: vendor/lib/deep: {UNDECLARED}"]
    assert not yard.witness.exists()


def test_a_submodule_that_is_none_is_told(yard: Yard) -> None:
    """A path of the declaration that the commit doesn't have."""
    assert yard.problems(submodules=["vendor/gone"], include=["README.md"]) == [
        "corpus.toml: parts[0].submodules: vendor/gone: the commit has no such submodule"
    ]


def test_other_files_than_the_digest_says_are_refused(yard: Yard) -> None:
    """Git's own names are SHA-1; the message has what to write if the files are the ones that are meant."""
    digest = tree_digest({"README.md": README})
    (found,) = yard.problems(include=["README.md"])
    assert found == (
        f"corpus.toml: parts[0].tree_sha256: the files of the commit are {digest}"
        " (write that, if these are the files that are meant)"
    )


def test_a_commit_is_fetched_once_and_a_damaged_store_again(yard: Yard) -> None:
    """The repository may be gone once its commit is in the cache; what is damaged there is fetched anew."""
    digest = tree_digest({"README.md": README})
    yard.corpus(digest, include=["README.md"])
    away = yard.source.place.rename(yard.root / "away.git")
    yard.corpus(digest, include=["README.md"])
    for stored in (yard.root / "cache" / "corpora" / "git" / yard.commit / "objects").rglob("*"):
        if stored.is_file():
            stored.chmod(0o644)
            stored.write_bytes(stored.read_bytes()[:20])
    with pytest.raises(EnvironmentNotReady, match="git fetch failed"):
        yard.corpus(digest, include=["README.md"])
    away.rename(yard.source.place)
    assert yard.corpus(digest, include=["README.md"]).contents() == {"README.md": README}


def test_a_tag_is_no_commit(yard: Yard) -> None:
    """The forty digits of an annotated tag name something that can lead to any commit."""
    yard.commit = yard.source.git("rev-parse", "v1")
    with pytest.raises(EnvironmentNotReady, match="it is the name of a tag, not of a commit"):
        yard.corpus()


def test_settings_of_the_user_have_no_say(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rewritten address, a credential helper, an askpass and a proxy command of whoever runs it aren't looked at."""
    trap(yard.root / "home" / "program", yard.witness)
    program = yard.root / "home" / "program"
    settings = f"""
[url "ext::{program} "]
    insteadOf = {yard.source.url}
[credential]
    helper = {program}
[core]
    sshCommand = {program}
    hooksPath = {yard.root}/home
[init]
    templateDir = {yard.root}/home
"""
    (yard.root / "home" / ".gitconfig").write_text(settings)
    monkeypatch.setenv("HOME", str(yard.root / "home"))
    monkeypatch.setenv("GIT_ASKPASS", str(program))
    monkeypatch.setenv("GIT_SSH_COMMAND", str(program))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(program))
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    digest = tree_digest({"README.md": README})
    assert yard.corpus(digest, include=["README.md"]).contents() == {"README.md": README}
    with pytest.raises(EnvironmentNotReady):
        GitRepositories().fetch("ssh://nobody@localhost:1/x.git", yard.commit, yard.root / "cache" / "ssh")
    assert not yard.witness.exists()


@pytest.mark.parametrize(
    "url", ["ext::sh -c touch% it-ran", "http://localhost:1/x", "git://localhost:1/x", "fd::7", "--upload-pack=touch"]
)
def test_no_other_protocol_is_spoken(yard: Yard, url: str) -> None:
    """Neither by a declaration nor below it."""
    with pytest.raises(StudyError) as caught:
        yard.corpus(url=url)
    assert [problem.key for problem in caught.value.problems] == ["parts[0].url"]
    with pytest.raises(EnvironmentNotReady, match=r"git fetch failed|transport"):
        GitRepositories().fetch(url, yard.commit, yard.root / "cache" / "other")
    assert not (Path.cwd() / "it-ran").exists()


@pytest.mark.parametrize("url", ["ext::sh", "http://example.invalid/x", "/etc", "-x", "", "../../../../../../../x\n"])
def test_a_submodule_at_an_address_that_is_none_is_refused(yard: Yard, url: str) -> None:
    """Whatever somebody wrote into `.gitmodules`."""
    modules = f'[submodule "lib"]\n\tpath = lib\n\turl = "{url}"\n'.replace('\n"', '\\n"').encode()
    tree = {".gitmodules": (PLAIN, modules), "lib": (MODULE, b"1" * 40)}
    yard.commit = yard.source.commit(tree)
    yard.source.git("update-ref", "refs/heads/other", yard.commit)
    (found,) = yard.problems(submodules=["lib"])
    assert found.startswith("corpus.toml: parts[0].submodules: lib: its URL ")


def test_a_path_that_is_not_utf8_is_refused(yard: Yard) -> None:
    """And one that would write elsewhere never gets that far."""
    blob = yard.source.git("hash-object", "-w", "--stdin", data=b"x")
    tree = yard.source.git("mktree", "-z", data=b"100644 blob %s\tcaf\xe9\0" % blob.encode())
    yard.commit = yard.source.git("commit-tree", tree, data=b"Odd.\n")
    yard.source.git("update-ref", "refs/heads/odd", yard.commit)
    (found,) = yard.problems()
    assert "its path isn't UTF-8" in found
    inner = yard.source.git("mktree", data=b"100644 blob %s\tescape\n" % blob.encode())
    # Git itself makes no such tree, so it is written as an object.
    raw = b"40000 ..\0" + bytes.fromhex(inner)
    tree = yard.source.git("hash-object", "-w", "--stdin", "-t", "tree", "--literally", data=raw)
    yard.commit = yard.source.git("commit-tree", tree, data=b"Worse.\n")
    yard.source.git("update-ref", "refs/heads/worse", yard.commit)
    digest = tree_digest({"../escape": b"x"})
    with pytest.raises(StudyError, match="a path has an empty part"):
        yard.corpus(digest)


def test_git_that_is_not_there_is_told(yard: Yard) -> None:
    """The machine lacks something."""
    with pytest.raises(EnvironmentNotReady, match="git can't be run"):
        GitRepositories("git-that-is-nowhere").fetch(yard.source.url, yard.commit, yard.root / "cache" / "x")
    assert not os.listdir(yard.root / "cache")
