"""The order of one attempt's pod, for whoever tests pods without a study."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runner.clients.registry import client_of
from runner.core.gateway import EVIDENCE_FOLDER, GatewayConfig, PolicyChoice, Tokens
from runner.core.launch import GATEWAY_SOCKET, LaunchLimits, LaunchRequest, session_id_of
from runner.core.owner import RUN
from runner.core.plan import PlannedTrial
from runner.core.resolved import ResolvedArm, ResolvedStudy, ResolvedTask
from runner.core.study import Caps, ClaudeCodeClient, Limits
from runner.execute.order import PodImages, PodOrder
from runner.ports.engine import ImageFacts
from tests.fakes.engine import FakeEngine

if TYPE_CHECKING:
    from runner.core.study import Client
    from tests.fakes.pods import Pods

RUN_NAME = "demo-1"
WORKSPACE, INDEX = "pairbench-demo-1-notes-workspace", "pairbench-demo-1-notes-index"
LIMITS = Limits(wall_s=20, grace_s=2)


def planned(
    arm: str = "off", *, task: str = "first", repetition: int = 1, position: int = 0, sequence: int = 0
) -> PlannedTrial:
    """One trial of a plan."""
    return PlannedTrial(
        trial=f"{task}.r{repetition}.{arm}",
        block=f"{task}.r{repetition}",
        task=task,
        arm=arm,
        repetition=repetition,
        position=position,
        sequence=sequence,
    )


def capped_study(
    caps: Caps, model: str = "claude-sonnet-4-5", *, client: Client | None = None, prompts: tuple[str, ...] = ("?",)
) -> ResolvedStudy:
    """As much of a study as caps look at: two arms, the second with instructions of 1,000 bytes, tasks `t1`, `t2`, ..."""
    plain = dict[str, Any](description="", image="trial", env={}, sidecar=False, mcp_servers=())
    arms = [ResolvedArm(name=name, instructions=text, **plain) for name, text in (("off", ""), ("told", "x" * 1000))]
    tasks = [ResolvedTask(id=f"t{n}", corpus="c", prompt=prompt, tags=()) for n, prompt in enumerate(prompts, 1)]
    # The rest isn't there: whoever looks at more than caps do meets an error.
    return ResolvedStudy.model_construct(
        **dict[str, Any](
            caps=caps,
            client=client or ClaudeCodeClient(kind="claude-code", model=model),
            client_instructions="",
            arms=tuple(arms),
            tasks=tuple(tasks),
        )
    )


def order(trial: PlannedTrial, attempt: int = 1, *, joins_sidecar: bool = False) -> PodOrder:
    """What the pod of one attempt is made of."""
    tokens = Tokens(client=f"client-{trial.trial}-{attempt}", memory=f"memory-{trial.trial}-{attempt}")
    request = LaunchRequest(
        prompt="What is planned?",
        limits=LaunchLimits(20_000, 2_000, 15_000, LIMITS.stdout_bytes, LIMITS.stderr_bytes),
        gateway_token=tokens.client,
        memory_token=tokens.memory,
        session_id=session_id_of(trial.trial),
        command=("/bin/answer",),
    )
    return PodOrder(
        planned=trial,
        attempt=attempt,
        prefix=f"pairbench-{RUN_NAME}-{trial.sequence}-{attempt}",
        labels={RUN: RUN_NAME},
        images=PodImages("gateway", "sidecar", "trial"),
        launch=client_of("command").launch(request),
        gateway=GatewayConfig(
            mode="scripted",
            socket=GATEWAY_SOCKET,
            evidence_dir=EVIDENCE_FOLDER,
            tokens=tokens,
            policy=PolicyChoice(name="plain-agent", version=1),
            seed="demo",
            record_limit_bytes=LIMITS.record_bytes,
            request_limit=LIMITS.requests,
        ),
        joins_sidecar=joins_sidecar,
        workspace_volume=WORKSPACE,
        index_volume=INDEX,
        corpus="notes",
        limits=LIMITS,
    )


def pod_engine(pods: Pods) -> FakeEngine:
    """An engine that has the images of pods, and one filled index and workspace."""
    images = {name: ImageFacts(f"sha256:{name}", (), "amd64") for name in ("gateway", "sidecar", "trial")}
    engine = FakeEngine(pods, images=images)
    for name in (WORKSPACE, INDEX):
        engine.create_volume(name, {})
    engine.lay_out(INDEX, {"index": b"an index"})
    engine.lay_out(WORKSPACE, {"notes/plan.md": b"We move.\n"})
    engine.calls.clear()
    return engine
