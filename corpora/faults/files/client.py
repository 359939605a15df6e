"""The client of every scenario: its prompt is `module.function`, which plays the scenario and returns an exit code."""

import importlib
import os
import sys


def main() -> int:
    """The scenario's exit code."""
    with open(os.environ["PAIRBENCH_PROMPT_FILE"], encoding="utf-8") as file:
        module, _, function = file.read().strip().partition(".")
    code = getattr(importlib.import_module(module), function)()
    return 0 if code is None else int(code)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main())
