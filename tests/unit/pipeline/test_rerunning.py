"""A run is made once more, of its own inputs and in its own images, and says of which one it is a rerun."""

from __future__ import annotations

import io
import json
import tarfile
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from runner.core import layout
from runner.core.canonical import sha256_digest
from runner.core.errors import EnvironmentNotReady, EvidenceError, PairbenchError, StudyError
from runner.core.lock import Lock
from runner.core.secret import Secret
from runner.pipeline.concluding import conclude, verify_run
from runner.pipeline.executing import run_study
from runner.pipeline.fitness import Asked, Shelf
from runner.pipeline.folder import read_run
from runner.pipeline.originals import called, read_original
from runner.pipeline.rerunning import rerun
from runner.pipeline.resuming import resume_run
from scripts.faults.summaries import summaries_differ
from tests.fakes.pods import asking_client, client
from tests.fakes.recorded import keyed_gateway, played, recorded
from tests.fakes.surroundings import CLAUDE_STUDY, COMMAND_STUDY, RUNS
from tests.unit.pipeline.test_running import ledger

if TYPE_CHECKING:
    from pathlib import Path

    from runner.pipeline.originals import Original
    from runner.pipeline.rerunning import Reran
    from tests.fakes.surroundings import Surroundings

RECORDED = COMMAND_STUDY.replace('policy = "plain-agent"', 'policy = "plain-agent", record = true')
LIVE = COMMAND_STUDY.replace(
    'mode = "scripted", policy = "plain-agent"', 'mode = "live", base_url = "https://provider.example"'
)
MODEL = "claude-sonnet-4-5"
RECORDED_LIVE = LIVE.replace('mode = "live"', 'mode = "record"')


def original(outside: Surroundings, text: str = COMMAND_STUDY) -> Original:
    """A run that ended, read back."""
    folder = run_study(outside.world, outside.study(text)).folder
    conclude(outside.files, folder)
    return read_original(outside.files, folder)


def again(outside: Surroundings, before: Original, **asked: Any) -> Reran:
    """A rerun that ended."""
    made = rerun(outside.world, before, Asked(**asked))
    conclude(outside.files, made.ran.folder)
    assert outside.engine.owned() == ()
    return made


def inputs(outside: Surroundings, folder: Path) -> dict[str, bytes]:
    """Everything that a run was given."""
    names = [f"inputs/{name}" for name in outside.files.walk(folder / "inputs")]
    return {name: outside.files.held[folder / name] for name in ("plan.json", *names)}


def lock(outside: Surroundings, folder: Path) -> Lock:
    return Lock.from_bytes(outside.files.held[folder / layout.LOCK], layout.LOCK)


def test_a_scripted_study_runs_again(outside: Surroundings) -> None:
    """In a new folder: the same inputs to the byte, the same summary but for the occasion; both verify."""
    outside.pods.roles["trial"] = asking_client
    before = original(outside, CLAUDE_STUDY)
    made = again(outside, before)
    first, second = before.run.folder, made.ran.folder
    assert second != first
    assert second.parent == RUNS
    assert outside.files.links[RUNS / "latest"] == second.name
    assert inputs(outside, first) == inputs(outside, second)
    summaries = [outside.files.held[folder / layout.SUMMARY] for folder in (first, second)]
    assert [*summaries_differ(*summaries)] == []
    for folder in (first, second):
        assert verify_run(outside.files, folder, outside.world.harness).holds


def test_a_lock_says_of_which_run_it_is_a_rerun(outside: Surroundings) -> None:
    """By name and digests, and how; nothing else of it differs but name and moment. The first line of the ledger says it too."""
    before = original(outside)
    made = again(outside, before)
    found, earlier = (read_run(outside.files, folder).lock for folder in (made.ran.folder, before.run.folder))
    assert found.rerun_of is not None
    assert (found.rerun_of.run, found.rerun_of.how) == (before.run.folder.name, "again")
    assert found.rerun_of.lock_sha256 == earlier.digest()
    assert found.rerun_of.summary_sha256 == sha256_digest(outside.files.held[before.run.folder / layout.SUMMARY])
    same = {"run": "", "created_at": "", "rerun_of": None}
    assert found.model_copy(update=same) == earlier.model_copy(update=same)
    started = ledger(outside, made.ran.folder)[0]
    assert started.detail == {"run": made.ran.folder.name, "rerun_of": before.run.folder.name, "how": "again"}


