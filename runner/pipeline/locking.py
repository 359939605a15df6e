"""A study becomes a run's folder: everything read, laid out, indexed and pinned, before anything is spent."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from runner.archives.harness import harness_inputs
from runner.clients.launching import ANY_OCCASION, arm_difference, launch_of, undeclared_differences, version_command
from runner.core import layout
from runner.core.canonical import sha256_digest
from runner.core.cassette import read_cassette
from runner.core.errors import EngineError, EnvironmentNotReady, Problem, StudyError
from runner.core.labels import source_problems
from runner.core.lock import PROTOCOL_VERSION, CorpusPin, Lock
from runner.core.owner import ROLE
from runner.core.plan import make_plan
from runner.core.prices import FIXTURE_MODEL
from runner.core.retrieval.queries import ResolvedQuerySet
from runner.core.spending import cap_problems
from runner.core.tars import tar_of
from runner.images.spec import pod_image_names
from runner.pipeline import imaging
from runner.pipeline.contracts import floor_files, freeze_contract
from runner.pipeline.pinning import arm_pins, engine_pin
from runner.pipeline.preflight import ready_engine
from runner.pipeline.querying import query_inputs, query_set_pins, resolved_query_sets, retrieval_gate_problems
from runner.pipeline.user_images import user_images
from runner.plan.corpora import CorpusReader
from runner.plan.index import Images, Indexer
from runner.plan.load import read_study
from runner.plan.reconsolidation import read_reconsolidation
from runner.plan.reconsolidation_studies import agreed_problems
from runner.ports.engine import ContainerSpec, Tmpfs

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from runner.core.lock import HarnessPin, ImagePin
    from runner.core.plan import Plan
    from runner.core.reconsolidation.contract import Contract
    from runner.core.resolved import ResolvedStudy
    from runner.images.oci import BuiltImage
    from runner.pipeline.world import World
    from runner.plan.corpora import Corpus
    from runner.plan.index import Index
    from runner.plan.load import LoadedStudy, ReadStudy
    from runner.plan.reconsolidation import FrozenCorpus
    from runner.ports.engine import Engine, EngineInfo

_MIB: Final = 1 << 20
_VERSION_MS: Final = 60_000
_BY_DIGEST: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]*@sha256:[0-9a-f]{64}")


@dataclass(frozen=True)
class Planned:
    """A study that was read and found right, its corpora and its plan; nothing was built for it."""

    loaded: LoadedStudy
    corpora: Mapping[str, Corpus]
    plan: Plan
    query_sets: Mapping[str, ResolvedQuerySet]
    """Task -> what it asks, with its labels; only of a retrieval study."""
    reconsolidation: FrozenCorpus | None = None
    """Cases with their labels; only of a reconsolidation study."""
    contract: Contract | None = None
    """What is agreed on about its review."""
    floors: Mapping[str, bytes] = field(default_factory=dict)
    """Name in the run's folder -> a file with a floor of the contract."""

    @property
    def study(self) -> ResolvedStudy:
        """The study."""
        return self.loaded.study


@dataclass(frozen=True)
class Locked:
    """A study that is ready to run: what was built for it, and the lock that pins it."""

    planned: Planned
    images: Mapping[str, BuiltImage]
    indexes: Mapping[str, Index]
    lock: Lock


