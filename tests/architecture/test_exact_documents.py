"""A document that is written without looking for floats has no place for one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from runner.core.documents import Document
from runner.core.ledger import LedgerLine
from runner.core.plan import Plan
from runner.core.quantities import Measured
from runner.core.reconsolidation.key import Key
from runner.core.reconsolidation.packet import Packet
from runner.core.records import Record, Score
from runner.core.summary import Summary
from runner.core.usage import ModelUsage

if TYPE_CHECKING:
    from collections.abc import Iterator

EXACT = [Key, LedgerLine, Packet, Plan, Record, Score, Summary]


def described(schema: Any) -> Iterator[dict[str, Any]]:
    """Every description of a value within `schema`."""
    if isinstance(schema, list):
        for item in schema:
            yield from described(item)
    elif isinstance(schema, dict):
        if "type" in schema and isinstance(schema["type"], str):
            yield schema
        for item in schema.values():
            yield from described(item)


def members(schema: Any) -> Iterator[Any]:
    """The description of every member of every object of `schema`."""
    for item in described(schema):
        if item["type"] == "object":
            yield from item.get("properties", {}).values()
            yield item.get("additionalProperties", False)
        if item["type"] == "array":
            yield item["items"]


@pytest.mark.parametrize("document", EXACT)
def test_no_member_can_be_a_float(document: type[Document]) -> None:
    """Nothing is a number but an integer, and nothing is left open."""
    schema = document.model_json_schema()
    for name in document.LEFT_OUT:
        # Where it is None it isn't written.
        schema["properties"][name]["anyOf"].remove({"type": "null"})
    assert document.EXACT
    assert {item["type"] for item in described(schema)} <= {"object", "array", "string", "integer", "boolean"}
    assert all(
        isinstance(item, bool) or {"type", "$ref", "anyOf", "enum", "const"} & set(item) for item in members(schema)
    )
    assert True not in list(members(schema))


def test_others_are_looked_through() -> None:
    """Being exact is said, not inherited."""
    assert not Document.EXACT


def test_a_measured_float_is_no_figure() -> None:
    """The type says so, and so does the model."""
    with pytest.raises(ValueError, match="not an integer"):
        ModelUsage.model_validate(
            {"model": "m", "requests": 1}
            | {name: Measured(1.5) for name in ("input_tokens", "output_tokens", "cache_read_input_tokens")}
        )
