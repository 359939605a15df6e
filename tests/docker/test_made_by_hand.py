"""One attempt again by hand, with docker-compose and what lies in the run's folder: the commands are those of the file."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from runner.adapters.docker_engine import DockerEngine
from runner.clients.registry import client_of
from runner.core.evidence import EngineFacts
from tests.docker.conftest import ROOT, SECRET
from tests.fakes.bodies import lines_of
from tests.fakes.provider import KEY, agent, running_provider, write_ca

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.docker.conftest import Program
    from tests.fakes.provider import Provider

pytestmark = [pytest.mark.docker, pytest.mark.compose]

STUDY = """
format = "pairbench/study"
version = 1
name = "by-hand"
seed = "by hand 1"
repetitions = 1
control = "off"
corpora = {{ h11 = "{corpora}/h11/corpus.toml" }}
tasks = [{{ id = "{task}", corpus = "h11", prompt = {prompt} }}]

[client]
{client}

[model]
{model}

[[arms]]
name = "off"

[[arms]]
name = "memory"
sidecar = true

[[arms.mcp_servers]]
name = "memory"
command = ["python3", "/opt/pairbench/memory/server.py"]
tools = ["memory_search", "memory_get"]
"""
CLAUDE = 'kind = "claude-code"\nmodel = "claude-sonnet-4-5"\ninstructions = "{corpora}/fixture/instructions.md"'
LOOP = 'kind = "messages"\nmodel = "claude-haiku-4-5"\nmax_output_tokens = 2000'
SCRIPTED = 'mode = "scripted"\npolicy = "plain-agent"'
RETRIEVAL = """
format = "pairbench/study"
version = 1
name = "by-hand-retrieval"
seed = "1"
repetitions = 1
control = "bm25"
client = {{ kind = "retrieval", depth = 10 }}
corpora = {{ h11 = "{corpora}/h11/corpus.toml" }}
arms = [{{ name = "bm25", system = {{ kind = "bm25" }} }}, {{ name = "dense", system = {{ kind = "dense" }} }}]
tasks = [{{ id = "h11", corpus = "h11", queries = "{corpora}/retrieval/sets/h11/queryset.toml" }}]
"""


@dataclass(frozen=True)
class ByHand:
    """A person with the file of one attempt, in a folder of their own."""

    attempt: Path
    folder: Path

    @property
    def file(self) -> Path:
        return self.attempt / "compose.yaml"

    def commands(self) -> list[str]:
        """What the file says to type."""
        lines = self.file.read_text("utf-8").splitlines()
        typed = [
            line.removeprefix("#").strip() for line in lines if line.startswith(("#   docker-compose", "#   export"))
        ]
        return [line.replace("FILE", str(self.file)) for line in typed]

    def make(self, *, key: Path | None = None) -> dict[str, str]:
        """What came out, by name; nothing of the attempt is left in the engine."""
        commands = self.commands()
        *work, down = [line for line in commands if not line.startswith("export")]
        environment = {name: value for name, value in os.environ.items() if SECRET not in value}
        if key is not None:
            environment["PAIRBENCH_KEY_FILE"] = str(key)
        try:
            for line in work:
                self.type_in(line, environment)
            return {path.name: path.read_text("utf-8", "replace") for path in (self.folder / "by-hand").iterdir()}
        finally:
            self.type_in(down, environment)

    def type_in(self, line: str, environment: dict[str, str]) -> None:
        """A line that must end well."""
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", line],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    """A provider that pods reach."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        # Nothing is sent: the kernel only says by which of its addresses this machine talks to others.
        probe.connect(("192.0.2.254", 9))
        host = probe.getsockname()[0]
    with running_provider(agent(), host, "0.0.0.0") as running:
        yield running


def study(program: Program, corpora: str, client: str, model: str) -> Path:
    """A study of one task of the fixture, in its two arms."""
    tasks = tomllib.loads((ROOT / "corpora/fixture/tasks/h11.toml").read_text("utf-8"))["tasks"]
    task = next(task for task in tasks if task["corpus"] == "h11")
    text = STUDY.format(
        corpora=corpora,
        task=task["id"],
        prompt=json.dumps(task["prompt"]),
        client=client.format(corpora=corpora),
        model=model,
    )
    path = program.folder / "study.toml"
    path.write_text(text, "utf-8")
    return path


def ran(program: Program, path: Path) -> None:
    done = program("run", path, "--json")
    assert done.returncode == 0, done.stderr + done.stdout


def attempts(program: Program) -> dict[str, Path]:
    """The folder of each trial's first attempt, by arm."""
    return {folder.name.rpartition(".")[2]: folder / "attempt-1" for folder in (program.run / "trials").iterdir()}


