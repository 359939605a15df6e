"""Can a run be rerun here, and what would differ? Everything that stands against it is said at once.

Nothing is started or written by it. How the run's images would be started is looked at last, when nothing else stands
against it: the engine is given them for that where it hasn't got them.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from runner.core import layout
from runner.core.errors import EnvironmentNotReady, Problem, StudyError
from runner.core.harness import REQUIREMENTS
from runner.pipeline import occasions
from runner.pipeline.image_fitness import brought_along, unfit_problems
from runner.pipeline.manners import Manner, manner_of
from runner.pipeline.pinning import absent, located
from runner.pipeline.preflight import foreign_image_problems, looked_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from runner.core.lock import ImagePin
    from runner.core.resolved import ResolvedStudy
    from runner.pipeline.folder import Run
    from runner.pipeline.occasions import Difference
    from runner.pipeline.originals import Original
    from runner.pipeline.world import World
    from runner.ports.engine import Engine, EngineInfo

_PYTHON: Final = "harness.python"
_OWN_CODE: Final = "rerun it with its own code: {own}; or with this code, whose figures may be others: --this-code"


@dataclass(frozen=True)
class Asked:
    """What whoever reruns a run may ask for."""

    live: bool = False
    """To measure afresh, with the provider's key."""
    this_code: bool = False
    """To go on though the code at hand isn't the run's."""
    slots: int | None = None
    """How many pods run at once; None: as many as in the original."""


@dataclass(frozen=True)
class Shelf:
    """What a rerun may take from where its original came from: an archive, or nothing but the run's own folder."""

    pins: tuple[ImagePin, ...] = ()
    """Images."""
    chunks: Callable[[Sequence[ImagePin]], Iterable[bytes]] = lambda _pins: ()
    """What an engine loads to hold these images."""
    own_code: str = ""
    """What starts the code of the run where it came with an image to run it in; "" where it didn't."""

    def holds(self, pin: ImagePin) -> bool:
        """Whether the very image that `pin` names is here."""
        return any(pin.config_digest == held.config_digest and pin.diff_ids == held.diff_ids for held in self.pins)

    def foreign(self, reference: str) -> ImagePin | None:
        """The image that an arm names by a registry's digest, under that name."""
        held = next((held for held in self.pins if reference in {held.name, held.tag}), None)
        return None if held is None else held.model_copy(update={"name": reference})


@dataclass(frozen=True)
class Fit:
    """How an original is rerun here."""

    engine: Engine
    info: EngineInfo
    manner: Manner
    notices: tuple[str, ...]
    """What differs from the original's occasion, or can't be promised."""
    detail: Mapping[str, str] = field(default_factory=dict)
    """What differs, as the ledger tells it."""


def fit_of(world: World, original: Original, asked: Asked, shelf: Shelf) -> Fit:
    """How `original` is rerun here, as `asked` for.

    Raises:
        StudyError: it can't be rerun in this way, with everything else that stands against it; or no trial may run in
            its images.
        EnvironmentNotReady: something is missing or can't be honoured here; all of it.
        EvidenceError: the original's cassette or contract is damaged.
    """
    run = original.run
    wrong: list[Problem] = []
    manner = Manner("again", run.study)
    try:
        manner = manner_of(world.files, run, live=asked.live)
    except StudyError as error:
        wrong += error.problems
    manner = replace(manner, study=_with_slots(manner.study, asked.slots))
    differences = _declared(run.study, manner.study)
    code = [*occasions.code_differences(run.lock, world.harness), *occasions.launch_differences(run.lock, manner.study)]
    machine = looked_at(world, manner.study, layout.STUDY, len(run.plan.trials))
    missing = [*machine.problems, *(() if asked.this_code else _code_problems(code, shelf.own_code or own_code(run)))]
    notices: list[str] = []
    differences += code
    if machine.answers is not None:
        engine, info = machine.answers
        missing += [
            *occasions.engine_problems(run.lock, info),
            *occasions.room_problems(manner.study, info),
            *_image_problems(engine, run, shelf),
        ]
        differences += occasions.engine_differences(run.lock, info)
        notices += occasions.room_notices(manner.study, info)
    if wrong:
        raise StudyError.of([*wrong, *missing])
    if machine.answers is None or missing:
        raise EnvironmentNotReady.of(missing)
    unfit = [*_unfit_problems(world, machine.answers[0], run, shelf)]
    if unfit:
        raise StudyError.of(unfit)
    notices += occasions.evidence_notices(world.files, run, manner)
    return Fit(
        *machine.answers,
        manner=manner,
        notices=(*map(str, differences), *notices),
        detail=occasions.as_detail(differences),
    )


