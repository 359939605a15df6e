"""Writes the JSON Schema of the summary into the reference; behind `make golden`. Read the difference first."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from runner.core.schema import schema_bytes
from runner.core.summary import Summary

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "summary.schema.json"


def main() -> None:
    """The file says what today's summaries look like."""
    PAGE.write_bytes(schema_bytes(Summary))


if __name__ == "__main__":
    main()
