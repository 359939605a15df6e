"""What a run says of itself is believed as far as the other run bears it out.

The threat is a run whose lock and seal somebody wrote anew: it may say that it is a rerun or a replay, and be neither;
or it may keep inputs and code that nobody ran.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from runner.core import layout
from runner.core.canonical import canonical_bytes, sha256_digest
from runner.core.errors import EvidenceError
from runner.pipeline.comparing import compare
from runner.pipeline.concluding import conclude, read_summary
from runner.pipeline.executing import run_study
from runner.pipeline.fitness import Asked
from runner.pipeline.originals import read_original
from runner.pipeline.rerunning import rerun
from runner.pipeline.sides import Side
from runner.plan.reconsolidation import MANIFEST
from runner.summarize.seal import seal
from tests.fakes.memories import Memories
from tests.fakes.pods import asking_client
from tests.fakes.recorded import keyed_gateway, played, recorded
from tests.fakes.retrieval import answering, retrieval_study
from tests.fakes.surroundings import CLAUDE_STUDY, COMMAND_STUDY

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from runner.core.comparison import Comparison
    from tests.fakes.surroundings import Surroundings

STUDY = CLAUDE_STUDY.replace("repetitions = 2", "repetitions = 1")
RECORDED = COMMAND_STUDY.replace('policy = "plain-agent"', 'policy = "plain-agent", record = true')
WHEEL = f"{layout.HARNESS}/pairbench-1.2.3-py3-none-any.whl"
REQUIREMENTS = f"{layout.HARNESS}/requirements.txt"


def ran(outside: Surroundings, text: str = STUDY) -> Path:
    """A run that was concluded."""
    outside.pods.roles.setdefault("trial", asking_client)
    folder = run_study(outside.world, outside.study(text)).folder
    conclude(outside.files, folder)
    return folder


def reran(outside: Surroundings, folder: Path) -> Path:
    """The run once more."""
    made = rerun(outside.world, read_original(outside.files, folder), Asked()).ran.folder
    conclude(outside.files, made)
    return made


def compared(outside: Surroundings, a: Path, b: Path) -> Comparison:
    return compare(Side.of(outside.files, a, "one"), Side.of(outside.files, b, "two"))


def told(found: Comparison) -> list[tuple[str, str]]:
    return [(item.document, item.field) for item in found.differences]


def resealed(outside: Surroundings, folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """The run's lock is another, and its sealed summary names that one."""
    lock = json.loads(outside.files.held[folder / layout.LOCK])
    change(lock)
    data = canonical_bytes(lock) + b"\n"
    summary = read_summary(outside.files, folder)
    sealed = seal(
        summary.model_copy(update={"inputs": summary.inputs.model_copy(update={"lock": sha256_digest(data)})})
    )
    outside.files.held |= {
        folder / layout.LOCK: data,
        folder / layout.SUMMARY: sealed.summary_bytes,
        folder / layout.CHECKSUM: sealed.checksum_bytes,
    }


@pytest.fixture
def pair(outside: Surroundings) -> tuple[Path, Path]:
    """A run, and its rerun."""
    folder = ran(outside)
    return folder, reran(outside, folder)


@pytest.fixture
def replay(outside: Surroundings) -> tuple[Path, Path]:
    """A run that was recorded, and its replay."""
    outside.pods.roles["trial"] = recorded()
    folder = ran(outside, RECORDED)
    outside.pods.roles |= {"trial": played(), "gateway": keyed_gateway}
    return folder, reran(outside, folder)


def test_a_replay_of_nothing_is_no_replay(outside: Surroundings, pair: tuple[Path, Path]) -> None:
    """The word in the lock is told to be none of its study's."""
    resealed(outside, pair[1], lambda lock: lock["rerun_of"].update(how="replay"))
    found = compared(outside, *pair)
    assert (found.equal, told(found)) == (False, [("lock.json", "rerun_of.how (by its study: again)")])


@pytest.mark.parametrize("key", ["summary_sha256", "run"])
def test_a_rerun_names_the_very_run_that_it_is_one_of(outside: Surroundings, pair: tuple[Path, Path], key: str) -> None:
    """Its lock alone isn't enough."""
    resealed(outside, pair[1], lambda lock: lock["rerun_of"].update({key: "sha256:" + "0" * 64}))
    found = compared(outside, *pair)
    assert (found.kind, found.equal, told(found)) == ("equality", False, [("lock.json", f"rerun_of.{key}")])


