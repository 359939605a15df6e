"""Which outcome an attempt has: a list of rules, of which the first that knows an answer decides.

The order is the meaning. What the runner itself did comes first; then what the pod's own services did; then whether the
evidence can be believed; then how the trial container ended; and last of all what the client says. `docs/reference/
outcomes.md` prints the list.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from runner.collect.trial_rules import TRIAL_RULES, as_the_client_says
from runner.collect.verdict import Case, Verdict
from runner.core.evidence import OutcomeHint
from runner.core.outcomes import Outcome
from runner.core.quantities import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.core.evidence import ContainerFacts

_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:Z|\+00:00)")


def classify(case: Case) -> Verdict:
    """The attempt's outcome."""
    for rule in _POD_RULES:
        verdict = rule(case)
        if verdict is not None:
            return verdict
    report = case.documents.exit
    if isinstance(report, Unavailable):
        return _without_a_report(case, report)
    for trial_rule in TRIAL_RULES:
        verdict = trial_rule(case, report)
        if verdict is not None:
            return verdict
    return as_the_client_says(case, report)


def _as_the_runner_says(case: Case) -> Verdict | None:
    detail = case.engine.detail
    match case.engine.outcome_hint:
        case OutcomeHint.CANCELLED:
            return Verdict(Outcome.CANCELLED, detail or "the run was interrupted")
        case OutcomeHint.ENGINE_ERROR:
            return Verdict(Outcome.INFRASTRUCTURE, detail or "the container engine failed")
        case OutcomeHint.GATEWAY_NOT_READY:
            return Verdict(Outcome.GATEWAY_FAILED, detail or "the gateway was not ready in time")
        case OutcomeHint.SIDECAR_NOT_READY:
            return Verdict(Outcome.SIDECAR_FAILED, detail or "the sidecar was not ready in time")
        case OutcomeHint.NONE | OutcomeHint.HOST_DEADLINE:
            return None


def _as_the_services_say(case: Case) -> Verdict | None:
    for name, service, outcome in (
        ("gateway", case.engine.gateway, Outcome.GATEWAY_FAILED),
        ("sidecar", case.engine.sidecar, Outcome.SIDECAR_FAILED),
    ):
        if service is None:
            continue
        if service.oom_killed:
            return Verdict(outcome, f"the {name} reached its memory limit")
        if _ended_before(service, case.engine.trial):
            code = "no exit code" if service.exit_code is None else f"exit code {service.exit_code}"
            return Verdict(outcome, f"the {name} ended before the trial, with {code}{_error_of(service)}")
    return None


def _as_the_host_deadline_says(case: Case) -> Verdict | None:
    if case.engine.outcome_hint is OutcomeHint.HOST_DEADLINE:
        return Verdict(Outcome.TIMEOUT, case.engine.detail or "the host's own deadline passed")
    return None


def _unless_gone(case: Case) -> Verdict | None:
    if not case.engine.gone_proven:
        return Verdict(Outcome.INFRASTRUCTURE, "the trial container was not proven gone before its evidence was read")
    return None


def _without_a_report(case: Case, missing: Unavailable) -> Verdict:
    """Without `exit.json`: by what the engine says of the trial container."""
    trial = case.engine.trial
    if trial is None:
        return Verdict(Outcome.INFRASTRUCTURE, "the trial container was never made")
    if trial.oom_killed:
        return Verdict(Outcome.OUT_OF_MEMORY, f"the memory limit ended the trial container: {missing.reason}")
    if not trial.was_started() or trial.error:
        return Verdict(Outcome.INFRASTRUCTURE, f"the trial container did not start{_error_of(trial)}")
    return Verdict(
        Outcome.EVIDENCE_INVALID, f"the trial container ended with exit code {trial.exit_code}: {missing.reason}"
    )


_POD_RULES: Final[tuple[Callable[[Case], Verdict | None], ...]] = (
    _as_the_runner_says,
    _as_the_services_say,
    _as_the_host_deadline_says,
    _unless_gone,
)


def _error_of(facts: ContainerFacts) -> str:
    return f": {facts.error}" if facts.error else ""


def _ended_before(service: ContainerFacts, trial: ContainerFacts | None) -> bool:
    """Whether the service was over while the trial wasn't."""
    ended = _moment(service.finished_at)
    if ended is None:
        return False
    over = None if trial is None else _moment(trial.finished_at)
    return over is None or ended < over


def _moment(text: str) -> tuple[str, str] | None:
    """An instant that orders as text does, or None for never and for what isn't one."""
    found = _TIME.fullmatch(text)
    if found is None or found[1].startswith("0001-"):
        return None
    return found[1], (found[2] or "").ljust(9, "0")
