"""What is merged, what is read of a model's answer, and what is answered: the rules of the reference reconsolidator."""

from __future__ import annotations

import pytest
from reconsolidator.answering import best_answer
from reconsolidator.connecting import Hypothesis, read_connections
from reconsolidator.launch import Seed
from reconsolidator.merging import Fact, each_alone, merged
from reconsolidator.store import Recalled


def _seed(identity: str, statement: str, scope: str = "team", by: str = "ana", status: str = "live") -> Seed:
    return Seed(identity, statement, "e1", "2026-01-01T09:00:00Z", scope, by, status)


def test_statements_that_are_equal_after_folding_are_one_fact() -> None:
    """Composed and decomposed letters and runs of white space are no difference; the first statement is kept."""
    seeds = [_seed("s1", "Caf\u00e9 opens  at 9."), _seed("s2", "Tea."), _seed("s3", " Cafe\u0301 opens at\n9. ")]
    assert merged(seeds) == [Fact("Caf\u00e9 opens  at 9.", ["s1", "s3"]), Fact("Tea.", ["s2"])]


@pytest.mark.parametrize(
    "other",
    [
        _seed("s2", "The port is 9100"),
        _seed("s2", "the port is 9100."),
        _seed("s2", "The port is 9400."),
        _seed("s2", "The port is 9100.", scope="project:x"),
        _seed("s2", "The port is 9100.", by="ben"),
    ],
)
def test_whatever_differs_in_more_stays_apart(other: Seed) -> None:
    """Punctuation, case, a number, the scope, and whoever said it."""
    assert [fact.members for fact in merged([_seed("s1", "The port is 9100."), other])] == [["s1"], ["s2"]]


@pytest.mark.parametrize("status", ["expired", "deleted"])
def test_what_is_not_live_is_never_kept(status: str) -> None:
    """Neither alone nor as a member of a live duplicate."""
    seeds = [_seed("s1", "A.", status=status), _seed("s2", "A.")]
    assert merged(seeds) == [Fact("A.", ["s2"])]
    assert each_alone(seeds) == [Fact("A.", ["s2"])]


def test_without_merging_every_live_seed_is_a_fact() -> None:
    """Duplicates too."""
    assert [fact.members for fact in each_alone([_seed("s1", "A."), _seed("s2", "A.")])] == [["s1"], ["s2"]]


def test_connections_are_taken_as_they_are() -> None:
    """In their order, twice when they are said twice, with support that may be anything."""
    one = '{"statement": "A, because B.", "support": ["s2", "s9"], "certainty": 1}'
    text = f'{{"connections": [{one}, {one}]}}'
    assert read_connections(text) == ([Hypothesis("A, because B.", ["s2", "s9"])] * 2, 0)
    assert read_connections(f"```json\n{text}\n```")[0] == [Hypothesis("A, because B.", ["s2", "s9"])] * 2


@pytest.mark.parametrize(
    ("text", "malformed"),
    [
        ("", 1),
        ("I see none.", 1),
        ("[]", 1),
        ('{"connections": {}}', 1),
        ('{"connections": []}', 0),
        ('{"connections": [{"statement": "A."}, {"statement": 5, "support": []}, "A.", {"support": ["s1"]}]}', 4),
        ('{"connections": [{"statement": "A.", "support": "s1"}, {"statement": "A.", "support": [1]}]}', 2),
    ],
)
def test_what_holds_no_connection_is_counted(text: str, malformed: int) -> None:
    """And nothing of it is stored."""
    assert read_connections(text) == ([], malformed)


def test_the_best_statement_answers() -> None:
    """Whatever its kind; nothing is answered where nothing is recalled."""
    recalled = [Recalled(3, "fact", "B."), Recalled(1, "hypothesis", "A, because B."), Recalled(2, "fact", "A.")]
    assert best_answer("Which is it?", recalled) == "B."
    assert best_answer("Which is it?", []) == ""


def test_a_question_that_asks_why_is_answered_by_a_hypothesis() -> None:
    """The best of those that were recalled; without any, by the best statement."""
    facts = [Recalled(3, "fact", "A happens."), Recalled(2, "fact", "B happens.")]
    found = Recalled(9, "hypothesis", "A happens because of B.")
    assert best_answer("Why does A happen?", [*facts, found]) == "A happens because of B."
    assert best_answer("why does A happen?", facts) == "A happens."
    assert best_answer("Whyever is A?", [*facts, found]) == "A happens."
