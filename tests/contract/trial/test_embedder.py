"""Passages are embedded outside of trials with what trials embed their queries with, to the bit."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from memory.embedding import MiniLM

MODEL_DIR = os.environ.get("PAIRBENCH_MODEL_DIR", "")
PROGRAM = Path(__file__).parents[3] / "images" / "trial" / "memory" / "embed.py"

pytestmark = pytest.mark.skipif(
    not MODEL_DIR, reason="PAIRBENCH_MODEL_DIR names no folder with model.onnx and tokenizer.json"
)


def embedder(*arguments: str | Path, model_dir: str = MODEL_DIR) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(PROGRAM), *map(str, arguments)],
        env={**os.environ, "PAIRBENCH_MODEL_DIR": model_dir},
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_identity_names_what_a_vector_depends_on() -> None:
    """Model and tokenizer by digest, libraries by version, the rules by name."""
    done = embedder("identity")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert sorted(found) == ["model", "numpy", "onnxruntime", "pooling", "token_limit", "tokenizer", "tokenizers"]
    digest = hashlib.sha256((Path(MODEL_DIR) / "model.onnx").read_bytes()).hexdigest()
    assert found["model"] == f"sha256:{digest}"
    assert (found["token_limit"], found["pooling"]) == (256, "mean-l2-1")


def test_vectors_are_those_of_a_query_and_keep_their_order(tmp_path: Path) -> None:
    """One line a text, whichever thread embedded it; the same text has the same vector."""
    texts = ["We move to Lisbon.", "a\u2028b\r\nc", "x " * 2000, "We move to Lisbon.", "?"]
    source, sink = tmp_path / "texts.jsonl", tmp_path / "vectors.jsonl"
    source.write_text("".join(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts), "utf-8")
    done = embedder("run", "--texts", source, "--vectors", sink)
    assert done.returncode == 0, done.stderr
    assert "5 of 5" in done.stderr
    vectors = [base64.b64decode(json.loads(line)["vector"]) for line in sink.read_text("ascii").splitlines()]
    model = MiniLM(MODEL_DIR)
    assert vectors == [model.embed(text).astype("<f4").tobytes() for text in texts]
    assert vectors[0] == vectors[3]
    assert {len(vector) for vector in vectors} == {4 * 384}


@pytest.mark.parametrize("threads", ["1", "3"])
def test_the_number_of_threads_changes_no_bit(tmp_path: Path, threads: str) -> None:
    """An index is the same whatever machine made it fast."""
    source, sink = tmp_path / "texts.jsonl", tmp_path / "vectors.jsonl"
    source.write_text("".join(json.dumps({"text": f"text {number}"}) + "\n" for number in range(4)), "utf-8")
    done = embedder("run", "--texts", source, "--vectors", sink, "--threads", threads)
    assert done.returncode == 0, done.stderr
    model = MiniLM(MODEL_DIR)
    vectors = [base64.b64decode(json.loads(line)["vector"]) for line in sink.read_text("ascii").splitlines()]
    assert vectors == [model.embed(f"text {number}").astype("<f4").tobytes() for number in range(4)]


def test_no_texts_have_no_vectors(tmp_path: Path) -> None:
    """An empty file in, an empty file out."""
    (tmp_path / "texts.jsonl").write_bytes(b"")
    assert embedder("run", "--texts", tmp_path / "texts.jsonl", "--vectors", tmp_path / "v").returncode == 0
    assert (tmp_path / "v").read_bytes() == b""


@pytest.mark.parametrize("arguments", [(), ("run",), ("embed",)])
def test_wrong_usage_is_told(arguments: tuple[str, ...]) -> None:
    """Exit 2, as argparse does."""
    assert embedder(*arguments).returncode == 2


def test_a_folder_without_a_model_is_told(tmp_path: Path) -> None:
    """The runner shows the end of what was said."""
    assert embedder("identity", model_dir=str(tmp_path)).returncode != 0
