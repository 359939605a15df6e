"""Every field of every document of a run is changed, one by one: each is told, but for those on the list.

The threat is a list that grows, or a comparison that overlooks: whoever reads "equal" must be able to rely on it. A list
that names what no run has would hide that it no longer fits.
"""

from __future__ import annotations

import copy
import json
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import pytest

from runner.core import layout
from runner.core.field_comparison import Difference, FieldComparison, Found, Rules
from runner.core.volatile import VOLATILE, Reason, Where
from runner.pipeline.concluding import conclude
from runner.pipeline.executing import run_study
from runner.pipeline.fitness import Asked
from runner.pipeline.originals import read_original
from runner.pipeline.rerunning import rerun
from tests.fakes.memories import Memories
from tests.fakes.pods import asking_client, client
from tests.fakes.recorded import keyed_gateway, played, recorded
from tests.fakes.retrieval import OTHER, PLAN, answering, retrieval_study
from tests.fakes.retrieval import STUDY as RETRIEVAL_STUDY
from tests.fakes.surroundings import CLAUDE_STUDY, COMMAND_STUDY, surroundings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from runner.core.volatile import Volatile
    from tests.fakes.surroundings import Surroundings

Steps = tuple[str | int, ...]
LISTED = {
    document: [entry for entry in VOLATILE if entry.document == document and entry.reason is not Reason.REPLAY]
    for document in {entry.document for entry in VOLATILE}
}

GATE = """
[[gates]]
name = "{name}"
measure = "{measure}"
arm = "{arm}"
figure = "{figure}"
end = "estimate"
at_most = "2"
"""
THREE_ARMS = COMMAND_STUDY.replace(
    '{ name = "joined", sidecar = true }', '{ name = "joined", sidecar = true }, { name = "third", env = { A = "b" } }'
)
GOOD = {"move": [PLAN, OTHER], "place": [OTHER, PLAN], "tall": []}
DIGEST, OTHER_DIGEST = "sha256:" + "0" * 64, "sha256:" + "1" * 64


def concluded(outside: Surroundings, text: str) -> Path:
    folder = run_study(outside.world, outside.study(text)).folder
    conclude(outside.files, folder)
    return folder


def documents_of(outside: Surroundings, folder: Path) -> Iterator[tuple[str, Any]]:
    """Every value that a comparison of the run looks into: documents, and lines of others."""
    for path in outside.files.walk(folder):
        name, data = str(path), outside.files.held[folder / path]
        if name.startswith((f"{layout.TRIALS}/", layout.LEDGER)):
            continue
        if name.endswith(".json"):
            yield name, json.loads(data)
        elif name.endswith(".jsonl") and not name.startswith(f"{layout.INPUTS}/"):
            yield from ((name, json.loads(line)) for line in data.splitlines())
        else:
            yield name, None


def agents(outside: Surroundings) -> Iterator[Path]:
    """Agents with and without a memory; a gate on time and one on tokens."""
    outside.pods.roles["trial"] = asking_client
    gates = [
        GATE.format(name=measure.replace("_", "-"), measure=measure, arm="memory", figure="ratio")
        for measure in ("wall_ms", "total_tokens")
    ]
    yield concluded(outside, CLAUDE_STUDY.replace("repetitions = 2", "repetitions = 1") + "".join(gates))


def treatments(outside: Surroundings) -> Iterator[Path]:
    """Two treatments, one of which fails once."""
    outside.pods.attempts["first.r1.joined", 1] = {"trial": client(exit_code=1)}
    yield concluded(outside, THREE_ARMS)


def replays(outside: Surroundings) -> Iterator[Path]:
    """A run that is recorded, and its replay."""
    outside.pods.roles["trial"] = recorded()
    folder = concluded(
        outside, COMMAND_STUDY.replace('policy = "plain-agent"', 'policy = "plain-agent", record = true')
    )
    yield folder
    outside.pods.roles |= {"trial": played(), "gateway": keyed_gateway}
    replay = rerun(outside.world, read_original(outside.files, folder), Asked()).ran.folder
    conclude(outside.files, replay)
    yield replay


def rankings(outside: Surroundings) -> Iterator[Path]:
    """Two systems, timed; a gate on how long one takes."""
    gate = GATE.format(name="soon", measure="latency_p50_us", arm="nearest", figure="value")
    path = retrieval_study(outside, RETRIEVAL_STUDY + gate)
    outside.pods.roles["trial"] = answering(GOOD)
    folder = run_study(outside.world, path).folder
    conclude(outside.files, folder)
    yield folder


def memories(outside: Surroundings) -> Iterator[Path]:
    """Memories that reconsolidate."""
    made = Memories(outside)
    folder = run_study(made.world, made.study()).folder
    conclude(made.outside.files, folder)
    yield folder


@pytest.fixture(scope="module")
def documents(tiny_images: Path) -> list[tuple[str, Any]]:
    """Documents of runs of every kind."""
    found: list[tuple[str, Any]] = []
    for kind in (agents, treatments, replays, rankings, memories):
        outside = surroundings(tiny_images)
        for folder in kind(outside):
            found += documents_of(outside, folder)
    return found


def leaves(value: Any, steps: Steps = ()) -> Iterator[tuple[Steps, Any]]:
    """Every field, and how to reach it."""
    is_missing = isinstance(value, dict) and set(value) == {"unavailable"}
    if isinstance(value, dict) and value and not is_missing:
        for key, item in value.items():
            yield from leaves(item, (*steps, key))
    elif isinstance(value, list) and value:
        for number, item in enumerate(value):
            yield from leaves(item, (*steps, number))
    else:
        yield steps, value