def test_a_lock_of_a_first_run_says_nothing_of_reruns(outside: Surroundings) -> None:
    """Locks from before there were reruns keep their digest."""
    before = original(outside)
    assert b"rerun_of" not in outside.files.held[before.run.folder / layout.LOCK]


def test_nothing_is_built_embedded_or_indexed(outside: Surroundings) -> None:
    """Every container that a rerun makes is of a pod, of a volume, or says a version."""
    before = original(outside)
    known = set(outside.engine.specs)
    again(outside, before)
    roles = {spec.labels["pairbench.role"] for name, spec in outside.engine.specs.items() if name not in known}
    assert roles == {"gateway", "sidecar", "trial", "workspace-filler", "index-filler"}
    assert not outside.engine.builds


def test_a_recorded_run_is_replayed(outside: Surroundings) -> None:
    """Its gateways play what was recorded; its study says so, and every other input is the same."""
    outside.pods.roles["trial"] = recorded()
    before = original(outside, RECORDED)
    cassette = outside.files.held[before.run.folder / layout.CASSETTE]
    assert cassette.count(b"\n") == 5
    seen: list[dict[str, Any]] = []

    def gateway(box: Any) -> Any:
        seen.append(json.loads(box.read("/in/gateway.json")))
        assert box.read("/in/cassette.jsonl").count(b"\n") == 1
        return (yield from keyed_gateway(box))

    outside.pods.roles |= {"trial": played(), "gateway": gateway}
    made = again(outside, before)
    assert made.pin.how == "replay"
    assert [(config["mode"], config["recording"], config["policy"]) for config in seen] == [("replay", False, None)] * 4
    first, second = (inputs(outside, folder) for folder in (before.run.folder, made.ran.folder))
    assert second.pop(layout.PLAYED) == cassette
    assert json.loads(second.pop(layout.STUDY)) == json.loads(first.pop(layout.STUDY)) | {
        "model": {"mode": "replay", "cassette": "cassette.jsonl", "timed": False, "bodies": "kept"}
    }
    assert first == second
    locked = lock(outside, made.ran.folder)
    assert (locked.evidence, locked.model_shown) == ("fixture", "scripted-policy (fixture)")
    assert layout.CASSETTE not in outside.files.walk(made.ran.folder)
    assert verify_run(outside.files, made.ran.folder, outside.world.harness).holds


def test_a_replay_is_replayed_from_what_it_played(outside: Surroundings) -> None:
    """To the byte, however often."""
    outside.pods.roles["trial"] = recorded()
    before = original(outside, RECORDED)
    outside.pods.roles["trial"] = played()
    once = again(outside, before)
    twice = again(outside, read_original(outside.files, once.ran.folder))
    assert twice.pin.how == "replay"
    assert inputs(outside, once.ran.folder) == inputs(outside, twice.ran.folder)


def test_a_recorded_measurement_needs_neither_key_nor_network(outside: Surroundings) -> None:
    """What is played was a provider's, and still counts as that."""
    outside.world = replace(outside.world, provider_key=lambda: Secret("sk-a-key"))
    outside.pods.roles |= {"gateway": keyed_gateway, "trial": recorded(MODEL)}
    before = original(outside, RECORDED_LIVE)

    def no_key() -> Secret:
        raise AssertionError("a replay asks for no key")

    outside.world = replace(outside.world, provider_key=no_key)
    outside.pods.roles["trial"] = played(MODEL)
    networks = sum(call == "create_network" for call, _ in outside.engine.calls)
    made = again(outside, before)
    assert sum(call == "create_network" for call, _ in outside.engine.calls) == networks == 1
    locked = lock(outside, made.ran.folder)
    assert (locked.evidence, made.pin.how) == ("measurement", "replay")


def test_a_measurement_is_made_afresh_only_when_asked_for(outside: Surroundings) -> None:
    """Nothing was recorded: it can't be replayed, and the way out is named; with it, mode and caps are the original's."""
    outside.world = replace(outside.world, provider_key=lambda: Secret("sk-a-key"))
    outside.pods.roles["gateway"] = keyed_gateway
    before = original(outside, LIVE)
    calls = len(outside.engine.calls)
    with pytest.raises(StudyError, match="nothing was recorded") as caught:
        again(outside, before)
    assert "--live" in caught.value.diagnostics()
    assert {call for call, _ in outside.engine.calls[calls:]} == {"info", "image"}
    made = again(outside, before, live=True)
    assert made.pin.how == "live"
    assert inputs(outside, before.run.folder) == inputs(outside, made.ran.folder)


