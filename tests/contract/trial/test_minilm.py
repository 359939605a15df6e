"""The embedding that host and trial share, on the real model: reference cosines, stability, odd texts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from memory.embedding import DIMENSION, MiniLM

MODEL_DIR = os.environ.get("PAIRBENCH_MODEL_DIR", "")
pytestmark = pytest.mark.skipif(
    not MODEL_DIR, reason="PAIRBENCH_MODEL_DIR names no folder with model.onnx and tokenizer.json"
)


@pytest.fixture(scope="module")
def model() -> MiniLM:
    return MiniLM(MODEL_DIR)


@pytest.mark.parametrize(
    ("text", "cosine"),
    [("That is a happy dog", 0.6961), ("That is a very happy person", 0.9417), ("Today is a sunny day", 0.2608)],
)
def test_the_reference_cosines_hold(model: MiniLM, text: str, cosine: float) -> None:
    """To four decimals, as they were measured when the files were pinned."""
    value = float(model.embed("That is a happy person") @ model.embed(text))
    assert round(value, 4) == cosine


def test_a_text_has_one_vector(model: MiniLM) -> None:
    """Repetition, other texts in between and the number of threads change no bit."""
    first = model.embed("def parse(header): ...").tobytes()
    model.embed("something else, and longer than the first by some words")
    assert model.embed("def parse(header): ...").tobytes() == first
    assert MiniLM(MODEL_DIR, threads=2).embed("def parse(header): ...").tobytes() == first


def test_loading_the_model_leaves_nothing_behind_and_says_nothing(tmp_path: Path) -> None:
    """The runtime's telemetry is off: no identifier, no database, no complaint about a home that can't be written."""
    program = "import sys; sys.path.insert(0, sys.argv[1]); from memory.embedding import MiniLM; MiniLM(sys.argv[2]).embed('x')"
    images = Path(__file__).resolve().parents[3] / "images" / "trial"
    done = subprocess.run(
        [sys.executable, "-c", program, str(images), MODEL_DIR],
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
        capture_output=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == (b"", b"")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", " ", "ä\u2028\x00", "\U0001f600" * 50, "word " * 5000])
def test_any_text_has_a_vector_of_length_one(model: MiniLM, text: str) -> None:
    """Empty, odd and overlong ones too."""
    vector = model.embed(text)
    assert vector.shape == (DIMENSION,)
    assert abs(float(vector @ vector) - 1) < 1e-6


def test_a_long_text_counts_by_its_first_256_tokens(model: MiniLM) -> None:
    """Two special tokens and 254 of the text; the file's own limit of 128 isn't used."""
    assert model.embed("word " * 254).tobytes() == model.embed("word " * 300).tobytes()
    assert model.embed("word " * 253 + "other").tobytes() != model.embed("word " * 254).tobytes()
    assert model.embed("word " * 126 + "other").tobytes() != model.embed("word " * 126).tobytes()
