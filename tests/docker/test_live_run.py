"""A study against a provider over TLS, through real pods: the key stays out of trials, and a recording plays alone.

The provider runs on this machine, under an address that the run's network leads to.
"""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING, Any

import pytest

from runner.core.cassette import read_cassette
from tests.fakes.bodies import lines_of
from tests.fakes.provider import KEY, Provider, agent, running_provider, write_ca

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.docker.conftest import Program

pytestmark = pytest.mark.docker

MEASURED, OF_FILES = "timing", "evidence"
CLIENTS = {
    "claude-code": 'kind = "claude-code"\nmodel = "claude-sonnet-4-5"\n',
    "messages": 'kind = "messages"\nmodel = "claude-haiku-4-5"\nmax_output_tokens = 2000\n',
    "codex": 'kind = "codex"\nmodel = "gpt-5"\n',
}
STUDY = """format = "pairbench/study"
version = 1
name = "live"
seed = "live 1"
repetitions = 1
control = "plain"
{top}
[corpora]
notes = "{corpora}/notes/corpus.toml"

[client]
{client}
[model]
{model}
{more}
[[arms]]
name = "plain"

[[arms]]
name = "guided"
env = {{ GUIDE = "yes" }}

[[tasks]]
id = "q-one"
corpus = "notes"
prompt = "To what was `max_incomplete_event_size` raised, and where?"
"""


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    """A provider that pods reach."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        # Nothing is sent: the kernel only says by which of its addresses this machine talks to others.
        probe.connect(("192.0.2.254", 9))
        host = probe.getsockname()[0]
    with running_provider(agent(), host, "0.0.0.0") as running:
        yield running


def write_study(program: Program, corpora: str, client: str, model: str, more: str = "", top: str = "") -> Path:
    folder = program.folder / "study"
    folder.mkdir(exist_ok=True)
    path = folder / "study.toml"
    client_table = CLIENTS[client]
    path.write_text(
        STUDY.format(corpora=f"../{corpora}", client=client_table, model=model, more=more, top=top), "utf-8"
    )
    return path


def live(provider: Provider, mode: str = "live", auth: str = "api-key") -> str:
    return f'mode = "{mode}"\nbase_url = "{provider.url}"\nauth = "{auth}"\nca_file = "ca.pem"\n'


@pytest.fixture
def keyed(pairbench: Program, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Program:
    """The program, where a file holds the provider's key."""
    (pairbench.folder / "study").mkdir(exist_ok=True)
    write_ca(provider, pairbench.folder / "study")
    key = pairbench.folder / "key"
    key.write_text(KEY + "\n")
    key.chmod(0o600)
    monkeypatch.setenv("PAIRBENCH_PROVIDER_KEY_FILE", str(key))
    return pairbench


