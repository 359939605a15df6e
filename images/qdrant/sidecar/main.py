"""The sidecar's program: `main.py serve`, `main.py build` or `main.py unpack`."""

import importlib
import os
import sys

sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

COMMANDS = ("serve", "build", "unpack")


def main(arguments: list[str]) -> int:
    """Run one command; return the exit code of the process."""
    if not arguments or arguments[0] not in COMMANDS:
        print(f"usage: main.py {{{','.join(COMMANDS)}}} [--option value ...]", file=sys.stderr)
        return 0 if arguments in (["--help"], ["-h"]) else 2
    refusal = importlib.import_module("sidecar.refusal")
    command = importlib.import_module(f"sidecar.{arguments[0]}")
    try:
        if arguments[1:] in (["--help"], ["-h"]):
            print(importlib.import_module("sidecar.options").usage(arguments[0], command.OPTIONS))
            return 0
        return int(command.run(arguments[1:]))
    except (refusal.FatalError, OSError) as error:
        print(f"sidecar {arguments[0]}: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # connections' threads may still wait for a request; there is nothing left to end in order
