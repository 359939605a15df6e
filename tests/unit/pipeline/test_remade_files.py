"""What follows from a run's evidence is made again of it: a Compose file that starts something else, another cassette."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from runner.core import layout
from runner.core.canonical import canonical_line, sha256_digest
from runner.core.lock import Lock
from runner.core.secret import Secret
from runner.pipeline.concluding import conclude, verify_run
from runner.pipeline.executing import run_study
from tests.fakes.ledgers import rewritten
from tests.fakes.recorded import keyed_gateway, recorded
from tests.fakes.surroundings import COMMAND_STUDY, surroundings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.fakes.surroundings import Surroundings

ONE = COMMAND_STUDY.replace("repetitions = 2", "repetitions = 1")
RECORDED = ONE.replace('policy = "plain-agent"', 'policy = "plain-agent", record = true')
ATTEMPT = "trials/first.r1.off/attempt-1"
COMPOSE = f"{ATTEMPT}/compose.yaml"
GIVES = "differs from what lock, study and the attempt's other evidence give"
ASKS = "it asks what no file of this program asks of an engine: "


def finished(outside: Surroundings, text: str) -> Path:
    """A run that ended and was concluded."""
    folder = run_study(outside.world, outside.study(text)).folder
    conclude(outside.files, folder)
    return folder


@pytest.fixture(scope="module")
def ran(tiny_images: Path) -> tuple[Path, dict[Path, bytes]]:
    """A recorded run that ended: its folder, and all files that there are."""
    made = surroundings(tiny_images)
    made.pods.roles["trial"] = recorded()
    return finished(made, RECORDED), made.files.held


@pytest.fixture
def folder(outside: Surroundings, ran: tuple[Path, dict[Path, bytes]]) -> Path:
    """The recorded run, in files of the test's own."""
    outside.files.held = dict(ran[1])
    return ran[0]


def resealed(outside: Surroundings, folder: Path, changed: dict[str, bytes]) -> None:
    """The run of somebody who changed or added files, and then gave the ledger their digests and sealed it all anew."""
    for name, data in changed.items():
        outside.files.held[folder / name] = data
    rewritten(outside.files, folder, {name: sha256_digest(data) for name, data in changed.items()})
    conclude(outside.files, folder)


def said(outside: Surroundings, folder: Path, *, same_code: bool = True) -> list[str]:
    """What a verification says of the run."""
    harness = outside.world.harness
    if not same_code:
        harness = harness.model_copy(update={"source_sha256": sha256_digest(b"other code")})
    return [str(problem) for problem in verify_run(outside.files, folder, harness).differences]


def text(outside: Surroundings, folder: Path) -> str:
    return outside.files.held[folder / COMPOSE].decode()


def with_service(written: str, change: Callable[[dict[str, Any]], object]) -> bytes:
    """The Compose file as a YAML library writes it, its trial changed."""
    document = yaml.safe_load(written)
    change(document["services"]["trial"])
    dumped: str = yaml.safe_dump(document)
    return dumped.encode()


def test_what_is_what_it_gives_verifies(outside: Surroundings, folder: Path) -> None:
    """By the code that ran and by other code; so does a run from before attempts had such a file."""
    assert outside.files.held[folder / COMPOSE]
    assert said(outside, folder) == []
    assert said(outside, folder, same_code=False) == []


@pytest.mark.parametrize("mode", ["live", "record"])
def test_a_run_that_asked_a_provider_verifies(outside: Surroundings, mode: str) -> None:
    """Its file has a key and a way out, or plays what was recorded."""
    outside.world = replace(outside.world, provider_key=lambda: Secret("sk-a-key"))
    outside.pods.roles |= {"trial": recorded("claude-sonnet-4-5"), "gateway": keyed_gateway}
    asked = f'mode = "{mode}", base_url = "https://provider.example"'
    folder = finished(outside, ONE.replace('mode = "scripted", policy = "plain-agent"', asked))
    assert ("way-out" in text(outside, folder)) == (mode == "live")
    assert said(outside, folder) == []


def test_a_compose_file_that_takes_the_machine_is_named(outside: Surroundings, folder: Path) -> None:
    """Though ledger, summary and seals agree with it, and whichever code its lock names."""

    def taken(trial: dict[str, Any]) -> None:
        trial |= {"privileged": True, "volumes": ["/:/host"]}

    resealed(outside, folder, {COMPOSE: with_service(text(outside, folder), taken)})
    assert said(outside, folder) == [f"{COMPOSE}: {GIVES}"]
    assert said(outside, folder, same_code=False) == [
        f"{COMPOSE}: {ASKS}services.trial.privileged, services.trial.volumes[0]"
    ]


def test_a_compose_file_of_one_byte_more_is_named(outside: Surroundings, folder: Path) -> None:
    """Even where it means the same; of other code it may be written in another way."""
    resealed(outside, folder, {COMPOSE: f"{text(outside, folder)}\n".encode()})
    assert said(outside, folder) == [f"{COMPOSE}: {GIVES}"]
    assert said(outside, folder, same_code=False) == []


