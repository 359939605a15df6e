"""Two JSON values, held against each other field by field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from runner.core.field_comparison import MISSING, Difference, FieldComparison, Found, Rules, same
from runner.core.volatile import VOLATILE, Reason

if TYPE_CHECKING:
    from runner.core.canonical import Json

DIGEST, OTHER = "sha256:" + "0" * 64, "sha256:" + "1" * 64


def compared(document: str, a: Any, b: Any, *, replay: bool = False) -> tuple[Found, list[Difference]]:
    found, told = Found(), list[Difference]()
    excused = frozenset(Reason) if replay else frozenset(Reason) - {Reason.REPLAY}
    FieldComparison(Rules.of(document, excused), found, told.append).compare(a, b)
    return found, told


def fields(document: str, a: Any, b: Any) -> list[str]:
    return [item.field for item in compared(document, a, b)[1]]


def test_a_value_is_like_itself_in_every_field() -> None:
    """Each text, number, empty list, empty object and missing figure is one field."""
    value = {"a": [1, "x", None, True], "b": {}, "c": [], "d": {"unavailable": "nobody asked"}}
    found, told = compared("plan.json", value, value)
    assert (found.same, found.different, told) == (7, 0, [])


@pytest.mark.parametrize(
    ("a", "b"), [(1, True), (0, False), (1, 1.0), (None, 0), ("1", 1), ([], {}), ({"unavailable": "x"}, 0)]
)
def test_values_of_two_kinds_are_never_the_same(a: Json, b: Json) -> None:
    """Python takes some of them for equal."""
    assert not same(a, b)
    assert fields("plan.json", {"x": a}, {"x": b}) == ["x"]
    assert not same([a], [b])


def test_the_first_difference_comes_first_with_both_values() -> None:
    """In the order of keys and items; what one side lacks is told as such."""
    a = {"b": [{"c": 1}, {"c": 2}], "a": "x", "only": 1}
    b = {"b": [{"c": 1}, {"c": 3}], "a": "y"}
    assert compared("plan.json", a, b)[1] == [
        Difference("a", '"x"', '"y"', ""),
        Difference("b[1].c", "2", "3", ""),
        Difference("only", "1", "", "A"),
    ]


def test_items_are_found_by_their_names() -> None:
    """One too many in the middle is one difference, and the others are compared with their own."""
    a = {"trials": [{"trial": "one", "n": 1}, {"trial": "two", "n": 2}, {"trial": "three", "n": 3}]}
    b = {"trials": [{"trial": "one", "n": 1}, {"trial": "three", "n": 4}]}
    assert fields("plan.json", a, b) == ["trials[two]", "trials[three].n"]
    assert fields("plan.json", b, a) == ["trials[three].n", "trials[two]"]


def test_several_keys_name_an_item_where_one_does_not() -> None:
    """A contrast is one of a measure and an arm."""
    rows = [{"measure": measure, "arm": arm, "n": 1} for measure in ("x", "y") for arm in ("p", "q")]
    changed = [{**row, "n": 2} if (row["measure"], row["arm"]) == ("y", "p") else row for row in rows]
    assert fields("plan.json", {"rows": rows}, {"rows": changed}) == ["rows[y, p].n"]


def test_the_order_of_items_counts() -> None:
    """They are the same items, and yet not the same document."""
    items = [{"name": "one"}, {"name": "two"}, {"name": "three"}]
    assert fields("plan.json", {"x": items}, {"x": items[::-1]}) == ["x (order)"]


def test_items_without_names_are_counted() -> None:
    """Where there are as many, each is held against the one in its place."""
    assert compared("plan.json", {"x": [1, 2, 3]}, {"x": [1, 2]})[1] == [Difference("x (items)", "3", "2", "")]
    assert fields("plan.json", {"x": [1, 2]}, {"x": [2, 1]}) == ["x[0]", "x[1]"]


def test_of_a_long_value_the_part_that_differs_is_told() -> None:
    """With what stands before it."""
    a, b = "a" * 500 + "X" + "b" * 500, "a" * 500 + "Y" + "b" * 500
    (told,) = compared("plan.json", {"x": a}, {"x": b})[1]
    assert (told.a[:4], told.a[60:64], told.a[-4:]) == ("…aaa", "aXbb", "bbb…")
    assert (told.b[60:64], len(told.b)) == ("aYbb", 202)


def test_what_may_differ_is_counted_by_what_declares_it() -> None:
    """With its reason."""
    a = {"timing": {"wall_ms": 1, "pod_ms": 2, "peak_rss_bytes": 3}, "answer": "x"}
    b = {"timing": {"wall_ms": 4, "pod_ms": 5, "peak_rss_bytes": 3}, "answer": "x"}
    found, told = compared("records.jsonl", a, b)
    assert told == []
    assert found.same == 2
    assert found.volatile == {("timing.wall_ms", Reason.CLOCK): 1, ("timing.pod_ms", Reason.CLOCK): 1}


@pytest.mark.parametrize("other", ["soon", None, {"unavailable": "nobody looked"}, True, MISSING, -1])
def test_what_may_differ_must_be_what_it_has_to_be(other: object) -> None:
    """A clock says a number; that there is none is no matter of clocks."""
    b = {"timing": {}} if other is MISSING else {"timing": {"wall_ms": other}}
    assert len(fields("records.jsonl", {"timing": {"wall_ms": 1}}, b)) == 1


def test_which_raw_files_there_are_may_not_differ() -> None:
    """Only their digests, but in a replay, which leaves others than a recording."""
    a = {"attempts": [{"evidence": {"exit.json": DIGEST, "recording.jsonl": DIGEST}}]}
    b = {"attempts": [{"evidence": {"exit.json": OTHER, "replayed.json": OTHER}}]}
    lost = {"attempts": [{"evidence": {"replayed.json": OTHER}}]}
    assert fields("records.jsonl", a, b) == [
        "attempts[0].evidence.recording.jsonl",
        "attempts[0].evidence.replayed.json",
    ]
    assert compared("records.jsonl", a, b, replay=True)[1] == []
    assert [item.field for item in compared("records.jsonl", a, lost, replay=True)[1]] == [
        "attempts[0].evidence.exit.json"
    ]


def capped(outcome: str, reason: str) -> dict[str, Any]:
    return {"outcome": outcome, "reason": reason, "attempts": [{"outcome": outcome, "reason": reason}]}


def test_amounts_in_the_reason_of_a_capped_trial_may_differ() -> None:
    """Nothing else of the reason, and of no other trial."""
    one, other = "it may cost up to 120 micro-dollars", "it may cost up to 97 micro-dollars"
    assert fields("records.jsonl", capped("cap_exceeded", one), capped("cap_exceeded", other)) == []
    again = capped("cap_exceeded", other.replace("cost", "take"))
    assert fields("records.jsonl", capped("cap_exceeded", one), again) == ["attempts[0].reason", "reason"]
    assert len(fields("records.jsonl", capped("timeout", one), capped("timeout", other))) == 2
    assert len(fields("records.jsonl", capped("cap_exceeded", one), capped("timeout", other))) == 4


def charged(amount: int, *kinds: str, before: int | None = None) -> dict[str, Any]:
    """A record whose last attempt was charged `amount`, and the one `before` it that."""
    findings = [{"kind": kind, "detail": ""} for kind in kinds]
    attempts = [{"charged_microusd": one} for one in (before, amount) if one is not None]
    return {"findings": findings, "attempts": attempts}


def test_what_caps_count_may_differ_where_an_answer_was_cut() -> None:
    """Or where the attempt was followed by another: whatever was cut then is in no finding."""
    assert fields("records.jsonl", charged(1), charged(2)) == ["attempts[0].charged_microusd"]
    assert fields("records.jsonl", charged(1, "cut_stream"), charged(2)) == [
        "attempts[0].charged_microusd",
        "findings[cut_stream]",
    ]
    assert fields("records.jsonl", charged(1, "cut_stream"), charged(2, "cut_stream")) == []
    assert fields("records.jsonl", charged(1, before=1), charged(1, before=2)) == []
    assert fields("records.jsonl", charged(1, before=1), charged(2, before=1)) == ["attempts[1].charged_microusd"]
    assert fields("records.jsonl", charged(1, "cut_stream", before=1), charged(2, "cut_stream", before=2)) == []
    assert fields("records.jsonl", charged(1, "cut_stream"), charged(-2, "cut_stream")) == [
        "attempts[0].charged_microusd"
    ]


def spent(amounts: list[int], repeated: list[int], cut: list[str]) -> dict[str, Any]:
    """A summary's spend, arm by arm, and the trials in which an answer was cut."""
    arms = zip(("off", "memory", "third"), amounts, repeated, strict=False)
    return {
        "findings": [{"kind": "cut_stream", "count": len(cut), "trials": cut}] if cut else [],
        "spend": [{"arm": arm, "attempts": 9, "repeated": times, "charged_microusd": n} for arm, n, times in arms],
    }