def said(files: dict[str, str], kind: str) -> tuple[str, Any]:
    """The client's answer, and what it reports of its usage."""
    report = client_of(kind).parse(files["stdout.jsonl"].encode(), files["stderr.txt"].encode())
    return report.answer, report.reported


def usage(files: dict[str, str]) -> list[tuple[Any, ...]]:
    """What the gateway saw of each exchange's usage, and of what it was about."""
    found = [json.loads(line) for line in files["exchanges.jsonl"].splitlines()]
    return sorted((one["seq"], one["owner"], one["refused"], json.dumps(one["usage"])) for one in found)


def kept(attempt: Path) -> dict[str, str]:
    return {path.name: path.read_text("utf-8", "replace") for path in attempt.iterdir()}


@pytest.mark.parametrize("arm", ["off", "joined"])
def test_a_trial_of_the_smoke_study(pairbench: Program, tmp_path: Path, arm: str) -> None:
    """It ends as it did, and the run verifies as before."""
    ran(pairbench, ROOT / "corpora" / "smoke" / "study.toml")
    attempt = pairbench.run / "trials" / f"second.r1.{arm}" / "attempt-1"
    before = sorted(path.name for path in attempt.iterdir())
    made = ByHand(attempt, tmp_path).make()
    assert sorted(made) == [
        "bodies.jsonl.zst",
        "exchanges.jsonl",
        "exit.json",
        "sidecar.jsonl",
        "stderr.txt",
        "stdout.jsonl",
    ]
    exits = [json.loads(text["exit.json"]) for text in (made, kept(attempt))]
    assert [(one["ended_by"], one["exit_code"], one["client"]) for one in exits] == [
        ("exit", 0, exits[0]["client"])
    ] * 2
    assert (made["stdout.jsonl"], made["exchanges.jsonl"]) == ("", "")
    asked = [json.loads(line) for line in made["sidecar.jsonl"].splitlines() if '"request"' in line]
    assert [one["path"] for one in asked] == (["/readyz"] if arm == "joined" else [])
    assert sorted(path.name for path in attempt.iterdir()) == before
    assert pairbench.json("verify", "latest")["holds"]


def test_its_containers_are_those_of_the_pod(pairbench: Program, tmp_path: Path, engine_address: str) -> None:
    """Users, capabilities, limits, mounts, images, networks: as the engine describes both."""
    ran(pairbench, ROOT / "corpora" / "smoke" / "study.toml")
    attempt = pairbench.run / "trials" / "first.r1.joined" / "attempt-1"
    by_hand = ByHand(attempt, tmp_path)
    facts = EngineFacts.from_bytes((attempt / "engine.json").read_bytes(), "engine.json")
    engine = DockerEngine(engine_address)
    environment = dict(os.environ)
    by_hand.type_in(f"docker-compose -f {by_hand.file} up trial", environment)
    try:
        found = {}
        for role in ("gateway", "sidecar", "trial"):
            done = subprocess.run(
                ["docker-compose", "-f", str(by_hand.file), "ps", "-q", role],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            )
            found[role] = engine.inspect(done.stdout.strip()).facts
    finally:
        by_hand.type_in(by_hand.commands()[-1], environment)
    assert found["trial"].network_mode == f"container:{found['sidecar'].id}"
    assert facts.trial is not None
    changing = {"id", "started_at", "finished_at", "network_mode", "mounts"}
    for role, was in (("gateway", facts.gateway), ("sidecar", facts.sidecar), ("trial", facts.trial)):
        assert was is not None
        now = found[role]
        assert now.model_dump(exclude=changing) == was.model_dump(exclude=changing), role
        assert sorted(now.mounts, key=str) == sorted(was.mounts, key=str), role
        assert now.network_mode == was.network_mode or role == "trial"


@pytest.mark.parametrize("arm", ["off", "memory"])
def test_a_trial_of_the_fixture(pairbench: Program, corpora: str, tmp_path: Path, arm: str) -> None:
    """Claude Code gives the same answer and reports the same usage, and the gateway saw the same."""
    ran(pairbench, study(pairbench, corpora, CLAUDE, SCRIPTED))
    attempt = attempts(pairbench)[arm]
    before = kept(attempt)
    made = ByHand(attempt, tmp_path).make()
    assert said(before, "claude-code")[0] != ""
    assert said(made, "claude-code") == said(before, "claude-code")
    assert usage(made) == usage(before)
    assert len(usage(made)) > 1
    assert ("/search" in made["sidecar.jsonl"] or "/query" in made["sidecar.jsonl"]) == (arm == "memory")
    assert kept(attempt) == before
    assert pairbench.json("verify", "latest")["holds"]


