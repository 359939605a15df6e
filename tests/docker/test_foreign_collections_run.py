"""Collections in other people's forms run end to end: a commit, a folder of BEIR and a collection of TREC, made here."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from runner.core.passages import tree_digest
from tests.fakes.git_sources import git_source

if TYPE_CHECKING:
    from pathlib import Path

    from tests.docker.conftest import Program

pytestmark = [pytest.mark.docker, pytest.mark.slow]
FILES = {
    "docs/harbour.md": b"# Harbour\n\nShips wait for the tide before they enter the harbour.\n",
    "docs/lighthouse.md": b"# Lighthouse\n\nThe lamp of the lighthouse turns once in nine seconds.\n",
    "src/tide.py": b"def tide(hour):\n    return hour % 12\n",
}
CORPUS = """
format = "pairbench/corpus"
version = 1
name = "{name}"
description = "A corpus of a test."
licence = "MIT"
splitter = {{ name = "lines-1" }}
parts = [{{ {part} }}]
"""
SET = """
format = "pairbench/queryset"
version = 1
name = "{name}"
description = "Questions."
licence = "MIT"
corpus = "corpus.toml"
{queries}
"""
STUDY = """
format = "pairbench/study"
version = 1
name = "foreign"
seed = "1"
repetitions = 1
control = "bm25"
client = { kind = "retrieval", depth = 5 }
arms = [{ name = "bm25", system = { kind = "bm25" } }, { name = "dense", system = { kind = "dense" } }]
corpora = { code = "code/corpus.toml", nano = "nano/corpus.toml", ap = "ap/corpus.toml" }
tasks = [
  { id = "code", corpus = "code", queries = "code/queryset.toml" },
  { id = "nano", corpus = "nano", queries = "nano/queryset.toml" },
  { id = "ap", corpus = "ap", queries = "ap/queryset.toml" },
]
"""
DOCUMENTS = {"d 1": "Ships wait for the tide.", "d/2": "The lamp turns once in nine seconds.", "d3": "Rope."}
QUESTION = "How often does the lamp turn?"


def write(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, "utf-8")


def make_code(folder: Path) -> None:
    """A commit among others, with a link that leads out, of which only the documents are declared."""
    source = git_source(folder / "source.git")
    tree = {path: ("100644", data) for path, data in FILES.items()}
    commit = source.commit({**tree, "docs/out": ("120000", b"/etc/passwd")})
    source.git("update-ref", "refs/heads/main", source.commit({"other.md": ("100644", b"Other.\n")}, commit))
    digest = tree_digest({path: data for path, data in FILES.items() if path.startswith("docs/")})
    part = f'kind = "git", url = "{source.url}", commit = "{commit}", tree_sha256 = "{digest}", include = ["docs/*.md"]'
    queries = 'queries = { kind = "jsonl", path = "q.jsonl" }\nlabels = { kind = "jsonl", path = "l.jsonl" }\n'
    query = {"id": "lamp", "text": QUESTION, "split": "holdout", "kind": "literal"}
    write(
        folder,
        corpus__toml=CORPUS.format(name="code", part=part),
        queryset__toml=SET.format(name="code", queries=queries),
        q__jsonl=json.dumps(query) + "\n",
        l__jsonl=json.dumps({"query": "lamp", "source": "docs/lighthouse.md", "grade": 3}) + "\n",
    )


def make_nano(folder: Path) -> None:
    """A folder as BEIR has them."""
    queries = 'queries = { kind = "beir", path = ".", split = "test" }\n'
    write(
        folder,
        corpus__toml=CORPUS.format(name="nano", part='kind = "beir", path = ".", into = "docs"'),
        queryset__toml=SET.format(name="nano", queries=queries),
        corpus__jsonl="".join(json.dumps({"_id": key, "text": text}) + "\n" for key, text in DOCUMENTS.items()),
        queries__jsonl=json.dumps({"_id": "q1", "text": QUESTION}) + "\n",
    )
    write(folder / "qrels", test__tsv="query-id\tcorpus-id\tscore\nq1\td/2\t1\n")


def make_ap(folder: Path) -> None:
    """Documents, topics and judgements as TREC has them."""
    documents = "".join(f"<DOC>\n<DOCNO> {k} </DOCNO>\n<TEXT>\n{v}\n</TEXT>\n</DOC>\n" for k, v in DOCUMENTS.items())
    queries = 'queries = { kind = "trec", topics = "topics.txt" }\nlabels = { kind = "trec", qrels = "qrels.txt" }\n'
    write(
        folder,
        corpus__toml=CORPUS.format(name="ap", part='kind = "ir", documents = "documents.sgml"'),
        queryset__toml=SET.format(name="ap", queries=queries),
        documents__sgml=documents,
        topics__txt=f"<top>\n<num> Number: 51\n<title> {QUESTION}\n</top>\n",
        qrels__txt="51 0 d/2 1\n",
    )


def test_foreign_collections_run_from_their_locks_to_a_verified_summary(pairbench: Program) -> None:
    """Each question finds its document first, by words and by meaning; and the run recomputes."""
    folder = pairbench.folder / "foreign"
    make_code(folder / "code")
    make_nano(folder / "nano")
    make_ap(folder / "ap")
    write(folder, study__toml=STUDY)
    for name in ("code", "nano", "ap"):
        frozen = pairbench("corpora", "lock", folder / name / "corpus.toml", folder / name / "queryset.toml")
        assert frozen.returncode == 0, frozen.stderr
    done = pairbench("run", folder / "study.toml", "--json")
    assert done.returncode == 0, done.stderr
    status = pairbench.json("status", "latest")
    assert status["outcomes"] == {"completed": 6}
    for trial in status["trials"]:
        lines = [json.loads(line) for line in pairbench.evidence(trial["trial"], "stdout.jsonl").splitlines()]
        (ranking,) = [line for line in lines if line["type"] == "ranking"]
        # Passages are numbered in the order of their sources' paths, and the lamp's is the second in each corpus.
        assert ranking["results"][0]["id"] == 2, trial["trial"]
    assert pairbench.json("verify", "latest")["holds"]
