"""The memories of a reconsolidation study: how they are started, and what their output says.

Ours stands in `images/trial/reconsolidator/`. What a memory did is read from its store, never from here.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from runner.clients.client import Ending
from runner.clients.messages_events import messages_ending, reported_usage
from runner.clients.report import report_of
from runner.clients.shapes import ShapeError, events_of, object_at, objects_at, optional_text, text_at
from runner.core.errors import StudyError
from runner.core.events import ApiRetry, ClientReady, Ignored, Result, count
from runner.core.launch import IN_FOLDER, InFile, PodLaunch, client_environment, make_launch
from runner.core.quantities import Measured, Unavailable
from runner.core.systems import ReconsolidationProgram, Reconsolidator

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runner.clients.client import ClientReport
    from runner.core.canonical import Json
    from runner.core.events import Event
    from runner.core.launch import LaunchRequest, McpServer, ReconsolidationAsk

FORMAT: Final = "pairbench/reconsolidation-events"
VERSION: Final = 1
PROGRAM: Final = ("python3", "/opt/pairbench/reconsolidator/main.py")
CONFIG_NAME: Final = "reconsolidation.json"

_SIDECAR_URL: Final = "http://127.0.0.1:6333"
_MAX_RETRIES: Final = 2
_DEFAULT_OUTPUT_TOKENS: Final = 2048
_NO_COST: Final = Unavailable("a reconsolidator reports no cost")
_NO_STATUS: Final = Unavailable("no status was given")
_UNSAID_STATUS: Final = Unavailable("the client doesn't say")


class Reconsolidation:
    """The adapter of kind `reconsolidation`."""

    kind = "reconsolidation"

    def launch(self, request: LaunchRequest) -> PodLaunch:
        """What starts the memory; raises `StudyError` without a system, and for what it can't be given."""
        ask = request.reconsolidation
        if ask is None:
            raise StudyError("an arm of a reconsolidation study needs its system", key="system")
        if request.instructions:
            raise StudyError("a reconsolidation client takes no instructions", key="client.kind")
        own = {"ANTHROPIC_API_KEY": request.gateway_token, "ANTHROPIC_BASE_URL": request.gateway_url()}
        return make_launch(
            request,
            argv=(*_program(ask), f"{IN_FOLDER}/{CONFIG_NAME}", *request.args),
            env=client_environment(own, request.env),
            files=(InFile(CONFIG_NAME, _config(request, ask)),),
        )

    def parse(self, stdout: bytes, stderr: bytes) -> ClientReport:
        """What its event stream says; damaged lines are counted.

        A program that asked no model, or says nothing of itself, is believed its exit code: its store tells the rest.
        """
        report = report_of(events_of(stdout, _events), stderr, messages_ending)
        is_silent = report.ending is Ending.UNSAID or (report.ending is Ending.OK and not report.reported)
        return replace(report, ending=Ending.BY_EXIT_CODE) if is_silent else report

    def start_of(self, tools: Sequence[str], servers: Sequence[McpServer]) -> None:
        """Nothing: its `start` event says it."""


def _program(ask: ReconsolidationAsk) -> tuple[str, ...]:
    match ask.system:
        case Reconsolidator():
            return PROGRAM
        case ReconsolidationProgram(command=command):
            return command


def _config(request: LaunchRequest, ask: ReconsolidationAsk) -> bytes:
    """`reconsolidation.json`: seeds and questions under opaque names, and nothing of labels, categories or splits."""
    config = {
        "format": "pairbench/reconsolidation-launch",
        "version": 1,
        "mode": ask.system.mode,
        "clock": ask.clock,
        "recall_budget": {"facts": ask.most_recalled},
        "url": _SIDECAR_URL,
        "model": request.model,
        "max_output_tokens": request.max_output_tokens or _DEFAULT_OUTPUT_TOKENS,
        "max_retries": _MAX_RETRIES,
        "threads": ask.threads,
        "cases": [case.json_value() for case in ask.cases],
    }
    return json.dumps(config, ensure_ascii=True, indent=1, sort_keys=True).encode("ascii") + b"\n"


def _events(item: Mapping[str, Json]) -> Iterator[Event]:
    kind = text_at(item, "type")
    match kind:
        case "start":
            yield _start(item)
        case "retry":
            attempt = count(item.get("attempt"), "attempt")
            yield ApiRetry(attempt.value if isinstance(attempt, Measured) else 0, _UNSAID_STATUS, "")
        case "end":
            yield _end(item)
        case _:
            yield Ignored(kind)


def _start(item: Mapping[str, Json]) -> ClientReady:
    if (item.get("format"), item.get("version")) != (FORMAT, VERSION):
        raise ShapeError(f"not {FORMAT} {VERSION}")
    return ClientReady((), (), optional_text(item, "model"), text_at(item, "client"))


def _end(item: Mapping[str, Json]) -> Result:
    outcome = text_at(item, "outcome")
    error = object_at(item, "error") if item.get("error") is not None else None
    if (outcome == "completed") != (error is None):
        raise ShapeError("a completed end with an error, or another one without")
    cases = count(item.get("cases"), "cases")
    done = f"{cases.value} cases" if isinstance(cases, Measured) else "cases"
    status = _NO_STATUS if error is None or error.get("status") is None else count(error["status"], "status")
    return Result(
        error=error is not None,
        terminal_reason=outcome,
        stop_reason="",
        answer=done if error is None else "",
        message=text_at(error, "message") if error is not None else "",
        api_error=optional_text(error, "type") if error is not None else "",
        api_error_status=status,
        turns=count(item.get("turns"), "turns"),
        cost_microusd=_NO_COST,
        models=tuple(map(reported_usage, objects_at(item, "usage"))),
        denied=(),
    )