def plan_study(world: World, path: Path) -> Planned:
    """The plan of the study at `path`; nothing is spent, built or started.

    Raises:
        StudyError: with every problem of the study and its corpora.
        EnvironmentNotReady: a part of a corpus can't be fetched.
    """
    read = read_study(path, world.files)
    problems = list(read.problems)
    corpora, missing = _corpora(world, read, problems)
    loaded, query_sets = read.loaded, dict[str, ResolvedQuerySet]()
    frozen: FrozenCorpus | None = None
    contract: Contract | None = None
    floors: dict[str, bytes] = {}
    # Beyond this, what is wrong with a study would only be said twice.
    if loaded is not None and not problems and missing is None:
        study = loaded.study
        problems += _arm_problems(study, loaded.document, pod_image_names(world.build.images_dir))
        problems += cap_problems(study, loaded.prices, loaded.document)
        if loaded.labels is not None:
            workspaces = {task.id: corpora[task.corpus].contents() for task in study.tasks}
            problems += source_problems(loaded.labels.labels, workspaces, loaded.labels_document)
        query_sets, unfit = resolved_query_sets(loaded, corpora)
        problems += [*unfit, *retrieval_gate_problems(study.gates, query_sets, loaded.document)]
        frozen, contract, floors, unfit = _reviewed(world, loaded)
        problems += unfit
    if loaded is None or problems:
        raise StudyError.of([*problems, *(missing.problems if missing is not None else ())])
    if missing is not None:
        raise missing
    plan = make_plan(
        study=study.name,
        seed=study.seed,
        control=study.control,
        arms=[arm.name for arm in study.arms],
        tasks=[task.id for task in study.tasks],
        repetitions=study.repetitions,
        control_first=study.schedule.control_first,
    )
    return Planned(loaded, corpora, plan, query_sets, frozen, contract, floors)


def _reviewed(
    world: World, loaded: LoadedStudy
) -> tuple[FrozenCorpus | None, Contract | None, dict[str, bytes], list[Problem]]:
    """The corpus, the contract and the floors of a reconsolidation study, and everything that is wrong with them."""
    if loaded.manifest is None:
        return None, None, {}, []
    try:
        frozen = read_reconsolidation(loaded.manifest, world.files, world.sources())
        if loaded.contract is None:
            return frozen, None, {}, []
        contract = freeze_contract(world, loaded.contract)
        floors = floor_files(world, loaded.contract, contract)
    except StudyError as error:
        return None, None, {}, [*error.problems]
    return frozen, contract, floors, [*agreed_problems(loaded.study, contract, loaded.document)]


def lock_study(world: World, planned: Planned, run: str, labels: Mapping[str, str]) -> Locked:
    """Images are built and loaded, indexes made, and everything is pinned; `labels` mark what is made in the engine.

    Raises:
        EnvironmentNotReady: no engine, no disk, or something can't be fetched.
        EvidenceError: something isn't what its lock says.
    """
    engine = ready_engine(world, planned.study, planned.loaded.document, len(planned.plan.trials))
    planned = with_slots(planned, engine)
    study = planned.study
    images = {image.name: image for image in imaging.build(world, _image_names(study))}
    imaging.load(world, engine, tuple(images.values()))
    images |= user_images(world, engine, planned.loaded, images, labels)
    retrieval = images.get("retrieval")
    indexer = Indexer(
        engine=engine,
        files=world.files,
        vectors=world.vectors,
        slots=world.slots,
        progress=world.progress,
        cache=world.places.cache,
        images=Images(
            trial=images["trial"].config_digest,
            sidecar=images["qdrant"].config_digest,
            retrieval=None if retrieval is None else retrieval.config_digest,
        ),
        labels=labels,
        prefix=f"pairbench-{run}",
        embedders=study.schedule.embedders,
    )
    indexes = {name: indexer.index(corpus) for name, corpus in sorted(planned.corpora.items())}
    version = client_version(engine, study, _image_of(study, images), labels, run)
    identity = _Identity(run, world.clock.utc(), version, world.code().pin, engine.info())
    return Locked(planned, images, indexes, _lock(planned, images, indexes, identity))