@pytest.mark.parametrize(("text", "told"), [(COMMAND_STUDY, "a script or policy"), (RECORDED, "a script or policy")])
def test_there_is_nobody_to_ask_afresh(outside: Surroundings, text: str, told: str) -> None:
    """Where a policy plays the model."""
    outside.pods.roles["trial"] = recorded()
    before = original(outside, text)
    with pytest.raises(StudyError, match=told):
        again(outside, before, live=True)


def test_a_replay_names_whom_to_ask_afresh(outside: Surroundings) -> None:
    """The run that was recorded knows its provider; its cassette doesn't."""
    outside.pods.roles["trial"] = recorded()
    before = original(outside, RECORDED)
    outside.pods.roles["trial"] = played()
    once = read_original(outside.files, again(outside, before).ran.folder)
    with pytest.raises(StudyError, match=before.run.folder.name):
        again(outside, once, live=True)


def test_an_interrupted_rerun_is_resumed(outside: Surroundings) -> None:
    """It stays a rerun, and comes to what it would have come to; no image is built for it."""
    before = original(outside)

    def interrupting(box: Any) -> int:
        if not outside.interrupts.pressed:
            outside.interrupts.press()
        return int(client()(box))  # type: ignore[arg-type]  # this client is no script

    outside.pods.roles["trial"] = interrupting
    made = rerun(outside.world, before, Asked())
    assert not made.ran.complete
    outside.pods.roles["trial"] = client()
    images = dict(outside.engine.images)
    outside.engine.images.clear()
    with pytest.raises(EnvironmentNotReady, match="nothing is built here") as caught:
        resume_run(outside.world, made.ran.folder)
    assert [problem.key for problem in caught.value.problems] == ["images.gateway", "images.qdrant", "images.trial"]
    outside.engine.images |= images
    assert resume_run(outside.world, made.ran.folder).complete
    conclude(outside.files, made.ran.folder)
    summaries = [outside.files.held[folder / layout.SUMMARY] for folder in (before.run.folder, made.ran.folder)]
    assert [*summaries_differ(*summaries)] == []
    assert lock(outside, made.ran.folder).rerun_of == made.pin


def test_images_that_lost_their_tag_are_found_by_digest(outside: Surroundings) -> None:
    """A tag may have moved on to another image: what is run is what the lock pins."""
    before = original(outside)
    tags = {pin.tag: pin.config_digest for pin in before.run.lock.images}
    other = outside.engine.images[next(tag for tag in tags if "gateway" in tag)]
    for tag in tags:
        outside.engine.images[tag] = replace(other, identity="sha256:" + "0" * 64)
    known = set(outside.engine.specs)
    again(outside, before)
    used = {spec.image for name, spec in outside.engine.specs.items() if name not in known}
    assert used <= set(tags.values())


def test_images_come_from_where_the_run_came_from(outside: Surroundings) -> None:
    """What the engine hasn't got is loaded, and what it then has must be what the lock pins."""
    before = original(outside)
    images = dict(outside.engine.images)
    outside.engine.images.clear()
    asked: list[list[str]] = []

    def chunks(pins: Any) -> Any:
        asked.append([pin.name for pin in pins])
        outside.engine.images |= images
        return _empty_archive()

    shelf = Shelf(before.run.lock.images, chunks)
    rerun(outside.world, before, Asked(), shelf)
    assert asked == [["gateway", "qdrant", "trial"]]

    outside.engine.images.clear()
    with pytest.raises(EvidenceError, match="what the engine loaded is not"):
        rerun(outside.world, before, Asked(), Shelf(before.run.lock.images, lambda _pins: _empty_archive()))


