"""The raw evidence of one attempt becomes its result; nothing but the evidence and what was expected has a say."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.clients.registry import client_of
from runner.clients.report import counted, finding, short
from runner.collect.answers import answer_findings
from runner.collect.charged import charged_microusd
from runner.collect.classification import classify
from runner.collect.documents import Documents, read_documents
from runner.collect.offered import with_start
from runner.collect.timing import timing_of
from runner.collect.trial_rules import was_out_of_memory
from runner.collect.usage import exchange_findings, observed_usage, usage_findings
from runner.collect.verdict import Case, Verdict
from runner.core.canonical import sha256_digest
from runner.core.evidence import STDERR, STDOUT, AttemptEvidence, Exchange, Expectation
from runner.core.findings import FindingKind
from runner.core.outcomes import Outcome
from runner.core.prices import FIXTURE_MODEL
from runner.core.quantities import Quantity, Unavailable
from runner.core.records import NOT_CAPPED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.clients.client import ClientReport
    from runner.core.evidence import Replayed
    from runner.core.records import Finding, Timing, ToolCalls
    from runner.core.usage import ModelUsage


@dataclass(frozen=True)
class AttemptResult:
    """What one attempt came to."""

    outcome: Outcome
    reason: str
    answer: str
    observed: tuple[ModelUsage, ...]
    observed_memory: tuple[ModelUsage, ...]
    charged_microusd: Quantity
    reported: tuple[ModelUsage, ...]
    reported_cost_microusd: Quantity
    turns: Quantity
    tool_calls: tuple[ToolCalls, ...]
    memory_calls: int
    sidecar_requests: int
    timing: Timing
    client_versions: tuple[str, ...]
    findings: tuple[Finding, ...]
    evidence: dict[str, str]
    """Name of each raw file -> its digest."""


def collect_attempt(evidence: AttemptEvidence) -> AttemptResult:
    """The attempt's result; whatever is missing or damaged becomes an outcome and findings, never an error.

    Raises:
        StudyError: no client is of the expected kind.
    """
    files, expectation = evidence.files, evidence.expectation
    documents = read_documents(files)
    client = client_of(expectation.client)
    report = client.parse(files.get(STDOUT, b""), files.get(STDERR, b""))
    report = with_start(report, client, documents, expectation)
    verdict = _verdict(documents, report, evidence)
    asked, sidecar = observed_usage(documents.exchanges, "client"), documents.sidecar
    started = _may_have_asked(documents)
    return AttemptResult(
        outcome=verdict.outcome,
        reason=short(verdict.reason),
        answer=report.answer if verdict.outcome is Outcome.COMPLETED else "",
        observed=asked if started else (),
        observed_memory=observed_usage(documents.exchanges, "memory") if started else (),
        charged_microusd=charged_microusd(documents) if expectation.capped else NOT_CAPPED,
        reported=report.reported,
        reported_cost_microusd=report.cost_microusd,
        turns=report.turns,
        tool_calls=report.tool_calls,
        memory_calls=sum(call.calls for call in report.tool_calls if _is_of_memory(call.name, expectation)),
        sidecar_requests=0 if isinstance(sidecar, Unavailable) else len(sidecar.requests),
        timing=timing_of(documents),
        client_versions=tuple(sorted({start.version for start in report.starts if start.version})),
        findings=(
            *report.findings,
            *_findings(documents, report, expectation, asked),
            *_answer_findings(verdict, documents, report, evidence),
        ),
        evidence={name: sha256_digest(files[name]) for name in sorted(files)},
    )


def _verdict(documents: Documents, report: ClientReport, evidence: AttemptEvidence) -> Verdict:
    if isinstance(documents.engine, Unavailable):
        return Verdict(Outcome.EVIDENCE_INVALID, documents.engine.reason)
    return classify(Case(documents.engine, documents, report, evidence.expectation, evidence.files))


def _answer_findings(
    verdict: Verdict, documents: Documents, report: ClientReport, evidence: AttemptEvidence
) -> Iterator[Finding]:
    if verdict.outcome is Outcome.COMPLETED and not isinstance(documents.engine, Unavailable):
        yield from answer_findings(Case(documents.engine, documents, report, evidence.expectation, evidence.files))


def _may_have_asked(documents: Documents) -> bool:
    """Whether the trial may have started: where the engine says that it never did, nobody could ask a model."""
    engine = documents.engine
    return isinstance(engine, Unavailable) or (engine.trial is not None and engine.trial.was_started())


def _is_of_memory(tool: str, expectation: Expectation) -> bool:
    return any(tool in server.tool_names() for server in expectation.mcp_servers)


def _findings(
    documents: Documents, report: ClientReport, expectation: Expectation, asked: tuple[ModelUsage, ...]
) -> Iterator[Finding]:
    if not isinstance(documents.exchanges, Unavailable):
        exchanges = documents.exchanges.exchanges
        yield from exchange_findings(exchanges)
        of_client = [exchange for exchange in exchanges if exchange.owner == "client"]
        yield from usage_findings(asked, report.reported, of_client)
        yield from _model_findings(_models_asked(of_client, report), expectation)
        for damage in documents.exchanges.damage[:1]:
            yield finding(FindingKind.CORRUPT_LOG, f"exchanges.jsonl line {damage.line}: {damage.reason}")
        if absent := documents.exchanges.absent():
            yield finding(FindingKind.CORRUPT_LOG, f"exchanges.jsonl lacks {_listed(absent)}")
    if not isinstance(documents.sidecar, Unavailable):
        for damage in documents.sidecar.damage[:1]:
            yield finding(FindingKind.CORRUPT_LOG, f"sidecar.jsonl line {damage.line}: {damage.reason}")
    if not isinstance(documents.replayed, Unavailable) and documents.replayed.unasked:
        yield finding(FindingKind.RECORDING_UNASKED, _unasked(documents.replayed))
    yield from _tool_findings(report, expectation)
    yield from _end_findings(documents)


def _unasked(replayed: Replayed) -> str:
    more = ", …" if replayed.unasked > len(replayed.first_unasked) else ""
    first = ", ".join(map(str, replayed.first_unasked))
    return f"{replayed.unasked} of {counted(replayed.entries, 'recorded exchange')} never asked for: {first}{more}"


def _listed(numbers: tuple[int, ...]) -> str:
    return ", ".join(str(number) for number in numbers[:20]) + (", …" if len(numbers) > 20 else "")


def _models_asked(exchanges: Sequence[Exchange], report: ClientReport) -> set[str]:
    """Models that were asked; of those that the client names all but such as it was told by answers."""
    reached = [exchange for exchange in exchanges if exchange.reached_model()]
    asked = {exchange.model_asked for exchange in reached if exchange.model_asked is not None}
    return asked | (set(report.models) - {exchange.model_resolved for exchange in reached})


def _model_findings(models: set[str], expectation: Expectation) -> Iterator[Finding]:
    # A provider may answer an alias with a dated name; the scripted model names itself, and so do summaries.
    dated = re.compile(rf"{re.escape(expectation.model)}-\d{{8}}")
    others = sorted(model for model in models - {expectation.model, FIXTURE_MODEL} if not dated.fullmatch(model))
    if expectation.model and others:
        yield finding(FindingKind.MODEL_REMAPPED, f"{expectation.model} was to be asked, found {', '.join(others)}")


def _tool_findings(report: ClientReport, expectation: Expectation) -> Iterator[Finding]:
    declared = {*expectation.tools, *(tool for server in expectation.mcp_servers for tool in server.tool_names())}
    offered = {tool for start in report.starts for tool in start.tools}
    if offered - declared:
        yield finding(FindingKind.TOOLS_UNDECLARED, ", ".join(sorted(offered - declared)))


def _end_findings(documents: Documents) -> Iterator[Finding]:
    report, engine = documents.exit, documents.engine
    if not isinstance(report, Unavailable):
        if report.killed:
            names = ", ".join(sorted({process.comm for process in report.killed}))
            yield finding(FindingKind.PROCESSES_KILLED, f"{len(report.killed)} outlived the client: {names}")
        if report.stdout_truncated or report.stderr_truncated:
            yield finding(FindingKind.OUTPUT_TRUNCATED, "the client wrote more than was kept")
    if (
        not isinstance(engine, Unavailable)
        and not isinstance(report, Unavailable)
        and was_out_of_memory(engine, report)
    ):
        yield finding(FindingKind.OUT_OF_MEMORY, "the kernel killed a process of the trial at the memory limit")
