"""Threat: what runs in a trial looks for the provider's key, or for a way round the gateway.

The trial is a program of the test's own, in real pods against a provider over TLS.
"""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Self

import docker
import docker.errors
import pytest

from tests.docker.test_live_run import keyed, live, provider, records
from tests.fakes.provider import KEY, Provider

if TYPE_CHECKING:
    from tests.docker.conftest import Program

pytestmark = pytest.mark.docker

__all__ = ["keyed", "provider"]

STUDY = """format = "pairbench/study"
version = 1
name = "walls"
seed = "walls 1"
repetitions = 1
control = "one"

[corpora]
notes = "../{corpora}/notes/corpus.toml"

[client]
kind = "command"
model = "claude-sonnet-4-5"
command = ["python3", "-c", {program}]

[model]
{model}
[limits]
memory_bytes = 268435456
home_bytes = 16777216
tmp_bytes = 16777216
record_bytes = 1048576
stdout_bytes = 1048576
pod_bytes = 8388608

[schedule]
slots = 1

[[arms]]
name = "one"

[[arms]]
name = "two"
env = {{ TWO = "yes" }}

[[tasks]]
id = "q-one"
corpus = "notes"
prompt = "Look around."
"""
# The pattern doesn't match itself, so that a search doesn't find the searcher.
SEARCHER = r"""
import json, os, re, socket, sys
wanted = re.compile(rb"sk-provider-[k]ey-that")
found, looked = [], 0
def look(path):
    global looked
    try:
        with open(path, "rb", buffering=0) as file:
            tail = b""
            while data := file.read(1 << 20):
                looked += len(data)
                if wanted.search(tail + data):
                    found.append(path)
                    return
                tail = data[-64:]
    except OSError:
        pass
for folder, folders, names in os.walk("/"):
    if folder == "/":
        folders[:] = [name for name in folders if name not in ("proc", "sys", "dev")]
    for name in names:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            look(path)
for process in os.listdir("/proc"):
    if process.isdigit():
        for name in ("environ", "cmdline", "mountinfo", "status", "net/tcp"):
            look(f"/proc/{process}/{name}")
try:
    socket.create_connection((HOST, PORT), 3).close()
    reached = True
except OSError:
    reached = False
print(json.dumps({"found": found, "looked": looked, "reached": reached, "secret": os.path.exists("/secret")}))
"""


def write(keyed: Program, corpora: str, provider: Provider, program: str) -> str:
    path = keyed.folder / "study" / "walls.toml"
    path.write_text(STUDY.format(corpora=corpora, program=json.dumps(program), model=live(provider)), "utf-8")
    return str(path)


class Watcher:
    """Keeps what the engine says of every container of ours, as long as it runs."""

    def __init__(self, address: str) -> None:
        self.said: dict[str, str] = {}
        self._engine = docker.APIClient(base_url=address, version="auto")
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._engine.close()

    def _watch(self) -> None:
        while not self._ended.wait(0.05):
            for item in self._engine.containers(filters={"label": "pairbench.role"}):
                with suppress(docker.errors.NotFound):
                    role = item["Labels"]["pairbench.role"]
                    self.said[role] = self.said.get(role, "") + json.dumps(self._engine.inspect_container(item["Id"]))


def test_no_trial_finds_the_key_nor_a_way_round(
    keyed: Program, corpora: str, provider: Provider, engine_address: str
) -> None:
    """Environment, every file, every process and the engine's own description hold no key; the provider is out of reach."""
    program = SEARCHER.replace("HOST", repr(provider.host)).replace("PORT", str(provider.port))
    with Watcher(engine_address) as watcher:
        done = keyed("run", write(keyed, corpora, provider, program), "--json")
    assert done.returncode == 0, done.stderr
    for record in records(keyed.run):
        seen = json.loads(record["answer"])
        assert seen["looked"] > 100_000_000
        assert (seen["found"], seen["reached"], seen["secret"]) == ([], False, False)
    assert {"gateway", "trial"} <= set(watcher.said)
    assert KEY not in "".join(watcher.said.values())
    assert KEY not in done.stdout + done.stderr
