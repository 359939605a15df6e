"""Which outcome an attempt has whose supervisor left its report: rules in the order in which they decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runner.clients.client import Ending
from runner.clients.report import counted
from runner.collect.answers import is_somebody_elses
from runner.collect.isolation import isolation_breaches
from runner.collect.observing import store_of
from runner.collect.verdict import Verdict
from runner.core.evidence import SIDECAR, STDERR, STDOUT
from runner.core.launch import MCP_PREFIX
from runner.core.outcomes import Outcome
from runner.core.quantities import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.collect.verdict import Case
    from runner.core.evidence import EngineFacts, ExitReport

# A request that the gateway refused because a limit of the study was reached.
_CAPS: Final = {
    "request_limit": Outcome.CAP_EXCEEDED,
    "cap_exceeded": Outcome.CAP_EXCEEDED,
    "record_limit": Outcome.OUTPUT_LIMIT,
}


def _as_the_supervisor_says(_case: Case, report: ExitReport) -> Verdict | None:
    match report.ended_by:
        case "cancelled":
            return Verdict(Outcome.CANCELLED, report.detail or "the trial container was asked to end")
        case "not_ready":
            return Verdict(Outcome.INFRASTRUCTURE, report.detail or "the pod was not ready in time")
        case "spawn_failed":
            return Verdict(Outcome.INFRASTRUCTURE, report.detail or "the client could not be started")
        case "exit" | "deadline" | "output_limit":
            return None


def _unless_evidence_is_whole(case: Case, report: ExitReport) -> Verdict | None:
    """Every file is there and as long as its writer says, and nothing says that isolation was broken."""
    documents = case.documents
    for name, kept in ((STDOUT, report.stdout_bytes), (STDERR, report.stderr_bytes)):
        if name not in case.files:
            return _invalid(f"{name} is missing")
        if len(case.files[name]) != kept:
            return _invalid(f"{name} holds {len(case.files[name])} bytes, the supervisor kept {kept}")
    if isinstance(documents.exchanges, Unavailable):
        return _invalid(documents.exchanges.reason)
    if documents.exchanges.damage:
        damage = documents.exchanges.damage[0]
        return _invalid(f"exchanges.jsonl is damaged in line {damage.line}: {damage.reason}")
    if case.engine.sidecar is not None and isinstance(documents.sidecar, Unavailable):
        return _invalid(documents.sidecar.reason)
    if case.expectation.prints_store and isinstance(store := store_of(case.files.get(SIDECAR, b"")), Unavailable):
        return _invalid(store.reason)
    breaches = isolation_breaches(
        case.engine, report, joins_sidecar=case.expectation.sidecar, goes_out=case.expectation.goes_out
    )
    return _invalid("; ".join(breaches)) if breaches else None


def _unless_contaminated(case: Case, _report: ExitReport) -> Verdict | None:
    """The attempt met nothing that its arm doesn't declare."""
    declared = {server.name for server in case.expectation.mcp_servers}
    for start in case.said.starts:
        servers = {server.name for server in start.servers}
        servers |= {tool.split("__")[1] for tool in start.tools if tool.startswith(MCP_PREFIX)}
        if servers - declared:
            return _invalid(f"the client had the MCP server {min(servers - declared)}, which its arm lacks")
    sidecar, exchanges = case.documents.sidecar, case.documents.exchanges
    if not case.expectation.sidecar and not isinstance(sidecar, Unavailable) and sidecar.requests:
        return _invalid(f"the sidecar, which its arm can't reach, had {counted(len(sidecar.requests), 'request')}")
    if not declared and not isinstance(exchanges, Unavailable):
        foreign = [exchange for exchange in exchanges.exchanges if exchange.owner == "memory"]
        if foreign:
            return _invalid(f"{counted(len(foreign), 'request')} with the token of a memory, which its arm lacks")
    return None


def _unless_out_of_memory(case: Case, report: ExitReport) -> Verdict | None:
    """A process of the trial met the memory limit: whichever it was, the client's work was cut into."""
    if report.ended_by != "exit" or not was_out_of_memory(case.engine, report):
        return None
    if report.signal == 9:
        return Verdict(Outcome.OUT_OF_MEMORY, "the kernel killed the client at the memory limit")
    return Verdict(
        Outcome.OUT_OF_MEMORY,
        f"the kernel killed a process of the trial at the memory limit; the client itself {_client_end(report)}",
    )


def _unless_out_of_room(_case: Case, report: ExitReport) -> Verdict | None:
    """What the client could write to had no room left at its end: whatever it says, it wrote more than it may."""
    if not report.full or report.ended_by != "exit":
        return None
    return Verdict(
        Outcome.OUTPUT_LIMIT, f"no room was left in {' and '.join(report.full)}; the client {_client_end(report)}"
    )


