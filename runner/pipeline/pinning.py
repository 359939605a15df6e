"""What a lock says of an engine, of arms and of images, and how an engine calls the images that a lock pins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.clients.launching import ANY_OCCASION, arm_difference, launch_of
from runner.core import layout
from runner.core.errors import Problem
from runner.core.lock import ArmPin, EnginePin

if TYPE_CHECKING:
    from runner.core.lock import ImagePin
    from runner.core.resolved import ResolvedStudy
    from runner.ports.engine import Engine, EngineInfo


def engine_pin(info: EngineInfo) -> EnginePin:
    """What a lock says of the engine that answers."""
    return EnginePin(**{name: getattr(info, name) for name in EnginePin.model_fields})


def arm_pins(study: ResolvedStudy) -> tuple[ArmPin, ...]:
    """What a lock says of the arms of `study`, as this code launches them.

    Raises:
        StudyError: an arm can't be launched.
    """
    return tuple(
        ArmPin(
            name=arm.name,
            launch_sha256=launch_of(study, arm, ANY_OCCASION).spec.digest(),
            difference=arm_difference(study, arm),
        )
        for arm in study.arms
    )


def located(engine: Engine, pin: ImagePin) -> str | None:
    """What the engine calls the image that `pin` names, by its digests and its layers; None where it hasn't got it.

    A tag may have moved on to another image, and an engine that was given an image without its tag knows its id only.
    """
    for reference in (pin.tag, pin.config_digest, pin.manifest_digest):
        facts = engine.image(reference) if reference else None
        if (
            facts is not None
            and facts.identity in {pin.config_digest, pin.manifest_digest}
            and tuple(facts.diff_ids) == pin.diff_ids
        ):
            return reference
    return None


def absent(pin: ImagePin) -> Problem:
    """That the engine hasn't got the image that `pin` names, which isn't to be built, and what to do about it."""
    way = "load it from an archive that holds it (`pairbench images load FILE`)"
    if pin.is_users:
        other = f", or bring it as the study did (`docker pull {pin.name}`)" if "@" in pin.name else ""
    else:
        other = f", or see whether today's inputs still give it (`pairbench images build {pin.name}`)"
    return Problem(
        f"the engine hasn't got the image {pin.name}, {pin.config_digest}, and nothing is built here",
        layout.LOCK,
        f"images.{pin.name}",
        way + other,
    )
