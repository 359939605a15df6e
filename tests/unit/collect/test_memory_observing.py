"""What a store comes to as an observation: every way of claiming more than was kept or recalled is caught."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from runner.collect.observing import Store, nothing_observed, observe, store_of
from runner.core.quantities import Unavailable
from runner.core.reconsolidation.corpus import RecallBudget, Seed
from runner.core.reconsolidation.observation import Answer, Hypothesis, Invalid, Observation, Violation
from runner.core.resolved import ResolvedCase, ResolvedCases, ResolvedProbe


def _seed(identity: str, statement: str, status: Any = "live") -> Seed:
    return Seed(
        id=identity,
        statement=statement,
        subject="x",
        session="a",
        event=f"e-{identity}",
        evidence_time="2026-01-01T09:00:00Z",
        scope="team",
        attribution="ana",
        status=status,
    )


CASE = ResolvedCase(
    case="c01",
    seeds=(_seed("s1", "The sky is blue."), _seed("s2", "The sky  is blue."), _seed("s3", "Grass.", "deleted")),
    probes=(ResolvedProbe(id="p1", question="Which colour has the sky?"),),
)
GIVEN = ResolvedCases(
    split="development", clock="2026-08-01T00:00:00Z", recall_budget=RecallBudget(facts=2), cases=(CASE,)
)
FACT = {"kind": "fact", "members": ["s1", "s2"], "statement": "The sky is blue.", "status": "live"}
GUESS = {"kind": "hypothesis", "statement": "Blue, because of air.", "support": ["s1", "s9", "s1"], "status": "live"}
ANSWER = {"kind": "answer", "probe": "p1", "answer": "sky is  blue", "recalled": [1]}
SEARCH = {"method": "POST", "path": "/collections/case-c01/points/query", "status": 200, "returned": [1, 2]}
WRITE = {"method": "PUT", "path": "/collections/case-c01/points", "status": 200}


def _printed(points: list[tuple[str, Any, Any]], requests: tuple[dict[str, Any], ...] = (SEARCH, WRITE)) -> bytes:
    lines = [
        json.dumps({"event": "point", "collection": collection, "id": identity, "payload": payload}).encode() + b"\n"
        for collection, identity, payload in points
    ]
    digest = hashlib.sha256(b"".join(lines)).hexdigest()
    end = {"event": "dumped", "points": len(lines), "left_out": 0, "sha256": f"sha256:{digest}"}
    asked = [json.dumps({"event": "request", **request}).encode() + b"\n" for request in requests]
    return b"".join([b'{"event":"ready"}\n', *asked, *lines, json.dumps(end).encode() + b"\n"])


def _store(output: bytes) -> Store:
    store = store_of(output)
    assert isinstance(store, Store)
    return store


def _seen(*payloads: Any, requests: tuple[dict[str, Any], ...] = (SEARCH, WRITE)) -> Observation:
    points = [("case-c01", number, payload) for number, payload in enumerate(payloads, 1)]
    (found,) = observe("t", GIVEN, {"c01": "dev-sky"}, _store(_printed(points, requests)))
    return found


def test_a_store_is_an_observation() -> None:
    """By the corpus's own name of the case; support stays as it is."""
    assert _seen(FACT, GUESS, ANSWER) == Observation(
        trial="t",
        case="dev-sky",
        groups=(("s1", "s2"),),
        survivors=("s1", "s2"),
        hypotheses=(Hypothesis(statement="Blue, because of air.", support=("s1", "s9", "s1")),),
        answers=(Answer(probe="p1", answer="sky is  blue"),),
        boundary_violations=(),
        invalid=(),
    )


def test_a_trial_that_failed_kept_nothing() -> None:
    """Of any of its cases; what it lost is counted."""
    (found,) = nothing_observed("t", GIVEN, {"c01": "dev-sky"})
    assert (found.case, found.survivors, found.answers, found.invalid) == ("dev-sky", (), (), ())


