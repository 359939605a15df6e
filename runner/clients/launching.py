"""What a study, an arm and a task launch: the one place where declarations become a client's launch.

Labels never come near it: a task here is an id, a corpus and a prompt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.clients.registry import client_of
from runner.core.canonical import digest_of
from runner.core.errors import Problem, StudyError
from runner.core.evidence import Expectation
from runner.core.launch import LaunchLimits, LaunchRequest, McpServer, ReconsolidationAsk, RetrievalAsk, session_id_of
from runner.core.launch_difference import launch_difference
from runner.core.systems import Bm25System, ReconsolidationProgram, Reconsolidator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.core.launch import PodLaunch
    from runner.core.model_script import ModelScript
    from runner.core.resolved import ResolvedArm, ResolvedCases, ResolvedQuery, ResolvedStudy
    from runner.core.systems import System

SIDECAR_READY_URL: Final = "http://127.0.0.1:6333/readyz"
_PLACEHOLDER: Final = "placeholder"
_VERSION_COMMANDS: Final = {
    "claude-code": ("/opt/claude/claude", "--version"),
    "codex": ("/opt/codex/bin/codex", "--version"),
    "messages": ("python3", "/opt/pairbench/messages/main.py", "--version"),
    "reconsolidation": ("python3", "/opt/pairbench/reconsolidator/main.py", "--version"),
    "retrieval": ("python3", "/opt/pairbench/retrieval/main.py", "--version"),
}


@dataclass(frozen=True)
class Occasion:
    """What tells one launch of an arm from another."""

    trial: str
    prompt: str
    client_token: str
    memory_token: str
    queries: tuple[ResolvedQuery, ...] = ()
    cases: ResolvedCases | None = None


ANY_OCCASION: Final = Occasion(_PLACEHOLDER, _PLACEHOLDER, "<client token>", "<memory token>")
"""An occasion that isn't run: two arms' launches of it differ in their treatments only."""


def launch_of(study: ResolvedStudy, arm: ResolvedArm, occasion: Occasion) -> PodLaunch:
    """The launch of the study's client in `arm`; raises `StudyError` when it can't be started so."""
    client, limits = study.client, study.limits
    request = LaunchRequest(
        prompt=occasion.prompt,
        limits=LaunchLimits(
            deadline_ms=1000 * limits.wall_s,
            grace_ms=1000 * limits.grace_s,
            ready_ms=1000 * limits.ready_s,
            stdout_limit_bytes=limits.stdout_bytes,
            stderr_limit_bytes=limits.stderr_bytes,
        ),
        gateway_token=occasion.client_token,
        memory_token=occasion.memory_token,
        session_id=session_id_of(occasion.trial),
        model=client.model,
        tools=client.tools,
        mcp_servers=_servers(arm),
        instructions=_joined(study.client_instructions, arm.instructions),
        env={**client.env, **arm.env},
        max_turns=client.max_turns,
        max_output_tokens=study.told_output_tokens,
        sidecar_ready_url=SIDECAR_READY_URL if arm.sidecar else "",
        command=client.command,
        effort=client.effort,
        retrieval=_retrieval(study, arm, occasion),
        reconsolidation=_reconsolidation(study, arm, occasion),
    )
    return client_of(client.kind).launch(request)


def expectation_of(study: ResolvedStudy, arm: ResolvedArm) -> Expectation:
    """What a trial of `arm` should have worked with."""
    client = study.client
    return Expectation(
        client=client.kind,
        model=client.model,
        tools=client.tools,
        mcp_servers=_servers(arm),
        sidecar=arm.sidecar,
        goes_out=study.model.goes_out,
        capped=study.caps.capped,
        prints_store=study.client.kind == "reconsolidation",
    )


def arm_difference(study: ResolvedStudy, arm: ResolvedArm) -> tuple[str, ...]:
    """What differs between the control and `arm`, in launch and pod, a line each; nothing for the control itself."""
    control = study.arm(study.control)
    lines = list(launch_difference(launch_of(study, control, ANY_OCCASION), launch_of(study, arm, ANY_OCCASION)))
    if control.sidecar != arm.sidecar:
        lines.append("+ pod: within reach of the sidecar" if arm.sidecar else "- pod: within reach of the sidecar")
    if control.script != arm.script:
        # A fixture's arm is who answers it, too: without this line two of them would seem to be one.
        played = [_digest(one.script) for one in (control, arm)]
        lines += [f"{sign} model: script {digest}" for sign, digest in zip("-+", played, strict=True) if digest]
    if control.image != arm.image:
        lines += [f"- pod: image {control.image}", f"+ pod: image {arm.image}"]
    return tuple(lines)


def undeclared_differences(study: ResolvedStudy, document: str) -> Iterator[Problem]:
    """Whatever would still differ between two arms if neither declared anything: there should be nothing.

    A study whose client can't be launched has no arms to compare: whoever launches it says why.
    """
    plain = [_plain(arm) for arm in study.arms]
    try:
        launches = [launch_of(study, arm, ANY_OCCASION) for arm in plain]
    except StudyError:
        return
    for arm, launch in zip(plain[1:], launches[1:], strict=True):
        for line in launch_difference(launches[0], launch):
            yield Problem(f"differs in more than it declares: {line}", document, f"arms.{arm.name}")


def version_command(kind: str) -> tuple[str, ...]:
    """What prints the version of a client of this kind in its image; nothing for one that has none."""
    return _VERSION_COMMANDS.get(kind, ())


def _plain(arm: ResolvedArm) -> ResolvedArm:
    plain = {"instructions": "", "env": {}, "sidecar": False, "mcp_servers": ()}
    if arm.system is None:
        return arm.model_copy(update=plain)
    # What such a study compares is declared too; without one its client can't be launched.
    same: System = (
        Bm25System(kind="bm25")
        if arm.system.is_retrieval
        else Reconsolidator(kind="reconsolidator", mode="original_only")
    )
    return arm.model_copy(update={**plain, "system": same})


def _retrieval(study: ResolvedStudy, arm: ResolvedArm, occasion: Occasion) -> RetrievalAsk | None:
    client = study.client
    if client.kind != "retrieval" or arm.system is None or not arm.system.is_retrieval:
        return None
    return RetrievalAsk(arm.system, client.depth, client.threads, client.warmup, occasion.queries)


def _reconsolidation(study: ResolvedStudy, arm: ResolvedArm, occasion: Occasion) -> ReconsolidationAsk | None:
    client, system, given = study.client, arm.system, occasion.cases
    if client.kind != "reconsolidation" or not isinstance(system, Reconsolidator | ReconsolidationProgram):
        return None
    if given is None:
        return ReconsolidationAsk(system, "", 1, client.threads, ())
    return ReconsolidationAsk(system, given.clock, given.recall_budget.facts, client.threads, given.cases)


def _digest(script: ModelScript | None) -> str:
    return "" if script is None else digest_of(script.json_value())


def _servers(arm: ResolvedArm) -> tuple[McpServer, ...]:
    return tuple(McpServer(server.name, server.command, server.env, server.tools) for server in arm.mcp_servers)


def _joined(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text)
