"""The list of what may differ when a run is repeated: what it names, what it may never name, and who goes by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.core.volatile import VOLATILE, Reason, Where, path_of

ROOT = Path(__file__).resolve().parents[3]
REFERENCE = ROOT / "docs" / "reference"
SCOPES = {
    Reason.REPLAY: ", between a recording and its replay",
    Reason.OWN_STUDY: ", between a recording and a study of its own that plays it",
    Reason.INSTALLED: ", between reruns",
}


def test_the_page_about_comparisons_has_the_whole_list() -> None:
    """One row for what may differ in one document for one reason, in the order of the list."""
    page = (REFERENCE / "compare.md").read_text("utf-8")
    begin, end = "<!-- made of runner/core/volatile.py -->\n", "<!-- end of what may differ -->\n"
    assert page.split(begin)[1].split(end)[0] == the_list()


def the_list() -> str:
    """The list as the page has it."""
    rows: dict[tuple[str, Reason, Where], list[str]] = {}
    for entry in VOLATILE:
        rows.setdefault((entry.document, entry.reason, entry.where), []).append(entry.field)
    lines = ["| document | fields | why |", "|---|---|---|"]
    for (document, reason, where), fields in rows.items():
        named = ", ".join(f"`{field}`" if field else "as a whole" for field in fields)
        place = f", {where.words}" if where.words else ""
        scope = SCOPES.get(reason, "")
        lines.append(f"| `{document}` | {named}{place}{scope} | {reason.words} |")
    return "\n".join(lines) + "\n"


def test_the_page_about_cassettes_goes_by_the_list() -> None:
    """Its table names the fields of a record that the list names, and no others."""
    page = (REFERENCE / "gateway.md").read_text("utf-8")
    table = page.split("| field of a record |", 1)[1].split("\n\n", 1)[0]
    named = [part for line in table.splitlines()[2:] for part in line.split("|")[1].split("`")[1::2]]
    listed = [
        "timing.*" if entry.path[0] == "timing" else entry.field
        for entry in VOLATILE
        if entry.document == "records.jsonl"
    ]
    assert named == list(dict.fromkeys(listed))


@pytest.mark.parametrize("document", ["plan.json", "scores.jsonl", "rankings.jsonl", "retrieval.jsonl"])
def test_of_these_nothing_may_differ(document: str) -> None:
    """What runs, what it is worth, and what was found."""
    assert [entry.field for entry in VOLATILE if entry.document == document] == []


@pytest.mark.parametrize(
    "key",
    [
        *("answer", "outcome", "observed", "observed_memory", "reported", "reported_cost_microusd", "turns"),
        *("tool_calls", "memory_calls", "sidecar_requests", "findings", "client_versions", "trial", "sequence"),
    ],
)
def test_what_a_record_says_of_client_and_model_is_on_no_list(key: str) -> None:
    """Nothing below it either."""
    assert [entry.field for entry in VOLATILE if entry.document == "records.jsonl" and key in entry.path] == []


def test_every_figure_of_a_summary_that_may_differ_is_a_clocks() -> None:
    """Those of views, strata, bounds and gates only where the measure is read off a clock."""
    figures = {"views", "order_effect", "drift", "worst_case", "gates"}
    found = {entry.where for entry in VOLATILE if entry.document == "summary.json" and entry.path[0] in figures}
    assert found == {Where.CLOCKED}


def test_a_path_has_its_steps() -> None:
    """Items of lists are steps of their own."""
    assert path_of("views[].totals[].arms[].total") == ("views", "[]", "totals", "[]", "arms", "[]", "total")
    assert path_of("attempts[].evidence.*") == ("attempts", "[]", "evidence", "*")
    assert path_of("") == ()


def test_no_field_is_listed_twice_for_one_place() -> None:
    """Else one of the two reasons would never be told."""
    places = [(entry.document, entry.path, entry.where) for entry in VOLATILE if entry.reason is not Reason.REPLAY]
    assert len(places) == len(set(places))


def test_every_reason_has_words() -> None:
    """A reader of a comparison is told why."""
    assert all(len(reason.words) > 20 for reason in Reason)
