"""The published schema is that of the code, and says what summaries are: the golden one fits, a damaged one doesn't."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from runner.core.schema import schema_bytes
from runner.core.summary import Summary
from tests.golden.schema.make import PAGE

GOLDEN = Path(__file__).resolve().parents[1] / "summary" / "summary.json"


def golden() -> Any:
    return json.loads(GOLDEN.read_bytes())


def fits(value: Any) -> bool:
    return bool(jsonschema.Draft202012Validator(json.loads(PAGE.read_bytes())).is_valid(value))


def test_the_published_schema_is_fresh() -> None:
    """`make golden` writes it."""
    assert PAGE.read_bytes() == schema_bytes(Summary)


def test_the_schema_is_a_schema() -> None:
    """Of the draft that it names, for one format and version."""
    schema = json.loads(PAGE.read_bytes())
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["title"] == "pairbench/summary 1"


def test_the_golden_summary_fits() -> None:
    """With figures, reasons and failures."""
    assert fits(golden())


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"format": "pairbench/record"},
        {"surprise": 1},
        {"evidence": "hearsay"},
        {"headline": "cost_microusd"},
        {"census": {}},
    ],
)
def test_what_is_no_summary_does_not_fit(change: dict[str, Any]) -> None:
    """Another version, an unknown key, an unknown word, a wrong type, a missing part."""
    assert not fits(golden() | change)


def test_a_figure_is_an_integer_or_a_reason() -> None:
    """Never a float, never null."""
    for figure, allowed in ((7, True), ({"unavailable": "why"}, True), (7.5, False), (None, False), ("7", False)):
        value = golden()
        value["views"][0]["totals"][0]["arms"][0]["total"] = figure
        assert fits(value) is allowed
