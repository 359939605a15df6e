"""Did the engine fail, or the client? Answers that real engines gave, and what becomes of each.

The answers are in `tests/golden/engine/errors.json`; `capture.py` beside it asked for them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import docker.errors
import pytest
import requests

from runner.adapters.docker_engine import _translated
from runner.collect.attempt import collect_attempt
from runner.core.errors import EngineError, EngineGoneError
from tests.fakes.attempts import container, exit_report, good_control

GOOD = good_control()
CAPTURED: Final = json.loads(
    (Path(__file__).resolve().parents[2] / "golden" / "engine" / "errors.json").read_text(encoding="utf-8")
)
CASES: Final[dict[str, dict[str, Any]]] = CAPTURED["cases"]
TRANSPORT: Final = {name for name, case in CASES.items() if case["kind"] == "transport"}


def raised(case: dict[str, Any]) -> Exception:
    """The exception that the case was captured from."""
    if case["kind"] == "transport":
        kind: type[Exception] = getattr(requests.exceptions, case["types"][0])
        return kind(case["text"])
    response = requests.Response()
    response.status_code = case["status"]
    answer: Exception = docker.errors.APIError("an answer", response=response, explanation=case["text"])
    return answer


def translated(case: dict[str, Any]) -> EngineError:
    with pytest.raises(EngineError) as caught, _translated("start"):
        raise raised(case)
    return caught.value


def test_there_are_cases_of_both_kinds() -> None:
    """An engine that answers no, and one that doesn't answer."""
    assert {"socket missing", "nobody listens"} == TRANSPORT
    assert len(CASES) >= 14


@pytest.mark.parametrize("name", sorted(CASES))
def test_every_answer_becomes_an_error_of_ours_in_the_engines_own_words(name: str) -> None:
    """And only an engine that nobody found is gone: any other can be asked again."""
    error = translated(CASES[name])
    assert CASES[name]["text"] in str(error)
    assert isinstance(error, EngineGoneError) == (name in TRANSPORT)


@pytest.mark.parametrize(
    "error",
    [
        requests.exceptions.ReadTimeout("UnixHTTPConnectionPool(host='localhost', port=None): Read timed out."),
        requests.exceptions.ConnectionError("UnixHTTPConnectionPool(host='localhost', port=None): Read timed out."),
        TimeoutError("timed out"),
        docker.errors.InvalidVersion("no such option"),
    ],
)
def test_a_slow_engine_is_not_gone(error: Exception) -> None:
    """It may be busy, and the next attempt may find it well."""
    with pytest.raises(EngineError) as caught, _translated("start"):
        raise error
    assert not isinstance(caught.value, EngineGoneError)


@pytest.mark.parametrize(
    "error",
    [
        requests.exceptions.ConnectionError(
            "('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))"
        ),
        requests.exceptions.ConnectionError(
            "('Connection aborted.', RemoteDisconnected('Remote end closed connection'))"
        ),
        ConnectionRefusedError(111, "Connection refused"),
        BrokenPipeError(32, "Broken pipe"),
    ],
)
def test_an_engine_that_went_away_is_gone(error: Exception) -> None:
    """As a restart in the middle of a run was seen to look."""
    with pytest.raises(EngineGoneError), _translated("wait"):
        raise error


@pytest.mark.parametrize("name", sorted(CASES))
def test_whatever_the_engine_refused_is_no_fault_of_the_client(name: str) -> None:
    """The attempt is infrastructure, and may be made again."""
    words = str(translated(CASES[name]))
    result = collect_attempt(GOOD.but(hint="engine_error", detail=words).evidence())
    assert result.outcome == "infrastructure"
    assert result.reason.startswith("container engine: start: ")


def test_a_container_that_did_not_start_is_no_fault_of_the_client() -> None:
    """Its exit code is 127, as that of a shell that finds no program; the engine's own words say which it was."""
    state = CASES["state of a container that did not start"]["state"]
    trial = container(
        "trial",
        exit_code=state["ExitCode"],
        error=state["Error"],
        oom_killed=state["OOMKilled"],
        started_at=state["StartedAt"],
        finished_at=state["FinishedAt"],
    )
    result = collect_attempt(GOOD.but(trial=trial, exit=None, without=("stdout.jsonl", "stderr.txt")).evidence())
    assert result.outcome == "infrastructure"
    assert 'exec: "/nowhere/program": stat /nowhere/program: no such file or directory' in result.reason


@pytest.mark.parametrize("code", [125, 126, 127, 137])
def test_exit_codes_that_engines_use_are_the_clients_own_when_it_ran(code: int) -> None:
    """The supervisor saw it end: no code of a program of the client's is taken for a word of the engine."""
    stdout = b'{"type":"system","subtype":"init","tools":["Read","Grep","Glob"],"mcp_servers":[],"model":"claude-sonnet-4-5"}\n'
    result = collect_attempt(GOOD.but(stdout=stdout, exit=exit_report(exit_code=code)).evidence())
    assert (result.outcome, result.reason) == ("client_error", f"the client ended with exit code {code}")
