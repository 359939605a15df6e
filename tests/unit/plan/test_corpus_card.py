"""The card of a corpus."""

from __future__ import annotations

import json
from typing import Any

from runner.core.canonical import Digest
from runner.core.corpus import CorpusFile
from runner.core.passages import Passage
from runner.core.tars import TreeFile
from runner.plan.card import card_of
from runner.plan.corpora import Corpus, lock_of

PARTS: list[dict[str, Any]] = [
    {"kind": "files", "path": "notes|files", "into": "notes", "include": ["*.md"], "exclude": ["x.md", "y.md"]},
    {
        "kind": "git",
        "url": "https://example.org/a.git",
        "commit": "a" * 40,
        "tree_sha256": "sha256:" + "b" * 64,
        "submodules": ["lib"],
    },
    {"kind": "beir", "path": "nano", "into": "nano"},
    {"kind": "ir", "documents": ["a.trec", "b.tsv"], "into": "trec"},
]
EXPECTED = """# Corpus `odd`

Written by `pairbench corpora lock` from the corpus file and what its parts give; not to be edited.

Odd things.

|  |  |
| --- | --- |
| licence | MIT |
| files | 2 |
| bytes | 1,206 |
| passages | 3 |
| files without a passage | 0 |
| passages are | given by `passages.jsonl` |
| digest of the files | {tree} |
| digest of the passages | {passages} |

## Origin

Written for a test.

| part | from | below |
| --- | --- | --- |
| files | folder `notes\\|files`; only `*.md`; without `x.md`, `y.md` | `/workspace/notes` |
| git | https://example.org/a.git at `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa`, with `lib` | `/workspace` |
| beir | folder `nano` | `/workspace/nano` |
| ir | `a.trec`, `b.tsv` | `/workspace/trec` |

## Passages

|  |  |
| --- | --- |
| sources | 2 |
| bytes of the smallest | 6 |
| bytes of the middle one | 6 |
| bytes of the largest | 1,200 |
| with the text of an earlier one | 1 |

## Boundaries

| workspace | status | passages | known from a time on | that expire |
| --- | --- | --- | --- | --- |
| everybody's | live | 1 | 0 | 0 |
| harbour | deleted | 2 | 1 | 1 |

## Second reader

Two readers agreed on 9 of 10.
"""


def test_a_card_has_the_declared_words_and_the_counted_figures() -> None:
    """Licence, origin, counts and boundaries; what a second reader said, as it was declared."""
    declared = CorpusFile.model_validate_json(
        json.dumps(
            {
                "format": "pairbench/corpus",
                "version": 1,
                "name": "odd",
                "description": "Odd things.\n",
                "licence": "MIT",
                "origin": "Written for a test.",
                "agreement": "Two readers agreed on 9 of 10.",
                "parts": PARTS,
                "passages": "passages.jsonl",
            }
        )
    )
    files = {"a": TreeFile(b"x" * 1200), "b": TreeFile(b"Hello.")}
    passages = (
        Passage(1, "a", 0, 1200, "a", "x" * 1200),
        Passage(2, "b", 0, 6, "b", "Hello.", "harbour", "deleted", known_from_s=0),
        Passage(3, "b", 0, 6, "b", "Hello.", "harbour", "deleted", expires_s=9),
    )
    corpus = Corpus("odd", files, passages)
    lock = lock_of(corpus, Digest("sha256:" + "c" * 64))
    tree, passages_digest = f"`{lock.tree_sha256}`", f"`{lock.passages_sha256}`"
    assert card_of(declared, corpus, lock).decode() == EXPECTED.format(tree=tree, passages=passages_digest)
