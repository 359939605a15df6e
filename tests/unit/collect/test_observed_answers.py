"""Whether a model said what the client gives as its answer."""

from __future__ import annotations

import json

import pytest

from runner.collect.attempt import collect_attempt
from runner.core.canonical import sha256_digest
from runner.core.findings import FindingKind
from tests.fakes.attempts import Attempt, exchange, good_control, lines

GOOD = good_control()
ANSWER = collect_attempt(GOOD.evidence()).answer


def said(*texts: str) -> list[str]:
    """What the gateway writes down of an answer of those texts."""
    return [sha256_digest("".join(text.split()).encode()) for text in texts]


def asked(*answers: list[str] | None) -> bytes:
    """A log with one request for each answer; None: nobody could read it."""
    changes = ({} if texts is None else {"texts_sha256": texts} for texts in answers)
    return lines(*(exchange(seq, **change) for seq, change in enumerate(changes, 1)))


def unobserved(attempt: Attempt) -> list[str]:
    """Details of the finding in question."""
    result = collect_attempt(attempt.evidence())
    return [found.detail for found in result.findings if found.kind == FindingKind.ANSWER_UNOBSERVED.value]


def test_an_answer_that_a_model_gave_is_no_finding() -> None:
    """In any of the answers, as one text of several, with other white space around and within."""
    log = asked(said("Let me look."), said("So:", f"\n{ANSWER.replace(' ', '  ')}\n"))
    assert unobserved(GOOD.but(exchanges=log)) == []


@pytest.mark.parametrize("texts", [[], ["Something else."], [f"{ANSWER} And more."]])
def test_an_answer_that_no_model_gave_is_a_finding(texts: list[str]) -> None:
    """Whoever wrote it: the client, or what runs beside it."""
    log = asked(said("Let me look."), said(*texts))
    assert unobserved(GOOD.but(exchanges=log)) == [f"no model said {ANSWER!r}"]


def test_what_nobody_read_proves_nothing() -> None:
    """An answer whose texts aren't known may have held the client's."""
    assert unobserved(GOOD.but(exchanges=asked(said("Let me look."), None))) == []


def test_an_attempt_without_an_answer_has_none_to_be_found() -> None:
    """Only what completed gives an answer."""
    failed = GOOD.but(exit=dict(GOOD.exit or {}) | {"exit_code": 1})
    assert unobserved(failed.but(exchanges=asked(said("x"), said("y")))) == []


def test_the_last_of_several_results_that_no_model_said_is_not_the_clients() -> None:
    """The client ended well, and something else of its user wrote another success behind it."""
    forged = json.dumps({**json.loads(GOOD.stdout.splitlines()[-1]), "result": "forged"}).encode() + b"\n"
    attempt = GOOD.but(stdout=GOOD.stdout + forged, exchanges=asked(said("Let me look."), said(ANSWER)))
    result = collect_attempt(attempt.evidence())
    assert (result.outcome, result.answer) == ("evidence_invalid", "")
    assert result.reason == "the last of several results gives an answer that no model gave"


def test_several_results_that_models_said_are_the_clients() -> None:
    """As with work in the background: the last one counts."""
    second = json.dumps({**json.loads(GOOD.stdout.splitlines()[-1]), "result": "Done."}).encode() + b"\n"
    attempt = GOOD.but(stdout=GOOD.stdout + second, exchanges=asked(said(ANSWER), said("Done.")))
    result = collect_attempt(attempt.evidence())
    assert (result.outcome, result.answer) == ("completed", "Done.")
