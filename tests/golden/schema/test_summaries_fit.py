"""Whatever happened in a run, its summary fits the published schema; and what is changed in one doesn't."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from runner.core.gates import Gate
from runner.core.outcomes import Outcome
from runner.core.quantities import Unavailable
from runner.core.records import Finding
from runner.summarize.summary import summarize
from tests.fakes.records import Run, RunSpec, make_run
from tests.golden.schema.make import PAGE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SCHEMA = jsonschema.Draft202012Validator(json.loads(PAGE.read_bytes()))
THREE_ARMS = RunSpec(
    arms=("off", "memory", "notes"),
    outcomes={
        "task-03.r1.memory": Outcome.TIMEOUT,
        "task-05.r2.off": Outcome.CLIENT_ERROR,
        "task-06.r1.notes": Outcome.CAP_EXCEEDED,
        "task-08.r1.notes": Outcome.INFRASTRUCTURE,
        "task-09.r2.memory": Outcome.NOT_RUN,
    },
    inert=frozenset({"task-07.r1.memory"}),
    retried=frozenset({"task-01.r1.off"}),
    findings={"task-02.r2.off": (Finding(kind="stream-cut", detail="\x1b[31m\u202e"),)},
)
GATES = (
    Gate(name="passes", measure="cost_microusd", arm="memory", end="high", at_most="2"),
    Gate(name="fails", measure="references", arm="notes", figure="mean_difference", end="estimate", at_least="0.9"),
    Gate(name="unjudged", measure="memory_cost_microusd", arm="memory", end="low", at_most="1"),
)
NONE_COMPLETE = RunSpec(tasks=("a", "b"), outcomes={f"{t}.r{r}.off": Outcome.TIMEOUT for t in "ab" for r in (1, 2)})


def without_turns(run: Run) -> Run:
    nothing = Unavailable("the client gave no result")
    return run.with_records({r.trial: r.model_copy(update={"turns": nothing}) for r in run.records})


def of_two_clients(run: Run) -> Run:
    return run.with_records(
        {r.trial: r.model_copy(update={"client_versions": ("9",)}) for r in run.records if r.arm == "memory"}
    )


def summary_of(run: Run, gates: tuple[Gate, ...] = ()) -> Any:
    found = summarize(replace(run.context, gates=gates), run.plan, run.records, run.scores)
    return json.loads(found.to_bytes())


def faults(value: Any) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in SCHEMA.iter_errors(value)]


@pytest.fixture(scope="module")
def three_arms() -> Any:
    return summary_of(make_run(THREE_ARMS), GATES)


def test_three_arms_with_failures_and_gates_fit(three_arms: Any) -> None:
    """Both treatments of failures, intervals that hold together, and each verdict that there is."""
    assert faults(three_arms) == []
    assert [view["treatment"] for view in three_arms["views"]] == ["complete_blocks", "failures_counted"]
    assert len(three_arms["views"][0]["simultaneous"]) == 46
    assert [gate["verdict"] for gate in three_arms["gates"]] == ["passed", "failed", "not_judged"]


@pytest.mark.parametrize(
    "run",
    [
        make_run(NONE_COMPLETE),
        make_run(RunSpec(tasks=("a",), repetitions=1)),
        without_turns(make_run(RunSpec(tasks=("a", "b")))),
        of_two_clients(make_run(RunSpec(tasks=("a", "b")))),
    ],
    ids=["no complete block", "one block", "a measure that nobody has", "arms that may not be compared"],
)
def test_summaries_without_figures_fit(run: Run) -> None:
    """Reasons stand where figures would."""
    assert faults(summary_of(run)) == []


def first_of_each(value: Any) -> Any:
    """The document with one entry in each list, so that each place in it stands once."""
    if isinstance(value, dict):
        return {key: first_of_each(item) for key, item in value.items()}
    return [first_of_each(item) for item in value[:1]] if isinstance(value, list) else value


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where there is something, from the root on."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def at(value: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def accepted(document: Any, change: Callable[[Any, str | int], None], kind: type) -> list[tuple[str | int, ...]]:
    """The places whose holders are of `kind` and at which the schema lets `change` pass."""
    found = []
    for path in places(document):
        if not path or not isinstance(at(document, path[:-1]), kind):
            continue
        changed = copy.deepcopy(document)
        change(at(changed, path[:-1]), path[-1])
        if SCHEMA.is_valid(changed):
            found.append(path)
    return found


@pytest.fixture(scope="module")
def small(three_arms: Any) -> Any:
    small = first_of_each(three_arms)
    assert faults(small) == []
    assert len(list(places(small))) > 300
    return small


def test_no_key_may_be_missing(small: Any) -> None:
    """Nowhere: a reader never asks whether a figure is there."""

    def drop(holder: Any, key: str | int) -> None:
        del holder[key]

    assert accepted(small, drop, dict) == []


def test_no_key_may_be_added(small: Any) -> None:
    """Nowhere: what the schema doesn't name has no meaning."""

    def add(holder: Any, key: str | int) -> None:
        holder[f"{key} too"] = holder[key]

    assert accepted(small, add, dict) == []


@pytest.mark.parametrize("instead", [None, 0.5, ["x"], {"unavailable": 1}], ids=["null", "float", "list", "object"])
def test_nothing_may_be_of_another_type(small: Any, instead: Any) -> None:
    """No figure is a float or null, no reason anything but words."""

    def exchange(holder: Any, key: str | int) -> None:
        # A list takes the place of a list of texts, which it is.
        holder[key] = [0] if isinstance(holder[key], list) and instead == ["x"] else instead

    assert accepted(small, exchange, dict) == []
    assert accepted(small, exchange, list) == []