def write_inputs(world: World, folder: Path, locked: Locked) -> dict[str, str]:
    """Everything that a stranger needs to recompute the run is in its folder; name -> digest of each file."""
    planned = locked.planned
    documents = {
        layout.LOCK: locked.lock.to_bytes(),
        layout.PLAN: planned.plan.to_bytes(),
        layout.STUDY: planned.study.to_bytes(),
        layout.PRICES: planned.loaded.prices.to_bytes(),
    }
    if planned.loaded.cassette is not None:
        documents[layout.PLAYED] = planned.loaded.cassette
    if planned.loaded.labels is not None:
        documents[layout.LABELS] = planned.loaded.labels.to_bytes()
    documents |= {layout.context_tar(name): context.tar for name, context in planned.loaded.contexts.items()}
    documents |= {layout.corpus_tar(name): tar_of(corpus.files) for name, corpus in planned.corpora.items()}
    documents |= query_inputs(planned.query_sets, planned.corpora)
    if planned.reconsolidation is not None:
        kept = planned.reconsolidation.files
        documents |= {f"{layout.RECONSOLIDATION}/{name}": data for name, data in kept.items()}
    if planned.contract is not None:
        documents |= {layout.CONTRACT: planned.contract.to_bytes(), **planned.floors}
    documents |= {layout.index_tar(name): index.archive for name, index in locked.indexes.items()}
    documents |= harness_inputs(world.code())
    documents |= {layout.raw_input(name): data for name, data in planned.loaded.raw.items()}
    # The lock last: a folder that holds one holds everything that it pins.
    for name, data in sorted(documents.items(), key=lambda item: (item[0] == layout.LOCK, item[0])):
        world.files.write(folder / name, data)
    return {name: sha256_digest(data) for name, data in documents.items()}


def _corpora(
    world: World, read: ReadStudy, problems: list[Problem]
) -> tuple[dict[str, Corpus], EnvironmentNotReady | None]:
    """The corpora that could be laid out, and what this machine lacked to lay out the others."""
    reader = CorpusReader(world.files, world.build.tools.wheels, world.repositories, world.places.cache)
    found: dict[str, Corpus] = {}
    missing: list[Problem] = []
    for name, source in read.corpora.items():
        try:
            found[name] = reader.locked(source, read.folders[name])
        except StudyError as error:
            problems += error.problems
        except EnvironmentNotReady as error:
            missing += error.problems
    return found, EnvironmentNotReady.of(missing) if missing else None


def _arm_problems(study: ResolvedStudy, document: str, images: Collection[str]) -> Iterator[Problem]:
    said: dict[str, str] = {}
    for arm in study.arms:
        key = f"arms.{arm.name}"
        if not (_BY_DIGEST.fullmatch(arm.image) or arm.image in images or arm.image in study.images):
            known = f"ours are {', '.join(sorted(images))}; others are named <repository>@sha256:<digest>"
            yield Problem(f"there is no image {arm.image!r}", document, f"{key}.image", known)
        try:
            launch_of(study, arm, ANY_OCCASION)
            difference = "\n".join(arm_difference(study, arm))
        except StudyError as error:
            yield from (
                replace(found, document=document, key=f"{key}: {found.key}".removesuffix(": "))
                for found in error.problems
            )
            continue
        if difference in said:
            yield Problem(f"does not differ from {said[difference]}", document, key, "declare a treatment")
        said.setdefault(difference, arm.name)
    yield from undeclared_differences(study, document)
    for name, image in study.images.items():
        if name in images:
            yield Problem("the name of an image of ours", document, f"images.{name}", "call yours otherwise")
        for base in image.bases:
            if base not in images:
                known = f"ours are {', '.join(sorted(images))}"
                yield Problem(f"there is no image {base!r} to build on", document, f"images.{name}.dockerfile", known)


