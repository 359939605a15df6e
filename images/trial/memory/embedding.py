"""Which vector does a text have? all-MiniLM-L6-v2 with int8 weights on ONNX Runtime.

The computation is fixed to the bit, since an index built elsewhere is searched with vectors from here: see
`docs/reference/memory-server.md`. Importing this module costs about 0.1 s, loading a model about 0.15 s more.
"""

from __future__ import annotations

import math
import os

# ONNX Runtime 1.32 makes an identifier of the device and a database of events in HOME, and would send them, from its
# import on. A trial neither sends anything nor leaves anything in its client's home.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import numpy as np
import numpy.typing as npt
import onnxruntime
import tokenizers

DIMENSION = 384
TOKEN_LIMIT = 256

Vector = npt.NDArray[np.float32]


class MiniLM:
    """The model and its tokenizer, loaded; it may be used from several threads."""

    def __init__(self, model_dir: str, threads: int = 1) -> None:
        """`model.onnx` and `tokenizer.json` of `model_dir` are loaded; `threads` changes speed, never a bit.

        Raises:
            Exception: of whatever kind the two libraries have for a file that is missing or isn't theirs.
        """
        self._tokenizer = tokenizers.Tokenizer.from_file(os.path.join(model_dir, "tokenizer.json"))
        # The file asks for 128 tokens, padded to as many; padding would only cost time, the limit would cut passages.
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(TOKEN_LIMIT)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        self._session = onnxruntime.InferenceSession(
            os.path.join(model_dir, "model.onnx"), options, providers=["CPUExecutionProvider"]
        )

    def embed(self, text: str) -> Vector:
        """The unit vector of `text`: 384 float32. A text beyond 256 tokens counts by its beginning."""
        encoding = self._tokenizer.encode(text)
        ids = np.array([encoding.ids], dtype=np.int64)
        mask = np.array([encoding.attention_mask], dtype=np.int64)
        hidden = self._session.run(
            ["last_hidden_state"],
            {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)},
        )[0]
        return pool(hidden[0], mask[0])


def pool(hidden: npt.NDArray[np.float32], mask: npt.NDArray[np.int64]) -> Vector:
    """The unit vector of the mean of those rows of `hidden` (tokens x 384) that `mask` counts.

    Sums run in float64, by token and then exactly over the components, so that no summation order of a library or a CPU
    shows in the result.
    """
    rows = hidden.astype(np.float64)
    total = np.zeros(rows.shape[1], dtype=np.float64)
    for row, counted in zip(rows, mask.tolist(), strict=True):
        if counted:
            total += row
    mean = total / max(int(mask.sum()), 1)
    length = math.sqrt(math.fsum(component * component for component in mean.tolist()))
    return (mean / max(length, 1e-12)).astype(np.float32)