def exchanges(program: Program, run: Path) -> list[dict[str, Any]]:
    files = sorted(run.glob("trials/*/attempt-*/exchanges.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def records(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(("client", "auth"), [("claude-code", "api-key"), ("messages", "bearer"), ("codex", "bearer")])
def test_a_client_completes_a_study_against_a_provider(
    keyed: Program, corpora: str, provider: Provider, client: str, auth: str
) -> None:
    """Both trials complete; the provider saw the bodies that the clients sent; no file of the run holds the key."""
    before = len(provider.requests)
    done = keyed("run", write_study(keyed, corpora, client, live(provider, auth=auth)), "--json")
    assert done.returncode == 0, done.stderr
    found = keyed.json("summary", "latest")
    assert found["evidence"] == "measurement"
    assert {record["outcome"] for record in records(keyed.run)} == {"completed"}, records(keyed.run)
    bodies = [
        line["request"]
        for file in keyed.run.glob("trials/*/attempt-*/bodies.jsonl.zst")
        for line in lines_of(file.read_bytes())
    ]
    assert sorted(bodies) == sorted(seen.body.decode() for seen in provider.requests[before:])
    assert not [path for path in keyed.run.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    for status in keyed.json("status", "latest")["trials"]:
        (attempt,) = status["attempts"]
        assert attempt["trial"]["network_mode"] == "none"
        assert attempt["gateway"]["network_mode"].startswith("pairbench-")
        assert "/secret" not in {mount["destination"] for mount in attempt["trial"]["mounts"]}


def test_a_recording_plays_again_without_its_provider(keyed: Program, corpora: str, provider: Provider) -> None:
    """Twice the same records but for times; without one exchange, its trial alone is invalid and says what differs."""
    done = keyed("run", write_study(keyed, corpora, "claude-code", live(provider, "record")), "--json")
    assert done.returncode == 0, done.stderr
    recorded = records(keyed.run)
    data = (keyed.run / "cassette.jsonl").read_bytes()
    cassette = read_cassette(data, "cassette.jsonl")
    assert cassette.header.incomplete == ()
    (keyed.folder / "study" / "cassette.jsonl").write_bytes(data)
    asked = len(provider.requests)
    replay = write_study(keyed, corpora, "claude-code", 'mode = "replay"\ncassette = "cassette.jsonl"\n')
    for _ in range(2):
        again = keyed("run", replay, "--json")
        assert again.returncode == 0, again.stderr
        assert list(map(timeless, records(keyed.run))) == list(map(timeless, recorded))
    assert len(provider.requests) == asked

    header, *entries = data.splitlines(keepends=True)
    kept = [line for line in entries if not (json.loads(line)["arm"] == "guided" and json.loads(line)["seq"] == 2)]
    assert len(kept) == len(entries) - 1
    head = json.loads(header) | {"exchanges": len(kept)}
    (keyed.folder / "study" / "cassette.jsonl").write_bytes(json.dumps(head).encode() + b"\n" + b"".join(kept))
    keyed("run", replay, "--json")
    found = {record["arm"]: record for record in records(keyed.run)}
    assert timeless(found["plain"]) == timeless(next(record for record in recorded if record["arm"] == "plain"))
    assert (found["plain"]["outcome"], found["guided"]["outcome"]) == ("completed", "evidence_invalid")
    assert "messages[" in found["guided"]["reason"]


def test_a_recording_is_rerun_without_key_or_provider(
    keyed: Program, corpora: str, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It equals what was measured, and no network is made for it; asked afresh, the provider answers again."""
    done = keyed("run", write_study(keyed, corpora, "messages", live(provider, "record")), "--json")
    assert done.returncode == 0, done.stderr
    measured, asked = keyed.run, len(provider.requests)
    with monkeypatch.context() as without:
        without.delenv("PAIRBENCH_PROVIDER_KEY_FILE")
        found = json.loads(keyed("rerun", "latest", "--json").stdout)
        assert (found["rerun_of"]["how"], found["comparison"]["equal"]) == ("replay", True)
        assert len(provider.requests) == asked
        for status in keyed.json("status", "latest")["trials"]:
            assert {attempt["gateway"]["network_mode"] for attempt in status["attempts"]} == {"none"}
        assert keyed.json("summary", "latest")["evidence"] == "measurement"
        refused = keyed("rerun", measured.name, "--live")
        assert refused.returncode == 3
        assert "PAIRBENCH_PROVIDER_KEY_FILE" in refused.stderr
    afresh = keyed("rerun", measured.name, "--live", "--json")
    assert afresh.returncode == 0, afresh.stderr
    assert json.loads(afresh.stdout)["rerun_of"]["how"] == "live"
    assert len(provider.requests) == asked + len(exchanges(keyed, measured))
    assert (keyed.run / "cassette.jsonl").is_file()


def test_a_cap_ends_the_trial_that_would_break_it(keyed: Program, corpora: str, provider: Provider) -> None:
    """The gateway refuses what may cost too much; the client stops and the trial says why."""
    caps = "[caps]\ntrial_microusd = 300000\nstudy_microusd = 450000\noutput_tokens = 2000\n"
    before = len(provider.requests)
    keyed("run", write_study(keyed, corpora, "claude-code", live(provider), more=caps), "--json")
    found = records(keyed.run)
    assert {record["outcome"] for record in found} <= {"completed", "cap_exceeded"}
    seen = exchanges(keyed, keyed.run)
    assert sum(line["charged_microusd"] for line in seen) <= 450000
    assert all(json.loads(item.body)["max_tokens"] == 2000 for item in provider.requests[before:])


def test_without_a_key_nothing_starts(pairbench: Program, corpora: str, provider: Provider) -> None:
    """A live study says what it needs before anything is made."""
    (pairbench.folder / "study").mkdir(exist_ok=True)
    write_ca(provider, pairbench.folder / "study")
    done = pairbench("run", write_study(pairbench, corpora, "claude-code", live(provider)), "--json")
    assert done.returncode == 3
    assert "PAIRBENCH_PROVIDER_KEY_FILE" in done.stderr


def timeless(record: dict[str, Any]) -> dict[str, Any]:
    """The record without its times, and without the digests of files that hold them; no answer here was cut."""
    attempts = [{key: value for key, value in item.items() if key != OF_FILES} for item in record["attempts"]]
    return {key: value for key, value in record.items() if key != MEASURED} | {"attempts": attempts}