def with_slots(planned: Planned, engine: Engine) -> Planned:
    """The plan with a number of slots; `auto` is as many as the engine's CPUs and memory have room for; at least 1."""
    study = planned.study
    if study.schedule.slots != "auto":
        return planned
    info, limits = engine.info(), study.limits
    slots = max(1, min(info.cpus // limits.cpus, info.memory_bytes // limits.pod_memory_bytes, 64))
    schedule = study.schedule.model_copy(update={"slots": slots})
    loaded = replace(planned.loaded, study=study.model_copy(update={"schedule": schedule}))
    return replace(planned, loaded=loaded)


def _image_names(study: ResolvedStudy) -> tuple[str, ...]:
    ours = {arm.image for arm in study.arms if "@" not in arm.image and arm.image not in study.images}
    ours |= {base for image in study.images.values() for base in image.bases}
    # Sparse vectors are made in the image that asks for them, whichever image the arms run in.
    own = {"retrieval"} if study.client.kind == "retrieval" else set()
    return tuple(sorted({"gateway", "qdrant", "trial", *own, *ours}))


@dataclass(frozen=True)
class _Identity:
    """What a lock says of the occasion."""

    run: str
    created_at: str
    client_version: str
    harness: HarnessPin
    engine: EngineInfo


def _lock(
    planned: Planned, images: Mapping[str, BuiltImage], indexes: Mapping[str, Index], identity: _Identity
) -> Lock:
    study, info = planned.study, identity.engine
    evidence, model_shown = _who_answers(planned)
    return Lock(
        run=identity.run,
        protocol_version=PROTOCOL_VERSION,
        created_at=identity.created_at,
        evidence=evidence,
        model_shown=model_shown,
        study_sha256=study.digest(),
        labels_sha256=planned.loaded.labels.digest() if planned.loaded.labels is not None else "",
        plan_sha256=planned.plan.digest(),
        prices_sha256=planned.loaded.prices.digest(),
        query_sets=query_set_pins(planned.loaded, planned.query_sets),
        cassette_sha256=sha256_digest(planned.loaded.cassette) if planned.loaded.cassette is not None else "",
        prompts={task.id: sha256_digest(task.prompt.encode("utf-8")) for task in study.tasks},
        client_version=identity.client_version,
        arms=arm_pins(study),
        images=tuple(_image_pin(name, image, study) for name, image in sorted(images.items())),
        corpora={
            name: CorpusPin(
                corpus_sha256=pinned.corpus_sha256,
                tree_sha256=pinned.tree_sha256,
                passages_sha256=pinned.passages_sha256,
                files=pinned.files,
                passages=pinned.passages,
                index=indexes[name].pin,
            )
            for name, pinned in sorted(study.corpora.items())
        },
        engine=engine_pin(info),
        harness=identity.harness,
        reconsolidation_sha256=planned.reconsolidation.manifest.digest() if planned.reconsolidation is not None else "",
        gates=study.gates,
    )


def _who_answers(planned: Planned) -> tuple[str, str]:
    """Whether a run is a fixture or a measurement, and the only name under which its model may be shown."""
    if planned.loaded.cassette is not None:
        header = read_cassette(planned.loaded.cassette, "model.cassette").header
        return header.evidence, header.model_shown
    if planned.study.model.mode == "scripted":
        return "fixture", FIXTURE_MODEL
    return "measurement", planned.study.client.model


def client_version(engine: Engine, study: ResolvedStudy, image: str, labels: Mapping[str, str], run: str) -> str:
    """What the study's client in `image` says that its version is; `unversioned` for one that says none.

    Raises:
        EngineError: it says nothing, or can't be started.
    """
    command = version_command(study.client.kind)
    if not command:
        return "unversioned"
    spec = ContainerSpec(
        name=f"pairbench-{run}-version",
        image=image,
        labels={**labels, ROLE: "version"},
        user="10002:10002",
        entrypoint=command,
        memory_bytes=1024 * _MIB,
        pids=64,
        cpus=1,
        tmpfs=(
            Tmpfs("/tmp", 16 * _MIB, 0, 0, "1777"),  # noqa: S108 - in the container
            Tmpfs("/home/agent", 16 * _MIB, 10002, 10002, "0700"),
        ),
    )
    container = engine.create(spec)
    try:
        engine.start(container)
        code = engine.wait(container, _VERSION_MS)
        said = engine.output(container, 4096).decode("utf-8", "replace").strip()
    finally:
        engine.remove(container)
    if code != 0 or not said:
        raise EngineError(f"{' '.join(command)} ended with {code}: {said}", document=f"image {image}")
    return next((word for word in said.split() if word[0].isdigit()), said.split()[0])


def _image_pin(name: str, image: BuiltImage, study: ResolvedStudy) -> ImagePin:
    """What the lock says of the image that arms call `name`."""
    pin = imaging.pin_of(image)
    if not pin.is_users:
        return pin
    context = study.images[name].context_sha256 if name in study.images else ""
    return pin.model_copy(update={"name": name, "context_sha256": context})


def _image_of(study: ResolvedStudy, images: Mapping[str, BuiltImage]) -> str:
    """What the control's trials run in."""
    image = study.arm(study.control).image
    return images[image].tag if image in images else image
