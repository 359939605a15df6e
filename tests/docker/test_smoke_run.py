"""The smoke study through the command line: run, verified, watched, reported; and nothing is left of it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from runner.core.owner import RUN
from tests.docker.conftest import ROOT, SECRET

if TYPE_CHECKING:
    import docker

    from tests.docker.conftest import Program

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def smoke(pairbench: Program) -> Program:
    """The program, after it ran the smoke study."""
    done = pairbench("run", ROOT / "corpora" / "smoke" / "study.toml", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["study"]["name"] == "smoke"
    return pairbench


def test_the_run_verifies(smoke: Program) -> None:
    """Recomputed from the raw evidence by another process."""
    found = smoke.json("verify", "latest")
    assert found["holds"]
    assert found["differences"] == []
    # Eight files of each of four trials, and at least those that every run has.
    assert found["checked_files"] >= 4 * 8 + 8


def test_every_pod_was_walled_in(smoke: Program) -> None:
    """As the engine and the supervisors recorded it."""
    status = smoke.json("status", "latest")
    assert (status["planned"], status["finished"], status["breaches"], status["ended"]) == (4, 4, 0, True)
    assert status["outcomes"] == {"completed": 4}
    for trial in status["trials"]:
        (attempt,) = trial["attempts"]
        joined = f"container:{attempt['sidecar']['id']}"
        assert attempt["trial"]["network_mode"] == (joined if trial["arm"] == "joined" else "none")
        assert attempt["gateway"]["network_mode"] == attempt["sidecar"]["network_mode"] == "none"
        for role in ("gateway", "sidecar", "trial"):
            assert attempt[role]["read_only"]
            assert attempt[role]["cap_drop"] == ["ALL"]
            assert attempt[role]["security_opt"] == ["no-new-privileges"]
        assert (attempt["client"]["uid"], attempt["supervisor"]["uid"]) == (10002, 10001)
        assert set(attempt["client"]["cap_bounding"]) == {"0"}
        writable = {mount["destination"] for mount in attempt["trial"]["mounts"] if not mount["read_only"]}
        assert writable == {"/pod", "/home/agent", "/tmp"}


def test_the_report_is_one_page(smoke: Program) -> None:
    """Its path is printed; it loads nothing; it is part of what verifies."""
    done = smoke("report", "latest")
    assert done.returncode == 0, done.stderr
    page = (smoke.folder / done.stdout.strip()).read_text("utf-8")
    assert "<html" in page
    assert re.findall(r"""(?:src|href)=["'](?!#|data:)[^"']*""", page) == []
    assert smoke.json("verify", "latest")["holds"]


def test_one_changed_byte_ends_4_and_names_the_file(smoke: Program) -> None:
    """Of raw evidence, of the records, and of the summary."""
    for name in ("trials/first.r1.off/attempt-1/exit.json", "records.jsonl", "summary.json"):
        path = smoke.run / name
        before = path.read_bytes()
        path.write_bytes(before.replace(b"1", b"2", 1))
        done = smoke("verify", "latest")
        path.write_bytes(before)
        assert done.returncode == 4
        assert name in done.stdout
    assert smoke("verify", "latest").returncode == 0


def test_nothing_of_the_run_is_left(smoke: Program, engine: docker.DockerClient) -> None:
    """No container and no volume carries its label."""
    filters = {"label": f"{RUN}={smoke.run.name}"}
    assert engine.containers.list(all=True, filters=filters) == []
    assert engine.volumes.list(filters=filters) == []


def test_the_key_of_whoever_runs_it_is_nowhere(smoke: Program) -> None:
    """Neither in evidence nor in what was computed from it."""
    assert [path for path in smoke.run.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()] == []
