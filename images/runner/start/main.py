"""The program whose code lies in this image is started, as `pairbench` is anywhere else.

The image itself holds what that code needs. The code is put there when an archive is made, or mounted for one call.
"""

from __future__ import annotations

import importlib
import os
import sys

HARNESS = "/opt/pairbench/harness"
NOT_READY = 3


def main() -> int:
    """Never returns where there is code; says that there is none otherwise."""
    if not os.path.isdir(os.path.join(HARNESS, "runner")):
        sys.stderr.write(f"pairbench: this image holds no code in {HARNESS}; the runner of an archive does\n")
        return NOT_READY
    sys.path.insert(0, HARNESS)
    sys.argv[0] = "pairbench"
    importlib.import_module("runner.cli").main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