@pytest.mark.parametrize(
    ("repeated", "cut", "told"),
    [
        ([0, 0], [], ["off", "memory"]),
        ([1, 0], [], ["memory"]),
        ([0, 2], [], ["off"]),
        ([0, 0], ["first.r1.off"], ["memory"]),
        ([0, 0], ["first.r1.memory", "off.r1.third"], ["off"]),
        ([1, 0], ["first.r1.memory"], []),
    ],
)
def test_the_sum_of_an_arm_may_differ_where_it_was_cut_in_that_arm(
    repeated: list[int], cut: list[str], told: list[str]
) -> None:
    """What befell another arm is no reason."""
    a, b = spent([1, 1], repeated, cut), spent([9, 9], repeated, cut)
    assert fields("summary.json", a, b) == [f"spend[{arm}].charged_microusd" for arm in told]


def summary(*, unit: str, total: object, verdict: str = "passed") -> dict[str, Any]:
    return {
        "measures": [{"name": "it", "unit": unit}],
        "views": [
            {"treatment": "x", "totals": [{"measure": "it", "n_blocks": 2, "arms": [{"arm": "a", "total": total}]}]}
        ],
        "gates": [{"name": "g", "measure": "it", "found_scaled": total, "verdict": verdict}],
    }


def test_figures_of_a_clocks_measure_may_differ() -> None:
    """Also whether there is one, and what a gate says of it; whose unit is another's may not."""
    gone = {"unavailable": "nothing varies"}
    assert fields("summary.json", summary(unit="ms", total=1), summary(unit="ms", total=2, verdict="failed")) == []
    assert fields("summary.json", summary(unit="bytes", total=1), summary(unit="bytes", total=gone)) == []
    assert fields(
        "summary.json", summary(unit="tokens", total=1), summary(unit="tokens", total=2, verdict="failed")
    ) == [
        "gates[0].found_scaled",
        "gates[0].verdict",
        "views[0].totals[0].arms[0].total",
    ]
    assert "measures[0].unit" in fields("summary.json", summary(unit="ms", total=1), summary(unit="tokens", total=1))
    assert len(fields("summary.json", summary(unit="ms", total=1), summary(unit="tokens", total=2))) == 3


