"""Corpora of every kind and their query sets, from the command line: frozen, held against their locks, or refused."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from runner.cli import main
from tests.fakes.git_sources import git_source

if TYPE_CHECKING:
    from pathlib import Path

HEAD = """
format = "pairbench/corpus"
version = 1
name = "{name}"
description = "A corpus of a test."
licence = "MIT"
splitter = {{ name = "lines-1" }}
"""
SET = """
format = "pairbench/queryset"
version = 1
name = "asked"
description = "Questions."
licence = "MIT"
corpus = "../corpus.toml"
"""


@dataclass
class Shell:
    """The program in a folder, without an engine."""

    folder: Path
    capfd: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch

    def write(self, name: str, text: str) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text, "utf-8")

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        self.monkeypatch.setattr(sys, "argv", ["pairbench", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        said = self.capfd.readouterr()
        return int(ended.value.code or 0), said.out, said.err


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    """A fresh folder, with a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    monkeypatch.setenv("PAIRBENCH_CACHE", str(tmp_path / "cache"))
    return Shell(tmp_path, capfd, monkeypatch)


def test_a_commit_is_frozen_once_its_digest_is_written_down(shell: Shell) -> None:
    """The first lock says the digest; from then on the repository isn't needed any more."""
    source = git_source(shell.folder / "source.git")
    commit = source.commit({"README.md": ("100644", b"# Hello\n"), "link": ("120000", b"/etc/passwd")})
    source.git("update-ref", "refs/heads/main", commit)
    part = f'url = "{source.url}", commit = "{commit}", exclude = ["link"]'
    unknown = f'parts = [{{ kind = "git", {part}, tree_sha256 = "sha256:{"0" * 64}" }}]\n'
    shell.write("corpus.toml", HEAD.format(name="code") + unknown)
    code, out, err = shell("corpora", "lock", "corpus.toml")
    assert (code, out) == (2, "")
    digest = "sha256:ca6b086b2dee7e1a30f2306169cbaa1333c2ee6ab2540134ce05d1efd84579ac"
    assert f"the files of the commit are {digest} (write that" in err
    shell.write("corpus.toml", HEAD.format(name="code") + unknown.replace(f"sha256:{'0' * 64}", digest))
    assert shell("corpora", "lock", "corpus.toml")[0] == 0
    lock = json.loads((shell.folder / "corpus.lock.json").read_bytes())
    assert (lock["files"], lock["passages"], lock["tree_sha256"]) == (1, 1, digest)
    assert f"{source.url} at `{commit}`" in (shell.folder / "CARD.md").read_text("utf-8")
    os.rename(source.place, shell.folder / "gone.git")
    assert shell("corpora", "verify", "corpus.toml")[:2] == (0, f"code: as it was frozen, {digest}\n")


def test_a_folder_of_beir_and_its_queries_are_frozen(shell: Shell) -> None:
    """Corpus first, then the set; labels that name a document that isn't there are refused."""
    documents = [{"_id": f"d {number}", "title": f"Title {number}", "text": f"Text {number}."} for number in range(3)]
    shell.write("nano/corpus.jsonl", "".join(json.dumps(line) + "\n" for line in documents))
    shell.write("nano/queries.jsonl", '{"_id": "q1", "text": "Where?"}\n')
    shell.write("nano/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td 1\t1\n")
    shell.write("corpus.toml", HEAD.format(name="nano") + 'parts = [{ kind = "beir", path = "nano", into = "docs" }]\n')
    shell.write("sets/queryset.toml", SET + 'queries = { kind = "beir", path = "../nano", split = "test" }\n')
    code, out, err = shell("corpora", "lock", "corpus.toml", "sets/queryset.toml")
    assert (code, err) == (0, "")
    assert [line.partition(",")[0] for line in out.splitlines()] == ["nano: 3 files", "asked: 1 queries"]
    assert shell("corpora", "verify", "corpus.toml", "sets/queryset.toml")[0] == 0
    shell.write("nano/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td 7\t1\n")
    code, out, err = shell("corpora", "lock", "sets/queryset.toml")
    assert (code, out) == (2, "")
    assert "has no source 'd 7'" in err


def test_a_test_collection_and_its_topics_are_frozen(shell: Shell) -> None:
    """Documents in SGML, topics and judgements as TREC has them."""
    document = "<DOC>\n<DOCNO> AP-{0} </DOCNO>\n<HEAD>Head {0}</HEAD>\n<TEXT>\nText {0}.\n</TEXT>\n</DOC>\n"
    shell.write("documents/a.sgml", document.format(1) + document.format(2))
    shell.write("documents/b.sgml", document.format(3))
    shell.write("sets/topics.txt", "<top>\n<num> Number: 51\n<title> Where?\n</top>\n")
    shell.write("sets/qrels.txt", "51 0 AP-2 2\n51 0 AP-3 0\n")
    shell.write("corpus.toml", HEAD.format(name="ap") + 'parts = [{ kind = "ir", documents = "documents" }]\n')
    queries = 'queries = { kind = "trec", topics = "topics.txt" }\nlabels = { kind = "trec", qrels = "qrels.txt" }\n'
    shell.write("sets/queryset.toml", SET + queries)
    code, out, err = shell("corpora", "lock", "corpus.toml", "sets/queryset.toml")
    assert (code, err) == (0, "")
    assert out.splitlines()[1] == "asked: 1 queries, 2 labels, of ap"
    assert shell("corpora", "verify", "sets/queryset.toml")[0] == 0
    shell.write("documents/c.sgml", document.format(4))
    code, out, err = shell("corpora", "verify", "corpus.toml", "sets/queryset.toml")
    assert (code, out) == (2, "")
    assert "it is 4, and was frozen as 3" in err


def test_what_is_neither_is_told(shell: Shell) -> None:
    """No file, no TOML, another format."""
    assert shell("corpora", "lock", "gone.toml")[0] == 2
    shell.write("odd.toml", "format = ")
    assert "not TOML" in shell("corpora", "verify", "odd.toml")[2]
    shell.write("odd.toml", 'format = "pairbench/study"\n')
    assert shell("corpora", "lock", "odd.toml")[0] == 2
