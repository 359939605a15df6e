"""Give the texts of a corpus their sparse vectors, outside of a trial, by the rule that trials read their queries by.

`sparse.py identity` prints one JSON object that names all that the vectors depend on but the texts; they depend on all
of these, since a weight depends on the mean length. `sparse.py run --texts TEXTS --vectors VECTORS` reads lines of
`{"text": …}` twice and writes as many lines of `{"indices": […], "values": […]}`. Progress, and terms that share a
number, go to standard error; `--report REPORT` writes a JSON object of counts and of those terms.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import sys
import unicodedata
from typing import TYPE_CHECKING

sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from retrieval import bm25  # noqa: E402 - its own folder isn't a place for imports

if TYPE_CHECKING:
    from collections.abc import Iterator

REPORT_EVERY = 1000


def identity() -> dict[str, str | int]:
    """What the vectors depend on, but the texts."""
    return {
        "rule": bm25.RULE,
        "weights": f"bm25 k1={bm25.K1} b={bm25.B}",
        "numbers": "sha256-u32be",
        "stemmer": f"snowballstemmer {importlib.metadata.version('snowballstemmer')} english",
        "unicode": unicodedata.unidata_version,
    }


def run(texts: str, vectors: str, report: str | None, stem: bm25.Stem) -> None:
    """`vectors` holds a sparse vector for each line of `texts`."""
    corpus = bm25.Corpus(bm25.Words(stem))
    for text in _texts(texts):
        corpus.see(text)
    with open(vectors, "w", encoding="ascii") as sink:
        for number, text in enumerate(_texts(texts), 1):
            vector = bm25.passage_vector(corpus.count(text), corpus.average)
            sink.write(json.dumps(vector._asdict(), separators=(",", ":")) + "\n")
            if number % REPORT_EVERY == 0 or number == corpus.texts:
                print(f"{number} of {corpus.texts}", file=sys.stderr, flush=True)
    for terms in corpus.collisions:
        print(f"the terms {', '.join(map(repr, terms))} have one number and count as one", file=sys.stderr)
    if report is not None:
        with open(report, "w", encoding="ascii") as sink:
            json.dump(
                {
                    "texts": corpus.texts,
                    "terms": corpus.terms,
                    "vocabulary": corpus.vocabulary,
                    "collisions": corpus.collisions,
                },
                sink,
            )
            sink.write("\n")


def _texts(path: str) -> Iterator[str]:
    with open(path, encoding="utf-8") as source:
        for line in source:
            yield json.loads(line)["text"]


def main() -> None:
    """The command was carried out."""
    parser = argparse.ArgumentParser(description="sparse vectors of a corpus's texts")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("identity", help="print what the vectors depend on, but the texts")
    runner = commands.add_parser("run", help="give the texts of a file their vectors")
    runner.add_argument("--texts", required=True)
    runner.add_argument("--vectors", required=True)
    runner.add_argument("--report")
    given = parser.parse_args()
    if given.command == "identity":
        print(json.dumps(identity(), sort_keys=True))
    else:
        run(given.texts, given.vectors, given.report, bm25.english())


if __name__ == "__main__":
    main()