def _unless_equipped(case: Case, _report: ExitReport) -> Verdict | None:
    """The client started with every declared server connected and every declared tool at hand."""
    expectation = case.expectation
    wanted = [*expectation.tools, *(tool for server in expectation.mcp_servers for tool in server.tool_names())]
    if not wanted and not expectation.mcp_servers:
        return None
    if not case.said.starts:
        # Whether it was equipped can't be told. A client that ended badly before it said so failed by itself.
        if case.said.ending is Ending.OK:
            return _invalid("the client gave a result and never said that it had started")
        return None
    start = case.said.starts[0]
    states = {server.name: server.status for server in start.servers}
    for server in expectation.mcp_servers:
        state = states.get(server.name, "absent")
        if state != "connected":
            return Verdict(Outcome.INFRASTRUCTURE, f"the MCP server {server.name} wasn't connected: {state}")
    missing = [tool for tool in wanted if tool not in start.tools]
    if missing:
        return Verdict(Outcome.INFRASTRUCTURE, f"the client started without {', '.join(missing)}")
    return None


def _unless_it_diverged(case: Case, _report: ExitReport) -> Verdict | None:
    """A replay answered every request: what follows another conversation than the recorded one says nothing of it."""
    if isinstance(case.documents.exchanges, Unavailable):
        return None
    for exchange in case.documents.exchanges.exchanges:
        if exchange.refused == "not_recorded":
            parts = ", ".join(exchange.difference) or "nothing that can be told"
            return _invalid(f"the cassette doesn't hold request {exchange.seq}, which differs in {parts}")
    return None


def _as_the_limits_say(case: Case, report: ExitReport) -> Verdict | None:
    if report.ended_by == "deadline":
        return Verdict(Outcome.TIMEOUT, report.detail or "the deadline passed")
    if report.ended_by == "output_limit":
        return Verdict(Outcome.OUTPUT_LIMIT, report.detail or "the client wrote more than the study allows")
    if not isinstance(case.documents.exchanges, Unavailable):
        for exchange in case.documents.exchanges.exchanges:
            if exchange.refused in _CAPS:
                why = f" ({', '.join(exchange.difference)})" if exchange.difference else ""
                return Verdict(
                    _CAPS[exchange.refused], f"the gateway refused request {exchange.seq}: {exchange.refused}{why}"
                )
    return None


def was_out_of_memory(engine: EngineFacts, report: ExitReport) -> bool:
    """Whether the kernel killed a process of the trial at the memory limit.

    The kernel's own count decides, and the engine's flag only where there is none: engines were seen to leave the flag
    out for a killed client, and to set it for a container that ended well.
    """
    if report.oom_kills is not None:
        return report.oom_kills > 0
    return engine.trial is not None and engine.trial.oom_killed


def as_the_client_says(case: Case, report: ExitReport) -> Verdict:
    """What the client's own result says, if its exit code doesn't contradict it."""
    said = case.said
    if (report.exit_code is None) == (report.signal is None):
        return _invalid("exit.json gives the client not exactly one of an exit code and a signal")
    match said.ending:
        case Ending.OK:
            return _success(case, report)
        case Ending.CLIENT_ERROR:
            return Verdict(Outcome.CLIENT_ERROR, said.reason)
        case Ending.PROVIDER_ERROR:
            return Verdict(Outcome.PROVIDER_ERROR, said.reason)
        case Ending.CAP:
            return Verdict(Outcome.CAP_EXCEEDED, said.reason)
        case Ending.CONTRADICTORY:
            return _invalid(said.reason)
        case Ending.BY_EXIT_CODE if report.exit_code == 0:
            return Verdict(Outcome.COMPLETED, "")
        case Ending.UNSAID if report.exit_code == 0:
            return _invalid("the client ended with exit code 0 and gave no result")
        case Ending.BY_EXIT_CODE | Ending.UNSAID:
            words = f": {said.reason}" if said.reason else ""
            return Verdict(Outcome.CLIENT_ERROR, f"the client {_client_end(report)}{words}")


def _success(case: Case, report: ExitReport) -> Verdict:
    """A success that neither the exit code nor the gateway contradicts."""
    if report.exit_code != 0:
        return _invalid(f"the client's result is a success, but it {_client_end(report)}")
    if not _asked_a_model(case):
        return _invalid("the client's result is a success, but the gateway saw no request of it")
    if is_somebody_elses(case):
        return _invalid("the last of several results gives an answer that no model gave")
    return Verdict(Outcome.COMPLETED, "")


def _asked_a_model(case: Case) -> bool:
    log = case.documents.exchanges
    return not isinstance(log, Unavailable) and any(
        exchange.owner == "client" and exchange.reached_model() for exchange in log.exchanges
    )


def _client_end(report: ExitReport) -> str:
    return f"ended with exit code {report.exit_code}" if report.signal is None else f"ended with signal {report.signal}"


def _invalid(reason: str) -> Verdict:
    return Verdict(Outcome.EVIDENCE_INVALID, reason)


TRIAL_RULES: Final[tuple[Callable[[Case, ExitReport], Verdict | None], ...]] = (
    _as_the_supervisor_says,
    _unless_evidence_is_whole,
    _unless_contaminated,
    _unless_it_diverged,
    _unless_out_of_memory,
    _unless_out_of_room,
    _unless_equipped,
    _as_the_limits_say,
)