def test_a_rerun_of_another_lock_is_not_controlled(outside: Surroundings, pair: tuple[Path, Path]) -> None:
    """It names the other's name and summary."""
    resealed(outside, pair[1], lambda lock: lock["rerun_of"].update(lock_sha256="sha256:" + "0" * 64))
    found = compared(outside, *pair)
    assert (found.kind, told(found)) == ("uncontrolled", [("lock.json", "rerun_of.lock_sha256")])


def test_a_cassette_that_the_recorder_no_longer_has_excuses_nothing(
    outside: Surroundings, replay: tuple[Path, Path]
) -> None:
    """Whoever altered it afterwards."""
    assert compared(outside, *replay).equal
    outside.files.held[replay[0] / layout.CASSETTE] += b"\n"
    found = compared(outside, *replay)
    assert not found.equal
    assert {("lock.json", "cassette_sha256"), ("cassette.jsonl", ""), ("inputs/study.json", "model.mode")} <= {
        *told(found)
    }


def test_a_cassette_of_nothing_excuses_nothing(outside: Surroundings, replay: tuple[Path, Path]) -> None:
    """The lock has to name the one that lies there."""
    resealed(outside, replay[1], lambda lock: lock.update(cassette_sha256=sha256_digest(b"")))
    with pytest.raises(EvidenceError, match="it isn't the one that the run's lock names") as caught:
        Side.of(outside.files, replay[1], "two")
    assert [problem.document for problem in caught.value.problems] == ["two: inputs/cassette.jsonl"]


def test_another_cassette_excuses_nothing(outside: Surroundings, replay: tuple[Path, Path]) -> None:
    """Though lock and file agree on it."""
    other = outside.files.held[replay[1] / layout.PLAYED] + b"\n"
    outside.files.held[replay[1] / layout.PLAYED] = other
    resealed(outside, replay[1], lambda lock: lock.update(cassette_sha256=sha256_digest(other)))
    found = compared(outside, *replay)
    assert not found.equal
    assert ("lock.json", "cassette_sha256") in told(found)


def test_a_replay_records_nothing(outside: Surroundings, replay: tuple[Path, Path]) -> None:
    """A cassette that it left beside the one that it plays is no replay's."""
    left = outside.files.held[replay[0] / layout.CASSETTE].splitlines(keepends=True)
    outside.files.held[replay[1] / layout.CASSETTE] = b"".join(left[:-1])
    found = compared(outside, *replay)
    assert {(item.document, item.only_in) for item in found.differences} == {("cassette.jsonl", "A")}


def test_a_replay_is_of_the_same_files(outside: Surroundings, replay: tuple[Path, Path]) -> None:
    """What the study was read from is carried over byte for byte."""
    folder = replay[1] / layout.INPUTS / "files"
    name = next(path for path in outside.files.walk(folder) if str(path).endswith(".toml"))
    outside.files.held[folder / name] += b"# another\n"
    assert told(compared(outside, *replay)) == [(f"inputs/files/{name}", "")]


def test_a_replay_goes_by_no_authority(outside: Surroundings, replay: tuple[Path, Path]) -> None:
    """Nobody's certificate is looked at where nobody is called."""
    study = json.loads(outside.files.held[replay[1] / layout.STUDY]) | {"model_ca": "an authority"}
    data = canonical_bytes(study) + b"\n"
    outside.files.held[replay[1] / layout.STUDY] = data
    resealed(outside, replay[1], lambda lock: lock.update(study_sha256=sha256_digest(data)))
    found = compared(outside, *replay)
    assert not found.equal
    assert ("inputs/study.json", "model_ca") in told(found)


def test_code_that_the_lock_does_not_name_is_a_difference(outside: Surroundings, pair: tuple[Path, Path]) -> None:
    """Also where both keep the same."""
    outside.files.held[pair[1] / WHEEL] = b"evil"
    assert told(compared(outside, *pair)) == [(WHEEL, ""), ("inputs/harness", "(the lock's code)")]
    outside.files.held[pair[0] / WHEEL] = b"evil"
    found = compared(outside, *pair)
    assert (found.equal, told(found)) == (False, [("inputs/harness", "(the lock's code)")])
    assert found.differences[0].a == found.differences[0].b != ""