def _with_slots(study: ResolvedStudy, slots: int | None) -> ResolvedStudy:
    if slots is None:
        return study
    return study.model_copy(update={"schedule": study.schedule.model_copy(update={"slots": slots})})


def _declared(before: ResolvedStudy, now: ResolvedStudy) -> list[Difference]:
    """What of the study isn't as it was declared, besides who plays the model."""
    was, now_is = (str(study.schedule.slots) for study in (before, now))
    return [] if was == now_is else [occasions.Difference("study.schedule.slots", was, now_is)]


def own_code(run: Run) -> str:
    """What installs the code that `run` keeps, in a folder CODE, and reruns it there."""
    kept = [name for name in run.ledger.other_files if name.startswith(f"{layout.HARNESS}/")]
    wheel = next((name for name in kept if name.endswith(".whl")), None)
    if wheel is None:
        return f"pairbench {run.lock.harness.version}, which the run doesn't keep"
    folder, package, needs = (
        shlex.quote(str(place))
        for place in (run.folder, run.folder / wheel, run.folder / layout.HARNESS / REQUIREMENTS)
    )
    return (
        f"python3 -m venv CODE && CODE/bin/pip install -r {needs} && CODE/bin/pip install --no-deps {package} && "
        f"CODE/bin/pairbench rerun {folder}"
    )


def _code_problems(differences: Sequence[Difference], own: str) -> Iterator[Problem]:
    """That the code at hand isn't the run's, and what it would do otherwise; `own` starts the run's."""
    for number, one in enumerate(one for one in differences if one.key != _PYTHON):
        hint = "" if number else _OWN_CODE.format(own=own)
        yield Problem(f"it was {one.before}, and is {one.now}", layout.LOCK, one.key, hint)


def _image_problems(engine: Engine, run: Run, shelf: Shelf) -> Iterator[Problem]:
    """Every image that the engine hasn't got and nobody brings."""
    for pin in run.lock.images:
        if not shelf.holds(pin) and located(engine, pin) is None:
            yield absent(pin)
    brought = {pin.name for pin in run.lock.images} | {
        arm.image for arm in run.study.arms if shelf.foreign(arm.image) is not None
    }
    yield from foreign_image_problems(engine, run.study, layout.STUDY, brought)


def _unfit_problems(world: World, engine: Engine, run: Run, shelf: Shelf) -> Iterator[Problem]:
    """Why no trial can run in the images of `run`, which the engine is given where it hasn't got them."""
    pins = {pin.name: pin for pin in run.lock.images}
    named = {image for image in brought_along(run) if image not in pins and engine.image(image) is not None}
    foreign = {image: shelf.foreign(image) for image in brought_along(run).keys() - pins.keys() - named}
    pins |= {image: held for image, held in foreign.items() if held is not None}
    missing = [pin for pin in pins.values() if located(engine, pin) is None]
    if missing:
        world.progress.step(f"loading {', '.join(pin.name for pin in missing)} into the engine")
        engine.load_images(shelf.chunks(missing))
    there = {image: image for image in named}
    # What the engine was given and hasn't got is another image than the lock's: that is said of all of them later.
    there |= {name: found for name, pin in pins.items() if (found := located(engine, pin)) is not None}
    yield from unfit_problems(engine, run, there, world.owner.labels(run.lock.run))