@pytest.mark.parametrize(
    ("answer", "requests", "detail"),
    [
        ({"answer": "The sky is green."}, (SEARCH, WRITE), "to p1: it stands in nothing that was recalled"),
        ({"recalled": [1, 2, 1]}, (SEARCH, WRITE), "to p1: 3 statements were recalled, and 2 may be"),
        ({"recalled": [7]}, (SEARCH, WRITE), "to p1: 7 was recalled, which is no statement"),
        ({"recalled": [3]}, (SEARCH, WRITE), "to p1: 3 was recalled, which is no statement"),
        ({"recalled": [[1]]}, (SEARCH, WRITE), "to p1: [1] was recalled, which is no statement"),
        ({}, (WRITE,), "to p1: no search had returned 1"),
        ({}, (WRITE, SEARCH), "to p1: no search had returned 1"),
        ({}, ({**SEARCH, "status": 500}, WRITE), "to p1: no search had returned 1"),
        ({}, ({**SEARCH, "returned": [2]}, WRITE), "to p1: no search had returned 1"),
        ({}, ({**SEARCH, "path": "/collections/case-c02/points/query"}, WRITE), "to p1: no search had returned 1"),
        ({"answer": 5}, (SEARCH, WRITE), "3 lacks its probe, its answer or what was recalled"),
    ],
)
def test_answers_that_were_not_recalled_do_not_count(
    answer: dict[str, Any], requests: tuple[dict[str, Any], ...], detail: str
) -> None:
    """They are invalid, and say why."""
    found = _seen(FACT, GUESS, {**ANSWER, **answer}, requests=requests)
    assert found.answers == ()
    assert found.invalid == (Invalid(kind="answer", detail=detail),)


def test_an_empty_answer_is_none() -> None:
    """A memory may say that it doesn't know."""
    found = _seen(FACT, {**ANSWER, "answer": " "})
    assert (found.answers, found.invalid) == ((), ())


@pytest.mark.parametrize(
    ("payload", "kind", "detail"),
    [
        ({**FACT, "statement": "The sky is green."}, "fact", "1 says what none of its members does"),
        ({**FACT, "members": []}, "fact", "1 has no members, or no statement"),
        ({**FACT, "members": "s1"}, "fact", "1 has no members, or no statement"),
        ({**GUESS, "support": [1]}, "hypothesis", "1 has no statement, or no support"),
        ({"kind": "claim"}, "point", "1 is of the kind claim"),
        ({}, "point", "1 is of the kind None"),
    ],
)
def test_points_that_say_nothing_of_the_case_are_counted(payload: Any, kind: str, detail: str) -> None:
    """And nothing survives by them."""
    found = _seen(payload)
    assert found.invalid == (Invalid(kind=kind, detail=detail),)
    assert found.survivors == ()


def test_what_rests_on_a_dead_seed_is_a_violation() -> None:
    """As a member, as support, or recalled for an answer; each once."""
    found = _seen(
        {**FACT, "members": ["s3"], "statement": "Grass."},
        {**GUESS, "support": ["s1", "s3"]},
        {**ANSWER, "answer": "Grass.", "recalled": [1, 2]},
    )
    assert found.boundary_violations == tuple(
        Violation.model_validate({"kind": kind, "seed": "s3"}) for kind in ("member", "support", "recalled")
    )


def test_a_fact_that_is_not_live_is_not_kept() -> None:
    """Neither group nor survivor."""
    found = _seen({**FACT, "status": "superseded"})
    assert (found.groups, found.survivors, found.invalid) == ((), (), ())


def test_collections_that_belong_to_no_case_count_against_the_first() -> None:
    """Nothing can be hidden beside the cases."""
    (found,) = observe("t", GIVEN, {"c01": "dev-sky"}, _store(_printed([("notes", 1, FACT)])))
    assert found.invalid == (Invalid(kind="collection", detail="notes"),)


def test_a_flood_of_invalid_points_is_capped() -> None:
    """Everything beyond a hundred is one entry."""
    found = _seen(*({"kind": "x"} for _ in range(250)))
    assert len(found.invalid) == 101
    assert found.invalid[-1] == Invalid(kind="more", detail="150 further ones")


def _without_end(output: bytes) -> bytes:
    return b"".join(line for line in output.splitlines(keepends=True) if b"dumped" not in line)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_without_end, "the sidecar did not print what its store holds"),
        (lambda _: b"", "the sidecar did not print what its store holds"),
        (lambda output: output.replace(b"blue", b"grey"), "line 5: its points are not those that it counted"),
        (lambda output: output + output.splitlines(keepends=True)[3], "line 6: a point after the end"),
        (lambda output: output + output.splitlines(keepends=True)[-1], "line 6: it ends twice"),
        (lambda output: output.replace(b'"left_out": 0', b'"left_out": 3'), "3 points of the store had no room"),
        (lambda output: output[:-4], "damaged in line 5"),
        (lambda output: output.replace(b'"id": 1', b'"id": true'), "line 4: a point without an id"),
        (lambda output: output.replace(b'"collection": "case-c01"', b'"collection": 5'), "line 4: not a point"),
    ],
)
def test_a_store_that_is_not_printed_whole_is_none(change: Any, reason: str) -> None:
    """What is missing, changed, cut or left out makes no observation."""
    store = store_of(change(_printed([("case-c01", 1, FACT)])))
    assert isinstance(store, Unavailable)
    assert reason in store.reason
