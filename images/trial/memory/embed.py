"""Embed texts outside of a trial, with what trials embed their queries with.

`embed.py identity` prints one JSON object that names everything a vector depends on but its text.
`embed.py run --texts TEXTS --vectors VECTORS` reads `{"text": …}` lines and writes as many `{"vector": …}` lines,
each the base64 of 384 little-endian float32. Texts that are as long take as long: progress goes to standard error.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import embedding
import numpy as np
import onnxruntime
import tokenizers

if TYPE_CHECKING:
    from collections.abc import Iterator

MODEL_DIR = os.environ.get("PAIRBENCH_MODEL_DIR", "/opt/model")
REPORT_EVERY = 50


def identity() -> dict[str, str | int]:
    """What a vector depends on, but its text."""
    return {
        "model": _digest("model.onnx"),
        "tokenizer": _digest("tokenizer.json"),
        "token_limit": embedding.TOKEN_LIMIT,
        "onnxruntime": onnxruntime.__version__,
        "tokenizers": tokenizers.__version__,
        "numpy": np.__version__,
        "pooling": "mean-l2-1",
    }


def run(texts: str, vectors: str, threads: int) -> None:
    """`vectors` holds a vector for each line of `texts`; so many texts are embedded at once."""
    with open(texts, encoding="utf-8") as source:
        wanted = [json.loads(line)["text"] for line in source]
    # One thread a text: the model's own threads gain less on texts of this length, and change no bit either.
    model = embedding.MiniLM(MODEL_DIR, threads=1)
    with open(vectors, "w", encoding="ascii") as sink, ThreadPoolExecutor(threads) as pool:
        for number, line in enumerate(_lines(pool.map(model.embed, wanted)), 1):
            sink.write(line)
            if number % REPORT_EVERY == 0 or number == len(wanted):
                print(f"{number} of {len(wanted)}", file=sys.stderr, flush=True)


def _lines(vectors: Iterator[embedding.Vector]) -> Iterator[str]:
    for vector in vectors:
        data = vector.astype("<f4").tobytes()
        yield json.dumps({"vector": base64.b64encode(data).decode("ascii")}) + "\n"


def _digest(name: str) -> str:
    with open(os.path.join(MODEL_DIR, name), "rb") as stream:
        return "sha256:" + hashlib.file_digest(stream, "sha256").hexdigest()


def main() -> None:
    """The command was carried out."""
    parser = argparse.ArgumentParser(description="embed texts outside of a trial")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("identity", help="print what a vector depends on, but its text")
    runner = commands.add_parser("run", help="embed the texts of a file")
    runner.add_argument("--texts", required=True)
    runner.add_argument("--vectors", required=True)
    runner.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    if given.command == "identity":
        print(json.dumps(identity(), sort_keys=True))
    else:
        run(given.texts, given.vectors, given.threads)


if __name__ == "__main__":
    main()
