"""The real memory server with another embedder: a program that tests start in the place of `server.py`.

A text is embedded by the digits in it: "x 3 4" is (3, 4). With FAULT=load, loading fails; with FAULT=slow it never ends.
With MODULES=<path>, a search writes the names of all imported modules and their files there.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

IMAGES = Path(__file__).resolve().parents[3] / "images" / "trial"
sys.path[0] = str(IMAGES)

from memory import server  # noqa: E402


class DigitEmbedder:
    """Vectors that a test can foresee."""

    def embed(self, text: str) -> Sequence[float]:
        """The numbers of `text`."""
        if "MODULES" in os.environ:
            files = {name: getattr(module, "__file__", None) for name, module in sys.modules.copy().items()}
            Path(os.environ["MODULES"]).write_text(json.dumps(files), encoding="utf-8")
        return [float(word) for word in text.split() if word.isdigit()]


def load() -> DigitEmbedder:
    """The embedder, or what the environment asks for in its place."""
    if os.environ.get("FAULT") == "load":
        raise FileNotFoundError("no model here")
    if os.environ.get("FAULT") == "slow":
        threading.Event().wait()
    return DigitEmbedder()


if __name__ == "__main__":
    server.main(load)