@pytest.mark.parametrize("document", ["latencies.jsonl", "cassette.jsonl"])
def test_no_clock_runs_backwards(document: str) -> None:
    """Wherever one is read."""
    key, before, after = ("total_us", 1, -1) if document == "latencies.jsonl" else ("piece_us", [1, 2], [1, -2])
    assert fields(document, {key: before}, {key: after}) == [key if document == "latencies.jsonl" else f"{key}[1]"]


def test_of_a_clock_only_a_difference_is_ever_below_nothing() -> None:
    """A total of times isn't."""
    assert fields("summary.json", summary(unit="ms", total=1), summary(unit="ms", total=-1)) == [
        "views[0].totals[0].arms[0].total"
    ]
    contrast = {"measure": "it", "ratio_ppm": {"value": 1}, "mean_difference_scaled": {"value": 1}}
    other = {"measure": "it", "ratio_ppm": {"value": -1}, "mean_difference_scaled": {"value": -1}}
    measures = [{"name": "it", "unit": "ms"}]
    a, b = ({"measures": measures, "views": [{"contrasts": [one]}]} for one in (contrast, other))
    assert fields("summary.json", a, b) == ["views[0].contrasts[0].ratio_ppm.value"]


@pytest.mark.parametrize("measure", [["it"], {"it": 1}, None, 1])
def test_what_names_no_measure_excuses_nothing(measure: object) -> None:
    """Whatever stands in a damaged summary."""
    a, b = summary(unit="ms", total=1), summary(unit="ms", total=2)
    for document in (a, b):
        document["views"][0]["totals"][0]["measure"] = document["gates"][0]["measure"] = measure
    assert fields("summary.json", a, b) == ["gates[0].found_scaled", "views[0].totals[0].arms[0].total"]


def test_what_one_side_has_the_other_has_not() -> None:
    """Of a recording and its replay: two cassettes are no such pair."""
    one, other = {"cassette_sha256": DIGEST}, {"cassette_sha256": OTHER}
    none = {"cassette_sha256": ""}
    assert compared("lock.json", one, none, replay=True)[1] == compared("lock.json", none, other, replay=True)[1] == []
    assert [item.field for item in compared("lock.json", one, other, replay=True)[1]] == ["cassette_sha256"]


def test_an_excuse_that_is_not_granted_excuses_nothing() -> None:
    """Two measurements on two machines were made with different things."""
    a: dict[str, Any] = {"run": "one", "engine": {"cpus": 2}}
    b: dict[str, Any] = {"run": "two", "engine": {"cpus": 4}}
    told: list[Difference] = []
    rules = Rules.of("lock.json", frozenset({Reason.OCCASION}), VOLATILE)
    FieldComparison(rules, Found(), told.append).compare(a, b)
    assert [item.field for item in told] == ["engine.cpus"]


def test_a_document_may_be_on_one_side_only_where_the_list_says_so() -> None:
    """What one run recorded is what the other plays."""
    replay = frozenset({Reason.REPLAY})
    assert [Rules.of(name, replay).whole() is not None for name in ("cassette.jsonl", "inputs/cassette.jsonl")] == [
        True
    ] * 2
    assert Rules.of("inputs/files/study.toml", frozenset(Reason)).whole() is None
    assert Rules.of("inputs/harness/requirements.txt", frozenset(Reason)).whole() is not None
    assert Rules.of("inputs/harness/pairbench-1-py3-none-any.whl", frozenset(Reason)).whole() is None
    assert Rules.of("cassette.jsonl", frozenset(Reason) - replay).whole() is None
    assert Rules.of("records.jsonl", frozenset(Reason)).whole() is None
