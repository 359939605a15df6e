"""The memory of a trial as an MCP server: `python3 server.py`, started by the client, on standard input and output.

Its surroundings are `PAIRBENCH_QDRANT_URL`, `PAIRBENCH_COLLECTION` and `PAIRBENCH_MODEL_DIR`.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from typing import TYPE_CHECKING

# Thousands of classes are made below and none of them is garbage: looking for some costs 60 ms.
gc.disable()
sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from memory import sdk  # noqa: E402 - its own folder isn't a place for imports

sdk.open_packages()

from memory import serving, store  # noqa: E402 - the SDK's packages have to be in place

gc.freeze()
gc.enable()

if TYPE_CHECKING:
    from collections.abc import Callable

    from memory.tools import Embedder

DEFAULT_URL = "http://127.0.0.1:6333"
DEFAULT_COLLECTION = "memory"
DEFAULT_MODEL_DIR = "/opt/model"


def load_model() -> Embedder:
    """The model of the image.

    Raises:
        Exception: whatever its libraries raise when it isn't there.
    """
    # Imported here, in the thread that loads the model: the client gets its list of tools meanwhile.
    embedding = importlib.import_module("memory.embedding")
    model: Embedder = embedding.MiniLM(os.environ.get("PAIRBENCH_MODEL_DIR", DEFAULT_MODEL_DIR), threads=1)
    return model


def main(load: Callable[[], Embedder] = load_model) -> None:
    """The client has gone, and this process with it. Never returns."""
    code = 0
    try:
        collection = store.Store(
            os.environ.get("PAIRBENCH_QDRANT_URL", DEFAULT_URL),
            os.environ.get("PAIRBENCH_COLLECTION", DEFAULT_COLLECTION),
        )
        serving.serve(load, collection)
    except (KeyboardInterrupt, BrokenPipeError):
        code = 1  # the client left without a word
    except ValueError as error:
        sys.stderr.write(f"memory: PAIRBENCH_QDRANT_URL: {error}\n")
        code = 2
    sys.stderr.flush()
    # Taking down an interpreter of this size costs 150 ms, in which an ended client would seem to leave a child.
    os._exit(code)


if __name__ == "__main__":
    main()