def test_a_compose_file_that_earlier_code_wrote_verifies(outside: Surroundings, folder: Path) -> None:
    """In another style, and with another program in the same walls."""
    changed = with_service(text(outside, folder), lambda trial: trial.update(entrypoint=["sh"]))
    resealed(outside, folder, {COMPOSE: changed})
    assert said(outside, folder, same_code=False) == []


def test_an_engine_that_knew_the_images_by_their_ids(outside: Surroundings, folder: Path) -> None:
    """As after a load without tags: the file names them so."""
    written = text(outside, folder)
    for pin in Lock.from_bytes(outside.files.held[folder / layout.LOCK], layout.LOCK).images:
        written = written.replace(pin.tag, pin.config_digest).replace(f"({pin.tag.partition(':')[0]})", "(sha256)")
    assert written != text(outside, folder)
    resealed(outside, folder, {COMPOSE: written.encode()})
    assert said(outside, folder) == []


@pytest.mark.parametrize("name", ["engine.json", "gateway.json", "launch.json"])
def test_evidence_that_a_compose_file_is_made_of_is_there(outside: Surroundings, folder: Path, name: str) -> None:
    """Without it nobody can say what the file should be."""
    resealed(outside, folder, {f"{ATTEMPT}/{name}": b"[]"})
    assert any(COMPOSE in line and "it can't be made again" in line for line in said(outside, folder))


def test_an_address_is_one_line_of_a_compose_file(outside: Surroundings, folder: Path) -> None:
    """What evidence says is told in comments, and no line of it becomes one of the file's."""
    config = json.loads(outside.files.held[folder / ATTEMPT / "gateway.json"])
    config["policy"]["name"] = "x\nservices: {}\n#"
    resealed(outside, folder, {f"{ATTEMPT}/gateway.json": canonical_line(config)})
    assert said(outside, folder) == [f"{COMPOSE}: {GIVES}"]
    shown = text(outside, folder).replace("policy plain-agent 1", r"policy x\nservices: {}\n# 1")
    resealed(outside, folder, {COMPOSE: shown.encode()})
    assert said(outside, folder) == []


@pytest.mark.parametrize("name", [".env", "docker-compose.override.yml", "compose.yml", "Compose.YAML"])
def test_an_attempt_leaves_no_settings_of_compose(outside: Surroundings, folder: Path, name: str) -> None:
    """Compose reads `.env` beside its file; and of another Compose file nobody knows what it should be."""
    added = f"{ATTEMPT}/{name}"
    outside.files.held[folder / added] = b"x"
    rewritten(outside.files, folder, {}, added={added: sha256_digest(b"x")})
    conclude(outside.files, folder)
    assert f"{added}: no attempt leaves such a file" in said(outside, folder)


def test_a_cassette_that_says_something_else_is_named(outside: Surroundings, folder: Path) -> None:
    """Whoever alters an answer and its digest has to alter the recording too."""
    cassette = outside.files.held[folder / layout.CASSETTE]
    resealed(outside, folder, {layout.CASSETTE: cassette.replace(b'"body":"hello"', b'"body":"howdy"', 1)})
    for same_code in (True, False):
        (problem,) = said(outside, folder, same_code=same_code)
        assert problem.startswith("cassette.jsonl: differs from what the raw evidence gives, first at line 2, byte ")


def test_a_cassette_of_another_header_is_named(outside: Surroundings, folder: Path) -> None:
    """Fewer exchanges than it holds; other masks are other code's."""
    first, end, rest = outside.files.held[folder / layout.CASSETTE].partition(b"\n")
    header = json.loads(first)
    resealed(outside, folder, {layout.CASSETTE: canonical_line(header | {"masks": []}) + rest})
    line = "cassette.jsonl: its first line isn't the one that the recordings give"
    assert said(outside, folder) == [line]
    assert said(outside, folder, same_code=False) == []
    for damaged in (canonical_line(header | {"exchanges": 0}), b"x\n", end):
        resealed(outside, folder, {layout.CASSETTE: damaged + rest})
        assert said(outside, folder) == [line]
        assert said(outside, folder, same_code=False) == [line]


def test_a_cassette_is_there_if_and_only_if_all_was_recorded(outside: Surroundings, folder: Path) -> None:
    """One that is cut off or gone is named, and so is one of a run that recorded nothing."""
    cassette = outside.files.held[folder / layout.CASSETTE]
    resealed(outside, folder, {layout.CASSETTE: cassette + b"x\n"})
    assert len(said(outside, folder)) == 1
    del outside.files.held[folder / layout.CASSETTE]
    rewritten(outside.files, folder, {}, left_out={layout.CASSETTE})
    conclude(outside.files, folder)
    assert said(outside, folder) == ["cassette.jsonl: missing"]
    other = finished(outside, ONE)
    outside.files.held[other / layout.CASSETTE] = cassette
    assert said(outside, other) == ["cassette.jsonl: nothing of the run gives this file"]


def test_a_recording_that_is_none_is_told(outside: Surroundings, folder: Path) -> None:
    """Nothing is made of lines that say nothing."""
    for line in (b"{", b"[]\n", b"{}\n", b'{"seq":"1"}\n'):
        resealed(outside, folder, {f"{ATTEMPT}/recording.jsonl": line})
        assert "recording.jsonl: first.r1.off: a line isn't an exchange" in said(outside, folder)
