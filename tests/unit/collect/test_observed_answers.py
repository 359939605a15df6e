"""Whether a model said what the client gives as its answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from runner.collect.attempt import collect_attempt
from runner.core.evidence import AttemptEvidence
from runner.core.findings import FindingKind
from tests.fakes.attempts import Attempt, good_control

if TYPE_CHECKING:
    from collections.abc import Callable

GOOD = good_control()
ANSWER = collect_attempt(GOOD.evidence()).answer


def streamed(text: str) -> str:
    """A stream in which the text comes in two pieces."""
    half = len(text) // 2
    deltas: list[dict[str, object]] = [
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": part}}
        for part in (text[:half], text[half:])
    ]
    start: dict[str, object] = {"type": "content_block_start", "content_block": {"type": "text", "text": ""}}
    events: list[dict[str, object]] = [
        {"type": "message_start", "message": {"content": []}},
        start,
        *deltas,
        {"type": "message_stop"},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


def whole(text: str) -> str:
    """A message as one document, over several lines."""
    return json.dumps({"type": "message", "content": [{"type": "text", "text": text}]}, indent=1)


def bodies(*responses: object) -> bytes:
    return b"".join(
        json.dumps({"seq": seq, "request": "{}", "response": response}).encode() + b"\n"
        for seq, response in enumerate(responses, 1)
    )


def unobserved(attempt: Attempt, kept: bytes) -> list[str]:
    """Details of the finding in question."""
    files = attempt.files() | {"bodies.jsonl": kept}
    result = collect_attempt(AttemptEvidence(files, attempt.expectation))
    return [found.detail for found in result.findings if found.kind == FindingKind.ANSWER_UNOBSERVED.value]


@pytest.mark.parametrize("said", [streamed, whole])
def test_an_answer_that_a_model_gave_is_no_finding(said: Callable[[str], str]) -> None:
    """In pieces or as a whole, in any of the answers, with other white space around and within."""
    assert unobserved(GOOD, bodies(said("Let me look."), said(f"\n{ANSWER.replace(' ', '  ')}\n"))) == []


@pytest.mark.parametrize("said", [streamed, whole])
def test_an_answer_that_no_model_gave_is_a_finding(said: Callable[[str], str]) -> None:
    """Whoever wrote it: the client, or what runs beside it."""
    assert unobserved(GOOD, bodies(said("Let me look."), said("Something else."))) == [f"no model said {ANSWER!r}"]


@pytest.mark.parametrize(
    "kept",
    [
        b"",
        bodies(whole("Let me look.")),
        bodies(whole("Let me look."), {"base64": "AAH/"}),
        b"{\n",
    ],
)
def test_what_was_not_recorded_proves_nothing(kept: bytes) -> None:
    """A body that is missing, or is no text, may have held the answer."""
    assert unobserved(GOOD, kept) == []


@pytest.mark.parametrize(
    "response",
    ["", "data: \ud800", "data: {\n\n", "[1]", '{"content": 4}', "data: [1]\n", '{"content": [4, {"text": 5}]}'],
)
def test_answers_of_any_shape_are_read(response: str) -> None:
    """They come from a provider, or from whoever plays one."""
    assert unobserved(GOOD, bodies(response, response)) == [f"no model said {ANSWER!r}"]


def test_an_attempt_without_an_answer_has_none_to_be_found() -> None:
    """Only what completed gives an answer."""
    failed = GOOD.but(exit=dict(GOOD.exit or {}) | {"exit_code": 1})
    assert unobserved(failed, bodies(whole("x"), whole("y"))) == []


def test_the_last_of_several_results_that_no_model_said_is_not_the_clients() -> None:
    """The client ended well, and something else of its user wrote another success behind it."""
    forged = json.dumps({**json.loads(GOOD.stdout.splitlines()[-1]), "result": "forged"}).encode() + b"\n"
    files = GOOD.but(stdout=GOOD.stdout + forged).files() | {
        "bodies.jsonl": bodies(whole("Let me look."), whole(ANSWER))
    }
    result = collect_attempt(AttemptEvidence(files, GOOD.expectation))
    assert (result.outcome, result.answer) == ("evidence_invalid", "")
    assert result.reason == "the last of several results gives an answer that no model gave"


def test_several_results_that_models_said_are_the_clients() -> None:
    """As with work in the background: the last one counts."""
    second = json.dumps({**json.loads(GOOD.stdout.splitlines()[-1]), "result": "Done."}).encode() + b"\n"
    files = GOOD.but(stdout=GOOD.stdout + second).files() | {"bodies.jsonl": bodies(whole(ANSWER), whole("Done."))}
    result = collect_attempt(AttemptEvidence(files, GOOD.expectation))
    assert (result.outcome, result.answer) == ("completed", "Done.")
