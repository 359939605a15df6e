"""The command line: the only place that prints, and the only one that ends the program."""

from __future__ import annotations

from runner.cli.program import main

__all__ = ["main"]
