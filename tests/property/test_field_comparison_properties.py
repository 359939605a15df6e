"""Whatever two JSON values are, their comparison overlooks nothing and takes no side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from runner.core.canonical import canonical_bytes, parse_json
from runner.core.field_comparison import Difference, FieldComparison, Found, Rules, same
from runner.core.volatile import Reason

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

NAMES = st.sampled_from(["name", "trial", "measure", "arm", "x", "y", "unavailable", "findings"])
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b", "sha256:" + "0" * 64])
VALUES: SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=20
)
DOCUMENTS = st.dictionaries(NAMES, VALUES, max_size=5)
ALL = frozenset(Reason)


def told(a: Any, b: Any, document: str = "plan.json") -> tuple[Found, list[Difference]]:
    found, differences = Found(), list[Difference]()
    FieldComparison(Rules.of(document, ALL), found, differences.append).compare(a, b)
    return found, differences


@given(DOCUMENTS)
def test_a_value_is_like_its_copy(value: Any) -> None:
    """Read again from its own bytes."""
    found, differences = told(value, parse_json(canonical_bytes(value), "a copy"))
    assert differences == []
    assert (found.different, found.volatile) == (0, {})


@given(DOCUMENTS, DOCUMENTS)
def test_nothing_differs_exactly_where_the_bytes_are_equal(a: Any, b: Any) -> None:
    """Of a document of which nothing may differ."""
    found, differences = told(a, b)
    assert (not differences) == (canonical_bytes(a) == canonical_bytes(b)) == same(a, b)
    assert found.different == len(differences)


@given(DOCUMENTS, DOCUMENTS)
def test_the_other_way_round_it_is_the_same(a: Any, b: Any) -> None:
    """As many fields, at the same places, with the sides exchanged."""
    one, other = told(a, b)[1], told(b, a)[1]
    side = {"": "", "A": "B", "B": "A"}
    assert sorted((item.field, side[item.only_in]) for item in one) == sorted(
        (item.field, item.only_in) for item in other
    )


@given(VALUES, VALUES)
def test_any_two_values_can_be_a_record(a: Any, b: Any) -> None:
    """Whatever stands where a figure should: it is told or counted, and no error."""
    record = {"findings": a, "attempts": [{"charged_microusd": 1, "reason": a}], "timing": {"wall_ms": b}, "reason": b}
    other = {"findings": b, "attempts": [{"charged_microusd": 2, "reason": b}], "timing": {"wall_ms": a}, "reason": a}
    for document in ("records.jsonl", "summary.json"):
        found, differences = told(record, other, document)
        assert found.different == len(differences)