def test_other_requirements_are_excused_in_a_rerun_of_the_locks_code(
    outside: Surroundings, pair: tuple[Path, Path]
) -> None:
    """Nowhere else."""
    third, needed = ran(outside), b"another==2\n"
    for folder in (pair[1], third):
        outside.files.held[folder / REQUIREMENTS] = needed
        resealed(outside, folder, lambda lock: lock["harness"].update(requirements_sha256=sha256_digest(needed)))
    found = compared(outside, *pair)
    assert (found.equal, told(found)) == (True, [])
    assert {(item.document, item.field) for item in found.volatile if item.reason == "installed"} == {
        ("lock.json", "harness.requirements_sha256"),
        (REQUIREMENTS, ""),
    }
    outside.files.held[pair[1] / WHEEL] = b"evil"
    assert (REQUIREMENTS, "") in told(compared(outside, *pair))
    found = compared(outside, pair[0], third)
    assert (found.kind, told(found)) == (
        "uncontrolled",
        [("lock.json", "harness.requirements_sha256"), (REQUIREMENTS, "")],
    )


def test_a_run_beside_itself_differs_in_nothing(outside: Surroundings, pair: tuple[Path, Path]) -> None:
    """Nor may a clock of it say anything else, or a file of evidence have another digest."""
    found = compared(outside, pair[0], pair[0])
    assert (found.relation, found.equal, found.volatile) == ("both are one run", True, ())
    copy = pair[0].with_name("copy")
    for path in outside.files.walk(pair[0]):
        outside.files.held[copy / path] = outside.files.held[pair[0] / path]
    lines = [json.loads(line) for line in outside.files.held[copy / layout.RECORDS].splitlines()]
    lines[0]["timing"]["pod_ms"] += 1
    both = Side.of(outside.files, pair[0], "one"), Side.of(outside.files, copy, "two")
    outside.files.held[copy / layout.RECORDS] = b"".join(canonical_bytes(line) + b"\n" for line in lines)
    assert told(compare(*both)) == [("records.jsonl", "timing.pod_ms")]


@pytest.mark.parametrize(
    "name", [layout.corpus_tar("notes"), layout.index_tar("notes"), layout.corpus_tar("more"), layout.PLAYED]
)
def test_inputs_are_those_that_the_lock_names(outside: Surroundings, pair: tuple[Path, Path], name: str) -> None:
    """Another in both folders is none the better, nor one that the lock knows nothing of."""
    files = outside.files
    other = files.held[pair[0] / layout.corpus_tar("notes")].replace(b"ustar", b"ustar", 1)[:-10240]
    for folder in pair:
        files.held[folder / name] = other if name == layout.corpus_tar("notes") else b"junk"
    with pytest.raises(EvidenceError) as caught:
        Side.of(outside.files, pair[0], "one")
    assert f"one: {name}" in {problem.document for problem in caught.value.problems}


@pytest.mark.parametrize("name", [layout.query_set("notes"), layout.passages("notes")])
def test_what_is_asked_is_what_the_lock_names(outside: Surroundings, name: str) -> None:
    """Queries, labels and passages of a retrieval study."""
    outside.pods.roles["trial"] = answering({})
    folder = run_study(outside.world, retrieval_study(outside)).folder
    conclude(outside.files, folder)
    Side.of(outside.files, folder, "one")
    outside.files.held[folder / name] += b"{}\n"
    with pytest.raises(EvidenceError) as caught:
        Side.of(outside.files, folder, "one")
    assert {problem.document for problem in caught.value.problems} == {f"one: {name}"}


def test_a_corpus_of_reconsolidation_is_the_one_that_the_lock_names(outside: Surroundings) -> None:
    """File by file, as its manifest has them."""
    made = Memories(outside)
    folder = run_study(made.world, made.study()).folder
    files = made.outside.files
    conclude(files, folder)
    Side.of(files, folder, "one")
    corpus = folder / layout.RECONSOLIDATION
    name = next(str(path) for path in files.walk(corpus) if str(path) != MANIFEST)
    files.held[corpus / name] += b" "
    with pytest.raises(EvidenceError) as caught:
        Side.of(files, folder, "one")
    assert {problem.document for problem in caught.value.problems} == {f"one: {layout.RECONSOLIDATION}/{name}"}