def otherwise(value: Any) -> Any:
    """Another value of the same kind."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case str() if value.startswith("sha256:"):
            return DIGEST if value != DIGEST else OTHER_DIGEST
        case str() if value.startswith("20") and value.endswith("Z") and "T" in value:
            return "2031-01-01T00:00:00.000Z"
        case str():
            return f"{value}x"
        case {"unavailable": reason}:
            return {"unavailable": f"{reason}x"}
        case []:
            return ["x"]
        case _:
            return {"x": 1}


def changed(document: Any, steps: Steps) -> Any:
    """The document with one field changed; whatever isn't on the way to it is shared."""
    step, *rest = steps
    copied = copy.copy(document)
    copied[step] = changed(document[step], tuple(rest)) if rest else otherwise(document[step])
    return copied


def lost(document: Any, steps: Steps) -> Any:
    """The document without one field."""
    step, *rest = steps
    copied = copy.copy(document)
    if rest:
        copied[step] = lost(document[step], tuple(rest))
    else:
        del copied[step]
    return copied


def told(name: str, a: Any, b: Any) -> list[Difference]:
    found: list[Difference] = []
    rules = Rules.of(name, frozenset(Reason) - {Reason.REPLAY})
    FieldComparison(rules, Found(), found.append).compare(a, b)
    return found


def pattern(steps: Steps) -> tuple[str, ...]:
    return tuple("[]" if isinstance(step, int) else step for step in steps)


def is_listed(name: str, document: Any, steps: Steps) -> bool:
    """By the names of fields, and of measures that are times."""
    holders = [document]
    for step in steps[:-1]:
        holders.append(holders[-1][step])
    measure = next((item["measure"] for item in reversed(holders) if isinstance(item, dict) and "measure" in item), "")
    about = next((item["name"] for item in reversed(holders) if isinstance(item, dict) and "name" in item), "")
    granted = {
        Where.EVERYWHERE: True,
        Where.CLOCKED: measure.endswith(("_ms", "_us")),
        Where.LATENCIES: about == "latencies.jsonl",
        # Of these trials none met a cap, and none was cut.
        Where.CAPPED: False,
        Where.CUT: False,
    }
    return any(granted[entry.where] and fits(entry, steps) for entry in LISTED.get(name, ()))


def fits(entry: Volatile, steps: Steps) -> bool:
    """Whether the field is named by the entry, or lies within what is."""
    found = pattern(steps)[: len(entry.path)]
    return len(found) == len(entry.path) and all(map(fnmatchcase, found, entry.path))


@pytest.fixture(scope="module")
def every_kind(documents: list[tuple[str, Any]]) -> list[tuple[str, Any, Steps]]:
    """One field of each path of each document, and one that may differ where some of that path do."""
    return [*each_kind_of_field(documents)]


def each_kind_of_field(documents: list[tuple[str, Any]]) -> Iterator[tuple[str, Any, Steps]]:
    seen: set[tuple[str, tuple[str, ...], bool]] = set()
    for name, document in documents:
        for steps, _ in leaves(document):
            kind = (name, pattern(steps), bool(steps) and is_listed(name, document, steps))
            if steps and kind not in seen:
                seen.add(kind)
                yield name, document, steps


def test_each_changed_field_is_told_unless_it_is_on_the_list(every_kind: list[tuple[str, Any, Steps]]) -> None:
    """Of lock, plan, study, inputs, records, scores, rankings, latencies, observations, cassette and summary."""
    wrong = []
    for name, document, steps in every_kind:
        if bool(told(name, document, changed(document, steps))) is is_listed(name, document, steps):
            wrong.append((name, steps))
    assert wrong == []
    assert len(every_kind) > 900
    kinds = {name for name, _, _ in every_kind}
    assert {
        *("lock.json", "plan.json", "summary.json", "control-baseline.json", "inputs/study.json", "inputs/prices.json"),
        *("inputs/queries/notes.json", "records.jsonl", "scores.jsonl", "rankings.jsonl", "latencies.jsonl"),
        *("retrieval.jsonl", "observations.jsonl", "cassette.jsonl"),
    } <= kinds


def test_each_lost_field_is_told_even_if_it_is_on_the_list(every_kind: list[tuple[str, Any, Steps]]) -> None:
    """What may differ must be there."""
    unseen = []
    for name, document, steps in every_kind:
        if isinstance(steps[-1], str) and (name, steps[0]) != (layout.LOCK, "rerun_of"):
            without = lost(document, steps)
            if not told(name, document, without):
                unseen.append((name, steps))
    assert unseen == []


def test_each_entry_of_the_list_names_what_some_run_has(documents: list[tuple[str, Any]]) -> None:
    """A field that no document has isn't on it."""
    unknown = [
        (entry.document, entry.field)
        for entry in VOLATILE
        if not any(fnmatchcase(name, entry.document) and has(value, entry.path) for name, value in documents)
    ]
    assert unknown == []


def has(value: Any, path: tuple[str, ...]) -> bool:
    """Whether the path leads to anything."""
    if not path:
        return True
    step, *rest = path
    match value:
        case list() if step == "[]":
            below = value
        case dict() if step == "*":
            below = [*value.values()]
        case dict():
            below = [value[step]] if step in value else []
        case _:
            below = []
    return any(has(item, tuple(rest)) for item in below)
