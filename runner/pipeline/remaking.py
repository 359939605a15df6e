"""Are the files that follow from an attempt's other evidence what it gives? Those with which it is made again by hand.

A Compose file is a program with the rights of the engine, whoever's run it lies in: what can't be made again of lock,
study, plan and evidence, byte for byte, is no part of a run.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core import layout
from runner.core.errors import EvidenceError, Problem
from runner.core.evidence import COMPOSE, ENGINE, GATEWAY_CONFIG, LAUNCH, RECORDING, EngineFacts
from runner.core.gateway import CA_NAME, GatewayConfig
from runner.core.launch import LaunchSpec, PodLaunch
from runner.core.lock import USER_IMAGE
from runner.core.owner import pod_name, volume_name
from runner.core.secret import Secret
from runner.execute.by_hand import compose_file
from runner.execute.compose_walls import breaches
from runner.execute.order import PodImages, PodOrder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.core.ledger import LedgerLine
    from runner.core.lock import ImagePin, Lock
    from runner.core.plan import PlannedTrial
    from runner.core.resolved import ResolvedStudy

_ROLES: Final = ("gateway", "sidecar", "trial")
_CORPUS: Final = re.compile(r"(?:[A-Za-z0-9][A-Za-z0-9_.-]*)?")
_MOST_NAMED: Final = 3
# Compose reads settings of its own out of a file that begins with a dot, beside the one that it is given.
_SETTINGS: Final = re.compile(r"\..*|.*\.ya?ml", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Remaker:
    """Makes again what the attempts of a run hold beside raw evidence, and says what of it isn't so."""

    lock: Lock
    study: ResolvedStudy
    same_code: bool
    """The code at hand wrote the run; what other code wrote is held to what such a file may ask, where it differs."""

    def problems(self, planned: PlannedTrial, line: LedgerLine, found: Mapping[str, bytes]) -> Iterator[Problem]:
        """What is wrong with the attempt that `line` ends, whose files are `found`."""
        folder = layout.attempt_folder(planned.trial, line.attempt)
        yield from settings_problems(line.files, f"{folder}/{COMPOSE}")
        written = found.get(COMPOSE)
        if written is None:
            return
        name = f"{folder}/{COMPOSE}"
        try:
            if any(written == made for made in self._remade(planned, line.attempt, found)):
                return
        except EvidenceError as error:
            yield Problem(f"it can't be made again: {'; '.join(map(str, error.problems))}", name)
            return
        # An engine may know an image that a registry names by more names than the lock does.
        is_foreign = self.study.arm(planned.arm).image not in {pin.name for pin in self.lock.images}
        if self.same_code and not is_foreign:
            yield Problem("differs from what lock, study and the attempt's other evidence give", name)
            return
        asked = [*itertools.islice(breaches(written), _MOST_NAMED)]
        if asked:
            yield Problem(f"it asks what no file of this program asks of an engine: {', '.join(asked)}", name)

    def _remade(self, planned: PlannedTrial, attempt: int, found: Mapping[str, bytes]) -> Iterator[bytes]:
        """The file, for each way in which an engine may have called the images; the usual one first."""
        facts = EngineFacts.from_bytes(found.get(ENGINE, b""), ENGINE)
        seen = {role: getattr(facts, role) for role in _ROLES}
        identities = {role: one.image for role, one in seen.items() if one is not None}
        names = self._image_names(planned, identities)
        usual = [tuple(each) for each in zip(*names, strict=True)]
        others = (each for each in itertools.product(*names) if each not in usual)
        gateway = GatewayConfig.from_bytes(found.get(GATEWAY_CONFIG, b""), GATEWAY_CONFIG)
        launch = PodLaunch(LaunchSpec.from_bytes(found.get(LAUNCH, b""), LAUNCH), ())
        for images in dict.fromkeys(itertools.chain(usual, others)):
            order = self._order(planned, attempt, PodImages(*images), gateway, launch)
            yield compose_file(order, identities, recorded=RECORDING in found)

    def _image_names(self, planned: PlannedTrial, identities: Mapping[str, str]) -> list[tuple[str, str, str]]:
        pins = {pin.name: pin for pin in self.lock.images}
        image = self.study.arm(planned.arm).image
        if image in pins:
            trial = _names(pins[image])
        else:
            identity = identities.get("trial", image)
            trial = (image, identity, f"{USER_IMAGE}:{identity.removeprefix('sha256:')}")
        try:
            return [_names(pins["gateway"]), _names(pins["qdrant"]), trial]
        except KeyError as error:
            raise EvidenceError(f"it names no image {error}", document=layout.LOCK, key="images") from error

    def _order(
        self, planned: PlannedTrial, attempt: int, images: PodImages, gateway: GatewayConfig, launch: PodLaunch
    ) -> PodOrder:
        study, run = self.study, self.lock.run
        arm, task = study.arm(planned.arm), study.task(planned.task)
        if not _CORPUS.fullmatch(task.corpus):
            raise EvidenceError(f"{task.corpus!r} can't be the name of a corpus", document=layout.STUDY)
        goes_out = study.model.goes_out
        return PodOrder(
            planned=planned,
            attempt=attempt,
            prefix=pod_name(run, planned.sequence, attempt),
            labels={},
            images=images,
            launch=launch,
            gateway=gateway,
            joins_sidecar=arm.sidecar,
            workspace_volume=volume_name(run, task.corpus, "workspace"),
            index_volume=volume_name(run, task.corpus, "index"),
            corpus=task.corpus,
            limits=study.limits,
            gateway_files={CA_NAME: b""} if study.model_ca else {},
            prints_store=task.cases is not None,
            # That there was one is all that the file says of it.
            key=Secret("") if goes_out else None,
        )


def settings_problems(names: Mapping[str, str], own: str = "") -> Iterator[Problem]:
    """Files among evidence that `names` holds and that tell docker-compose something, but for the attempt's `own`."""
    for name in names:
        if name != own and name.startswith(f"{layout.TRIALS}/") and _SETTINGS.fullmatch(name.rpartition("/")[2]):
            yield Problem("no attempt leaves such a file", name)


def _names(pin: ImagePin) -> tuple[str, str, str]:
    return pin.tag, pin.config_digest, pin.manifest_digest
