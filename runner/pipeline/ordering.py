"""What one attempt's pod is made of: names, volumes, tokens, and what its gateway is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runner.clients.launching import Occasion, launch_of
from runner.core.gateway import (
    CA_NAME,
    CASSETTE_NAME,
    EVIDENCE_FOLDER,
    KEY_FOLDER,
    KEY_NAME,
    GatewayConfig,
    Tokens,
    UpstreamPart,
    policy_for,
)
from runner.core.launch import GATEWAY_SOCKET
from runner.core.masks import MASKS
from runner.core.owner import pod_name, volume_name
from runner.core.spending import UNCAPPED_MICROUSD, spending_for
from runner.execute.order import PodImages, PodOrder
from runner.execute.schedule import Standing

if TYPE_CHECKING:
    from runner.core.gateway import SpendingPart
    from runner.core.masks import Mask
    from runner.core.plan import PlannedTrial
    from runner.core.resolved import ResolvedArm
    from runner.execute.purse import Purse
    from runner.pipeline.ready import Ready
    from runner.pipeline.world import World


@dataclass(frozen=True)
class Orders:
    """Makes the order of each attempt: what differs between two attempts of a trial are its tokens and its names."""

    world: World
    ready: Ready
    purse: Purse
    _unknown: Standing = field(default_factory=Standing)

    def order(self, planned: PlannedTrial, attempt: int) -> PodOrder:
        """The order of one attempt, with fresh tokens; it may wait for money that other attempts hold."""
        study, run = self.ready.study, self.ready.lock.run
        arm, task = study.arm(planned.arm), study.task(planned.task)
        tokens = Tokens(client=self.world.entropy.token(), memory=self.world.entropy.token())
        occasion = Occasion(planned.trial, task.prompt, tokens.client, tokens.memory, task.queries, task.cases)
        goes_out = study.model.goes_out
        return PodOrder(
            planned=planned,
            attempt=attempt,
            prefix=pod_name(run, planned.sequence, attempt),
            labels=self.world.owner.labels(run),
            images=self._images(arm),
            launch=launch_of(study, arm, occasion),
            gateway=self._gateway(planned, attempt, tokens),
            joins_sidecar=arm.sidecar,
            workspace_volume=volume_name(run, task.corpus, "workspace"),
            index_volume=volume_name(run, task.corpus, "index"),
            corpus=task.corpus,
            limits=study.limits,
            gateway_files=self._gateway_files(planned),
            prints_store=task.cases is not None,
            network=network_name(run) if goes_out else None,
            key=self.world.provider_key() if goes_out else None,
        )

    def _gateway(self, planned: PlannedTrial, attempt: int, tokens: Tokens) -> GatewayConfig:
        study, task = self.ready.study, self.ready.study.task(planned.task)
        model, script = study.model, study.arm(planned.arm).script or task.script
        compares = model.record or model.mode == "replay"
        return GatewayConfig(
            mode=model.mode,
            socket=GATEWAY_SOCKET,
            evidence_dir=EVIDENCE_FOLDER,
            tokens=tokens,
            policy=policy_for(model, script),
            # No arm in the seed: the same conversation gets the same identifiers in every arm.
            seed=f"{study.seed}/{planned.block}",
            record_limit_bytes=study.limits.record_bytes,
            request_limit=study.limits.requests,
            script=script,
            upstream=UpstreamPart(
                base_url=model.base_url,
                auth=model.auth,
                ca_file=f"/in/{CA_NAME}" if study.model_ca else None,
                key_file=f"{KEY_FOLDER}/{KEY_NAME}",
            )
            if model.goes_out
            else None,
            cassette=f"/in/{CASSETTE_NAME}" if model.mode == "replay" else None,
            timed=model.timed,
            recording=model.record,
            bodies=model.bodies,
            masks=self._masks() if compares else (),
            spending=self._spending(planned, attempt),
        )

    def _masks(self) -> tuple[Mask, ...]:
        """A replay masks what its recording did."""
        return MASKS if self.ready.cassette is None else self.ready.cassette.header.masks

    def _spending(self, planned: PlannedTrial, attempt: int) -> SpendingPart | None:
        study = self.ready.study
        if not study.caps.capped:
            return None
        first = self.ready.standings.get(planned.trial, self._unknown).next_attempt
        # Another attempt is made by the slot itself, whose next pod may hold what it would wait for.
        grant = self.purse.grant(planned, attempt, waits=attempt == first)
        if grant is None:
            return spending_for(study, self.ready.prices, UNCAPPED_MICROUSD, "trial")
        return spending_for(study, self.ready.prices, grant.microusd, grant.of)

    def _gateway_files(self, planned: PlannedTrial) -> dict[str, bytes]:
        files: dict[str, bytes] = {}
        if self.ready.study.model_ca:
            files[CA_NAME] = self.ready.study.model_ca.encode("utf-8")
        if self.ready.cassette is not None:
            files[CASSETTE_NAME] = self.ready.cassette.of_trial(planned)
        return files

    def _images(self, arm: ResolvedArm) -> PodImages:
        images = self.ready.images
        return PodImages(images["gateway"], images["qdrant"], images.get(arm.image, arm.image))


def network_name(run: str) -> str:
    """The network of a run's gateways; its name says nothing of the run."""
    return volume_name(run, "network")