def test_a_client_of_another_version_is_refused(outside: Surroundings) -> None:
    """The image is the lock's, and its client says something else of itself: nothing of the rerun stays."""
    outside.pods.roles["trial"] = asking_client
    before = original(outside, CLAUDE_STUDY)

    def version(box: Any) -> int:
        box.say(b"2.2.0 (Claude Code)\n")
        return 0

    outside.pods.roles["version"] = version
    with pytest.raises(EvidenceError, match=r"says that it is 2\.2\.0, and the lock says 2\.1\.332"):
        rerun(outside.world, before, Asked())
    assert {path.relative_to(RUNS).parts[0] for path in outside.files.held if path.is_relative_to(RUNS)} == {
        before.run.folder.name
    }
    assert outside.engine.owned() == ()


def test_a_run_that_never_ended_is_no_original(outside: Surroundings) -> None:
    """There is nothing to hold a rerun against; neither is a run without a summary."""
    folder = run_study(outside.world, outside.study()).folder
    with pytest.raises(PairbenchError, match="no summary yet"):
        read_original(outside.files, folder)
    conclude(outside.files, folder)
    whole = outside.files.held[folder / layout.LEDGER]
    outside.files.held[folder / layout.LEDGER] = b"".join(whole.splitlines(keepends=True)[:-1])
    with pytest.raises(StudyError, match=f"pairbench resume {folder}"):
        read_original(outside.files, folder)
    with pytest.raises(StudyError, match=r"^a\.pairbench#demo: .* \(resume it where it was made, and archive it again"):
        read_original(outside.files, folder, "a.pairbench#demo", archived=True)


@pytest.mark.parametrize(
    "name",
    ["inputs/study.json", "inputs/prices.json", "plan.json", "inputs/corpora/notes.tar", "inputs/indexes/notes.tar"],
)
def test_inputs_that_were_changed_are_named(outside: Surroundings, name: str) -> None:
    """Nothing is run of them."""
    before = original(outside)
    place = before.run.folder / name
    data = outside.files.held[place]
    middle = data.index(b"demo") if b"demo" in data else len(data) // 2
    outside.files.held[place] = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
    with pytest.raises(EvidenceError, match=name):
        read_original(outside.files, before.run.folder)


@pytest.mark.parametrize("name", ["records.jsonl", "scores.jsonl", "summary.json", "trials"])
def test_documents_and_evidence_that_were_changed_are_named(outside: Surroundings, name: str) -> None:
    """Before anything is run, and before anything is paid for: the comparison at the end could only refuse."""
    before = original(outside)
    place = before.run.folder / name
    if name == "trials":
        # A file that a client left.
        place = min(path for path in outside.files.held if path.is_relative_to(place) and path.name == "stdout.jsonl")
    outside.files.held[place] += b" "
    with pytest.raises(EvidenceError) as caught:
        read_original(outside.files, before.run.folder)
    assert [problem.document for problem in caught.value.problems] == [str(place.relative_to(before.run.folder))]


def test_all_that_was_changed_is_named_at_once(outside: Surroundings) -> None:
    """And where to look, so that it is found from anywhere."""
    before = original(outside)
    folder = before.run.folder
    for name in ("records.jsonl", "scores.jsonl", "inputs/indexes/notes.tar"):
        outside.files.held[folder / name] += b"\n"
    with pytest.raises(EvidenceError) as caught:
        read_original(outside.files, folder, "/elsewhere/good")
    found = [(problem.document, problem.hint) for problem in caught.value.problems]
    assert found[-2:] == [
        (name, "see what is wrong with: pairbench verify /elsewhere/good") for name in ("records.jsonl", "scores.jsonl")
    ]
    assert "inputs/indexes/notes.tar" in {name for name, _ in found}


def test_a_run_is_called_by_its_name_where_that_finds_it(tmp_path: Path) -> None:
    """By its path anywhere else."""
    (tmp_path / "linked").symlink_to(tmp_path / "runs")
    (tmp_path / "runs" / "demo").mkdir(parents=True)
    assert called(tmp_path / "runs", tmp_path / "runs" / "demo") == "demo"
    assert called(tmp_path / "linked", tmp_path / "runs" / "demo") == "demo"
    assert called(tmp_path / "other", tmp_path / "runs" / "demo") == str(tmp_path / "runs" / "demo")


def _empty_archive() -> list[bytes]:
    """A docker archive without an image."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        entry = tarfile.TarInfo("manifest.json")
        entry.size = 2
        archive.addfile(entry, io.BytesIO(b"[]"))
    return [stream.getvalue()]
