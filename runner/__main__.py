"""`python -m runner` is `pairbench`."""

from __future__ import annotations

from runner.cli import main

if __name__ == "__main__":
    main()