def test_what_was_recorded_is_played_and_a_replay_plays_again(
    pairbench: Program, corpora: str, provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No provider is asked; the answer and usage are those of the recording, from it and from the run's cassette."""
    key = keyed(pairbench, provider, monkeypatch)
    ran(pairbench, study(pairbench, corpora, LOOP, live(provider, "record")))
    recorded, recording = attempts(pairbench)["memory"], pairbench.run
    before, asked = kept(recorded), len(provider.requests)
    made = make(recorded, tmp_path / "recorded")
    assert said(made, "messages") == said(before, "messages")
    assert said(before, "messages")[0] != ""
    assert usage(made) == usage(before)
    assert json.loads(made["replayed.json"])["unasked"] == 0
    assert len(provider.requests) == asked
    shutil.copyfile(recording / "cassette.jsonl", pairbench.folder / "cassette.jsonl")
    ran(pairbench, study(pairbench, corpora, LOOP, 'mode = "replay"\ncassette = "cassette.jsonl"'))
    replayed = attempts(pairbench)["memory"]
    again = make(replayed, tmp_path / "replayed")
    assert said(again, "messages") == said(before, "messages")
    assert usage(again) == usage(before)
    assert json.loads(again["replayed.json"])["unasked"] == 0
    assert len(provider.requests) == asked
    for folder in (recording, pairbench.run):
        assert pairbench.json("verify", folder)["holds"]
        assert not [path for path in folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert key.read_text() == f"{KEY}\n"


def test_what_was_not_recorded_is_asked_anew_with_a_key(
    pairbench: Program, corpora: str, provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file says that nothing was recorded; with the path of a key the provider is asked, and the key stays outside."""
    key = keyed(pairbench, provider, monkeypatch)
    ran(pairbench, study(pairbench, corpora, LOOP, live(provider, "live")))
    attempt = attempts(pairbench)["off"]
    before, asked = kept(attempt), len(provider.requests)
    assert f"# The model: {provider.url} was asked, and nothing was recorded" in before["compose.yaml"]
    made = make(attempt, tmp_path / "anew", key=key)
    assert said(made, "messages") == said(before, "messages")
    assert len(provider.requests) == asked + len(usage(before))
    assert sorted(
        one["request"] for one in lines_of((tmp_path / "anew/by-hand/bodies.jsonl.zst").read_bytes())
    ) == sorted(seen.body.decode() for seen in provider.requests[asked:])
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert not [path for path in pairbench.run.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


@pytest.mark.slow
def test_a_trial_of_a_retrieval_study(pairbench: Program, corpora: str, tmp_path: Path) -> None:
    """It finds the same passages for the same questions."""
    (pairbench.folder / "retrieval.toml").write_text(RETRIEVAL.format(corpora=corpora), "utf-8")
    ran(pairbench, pairbench.folder / "retrieval.toml")
    attempt = attempts(pairbench)["dense"]
    made = ByHand(attempt, tmp_path).make()
    assert found_of(made) == found_of(kept(attempt))
    assert len(found_of(made)) > 10


def found_of(files: dict[str, str]) -> list[tuple[str, list[Any]]]:
    events = [json.loads(line) for line in files["stdout.jsonl"].splitlines()]
    return [(one["query"], [hit["id"] for hit in one["results"]]) for one in events if "results" in one]


@pytest.mark.slow
def test_a_trial_of_a_reconsolidation_study(pairbench: Program, tmp_path: Path) -> None:
    """The store that its sidecar prints at the end is the same, and so is what the client said."""
    folder = pairbench.folder / "reconsolidation"
    shutil.copytree(ROOT / "corpora" / "reconsolidation", folder)
    text = (folder / "study.toml").read_text("utf-8").partition('[[tasks]]\nid = "holdout"')[0]
    text = text.replace("repetitions = 3", "repetitions = 1").replace('contract = "contract.toml"\n', "")
    (folder / "study.toml").write_text(text, "utf-8")
    ran(pairbench, folder / "study.toml")
    attempt = attempts(pairbench)["connections"]
    made = ByHand(attempt, tmp_path).make()
    stores = [
        [line for line in files["sidecar.jsonl"].splitlines() if json.loads(line)["event"] == "point"]
        for files in (made, kept(attempt))
    ]
    assert stores[0] == stores[1]
    assert len(stores[0]) > 10
    assert usage(made) == usage(kept(attempt))


def make(attempt: Path, folder: Path, key: Path | None = None) -> dict[str, str]:
    folder.mkdir()
    return ByHand(attempt, folder).make(key=key)


def live(provider: Provider, mode: str) -> str:
    return f'mode = "{mode}"\nbase_url = "{provider.url}"\nauth = "api-key"\nca_file = "ca.pem"'


def keyed(program: Program, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with the provider's key, which the program knows of."""
    write_ca(provider, program.folder)
    key = program.folder / "key"
    key.write_text(f"{KEY}\n")
    key.chmod(0o600)
    monkeypatch.setenv("PAIRBENCH_PROVIDER_KEY_FILE", str(key))
    return key
