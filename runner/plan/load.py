"""A study is read whole, and everything that is wrong with it is said at once.

Knows files and shapes; not the engine, nor what anything costs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel

from runner.core.canonical import parse_json, sha256_digest
from runner.core.cassette import read_cassette
from runner.core.corpus import CorpusFile, CorpusLock
from runner.core.declared import salvage_declared
from runner.core.errors import EvidenceError, Problem, StudyError
from runner.core.gates import SHARES, measure_fault
from runner.core.launch import is_reserved_variable
from runner.core.model_script import ModelScript, parse_model_script
from runner.core.prices import LIST_PRICES, PriceFile, PriceTable
from runner.core.resolved import (
    CorpusSource,
    ResolvedArm,
    ResolvedCases,
    ResolvedImage,
    ResolvedLabels,
    ResolvedQuery,
    ResolvedStudy,
    ResolvedTask,
)
from runner.core.study import Arm, Label, LabelsFile, StudyFile, Task, TaskFile
from runner.plan.certificates import certificates_fault
from runner.plan.contexts import Context, read_context
from runner.plan.provider_address import address_fault
from runner.plan.reconsolidation_studies import (
    manifest_of,
    needs_no_model,
    read_split,
    reconsolidation_problems,
)
from runner.plan.retrieval import (
    asked_of,
    needs_model,
    needs_sidecar,
    output_problems,
    read_queries,
    study_problems,
    task_fault,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from runner.core.retrieval.queries import QuerySet
    from runner.ports.files import Files

_PROMPT_LIMIT_BYTES = 65536
# What is wrong in these has nothing to do with the rest of a study.
_OPTIONAL_TABLES = frozenset({"caps", "limits", "schedule"})
# For what is wrong or missing in a study that isn't going to run, so that what else is wrong with it is told too.
_STAND_INS = {"name": "stand-in", "seed": "stand-in", "repetitions": 1}

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class LoadedStudy:
    """A study, what it was read from, and where its corpora are declared."""

    document: str
    """Path of the study file."""
    labels_document: str
    """Path of the labels file; "" for a study without labels."""
    study: ResolvedStudy
    labels: ResolvedLabels | None
    corpora: Mapping[str, CorpusSource]
    folders: Mapping[str, Path]
    """Folder of each corpus file."""
    raw: Mapping[str, bytes]
    """Bytes of every file read, by its path as the study names it."""
    prices: PriceTable = LIST_PRICES
    cassette: bytes | None = None
    """What the gateways play in mode `replay`."""
    query_sets: Mapping[str, QuerySet] = field(default_factory=dict)
    """Task -> what it asks, with its labels; only of a retrieval study."""
    manifest: Path | None = None
    """Where the manifest of a reconsolidation study's corpus should be."""
    contract: Path | None = None
    """Where the terms of its review are."""
    contexts: Mapping[str, Context] = field(default_factory=dict)
    """What images of the study's own are built from, by their names."""


@dataclass(frozen=True)
class ReadStudy:
    """What could be read of a study, and everything that is wrong with it."""

    loaded: LoadedStudy | None
    """None where it is too damaged to go on with."""
    corpora: Mapping[str, CorpusSource]
    """The corpora that could be read; there may be some where the study itself could not."""
    folders: Mapping[str, Path]
    problems: tuple[Problem, ...]


@dataclass
class _Reading:
    """What was found so far: files read, and problems met."""

    files: Files
    root: Path
    raw: dict[str, bytes] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    places: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Task -> document and key of its prompt."""
    query_sets: dict[str, QuerySet] = field(default_factory=dict)
    """Task -> what it asks."""

    def complain(self, message: str, document: str, key: str = "", hint: str = "") -> None:
        self.problems.append(Problem(message, document, key, hint))

    def bytes_of(self, name: str, base: Path, document: str, key: str, hint: str = "") -> bytes | None:
        path = base / name
        data = self.files.read(path)
        if data is None:
            self.complain(f"there is no file {path}", document, key, hint)
            return None
        self.keep(path, data)
        return data

    def keep(self, path: Path, data: bytes) -> None:
        self.raw[self._shown(path)] = data

    def text_of(self, name: str | None, base: Path, document: str, key: str) -> str:
        if name is None:
            return ""
        data = self.bytes_of(name, base, document, key)
        if data is None:
            return ""
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            self.complain(f"{base / name} is not UTF-8", document, key)
            return ""

    def toml_of(self, model: type[M], data: bytes, document: str) -> M | None:
        found, problems = salvage_declared(model, data, document, _OPTIONAL_TABLES, _STAND_INS)
        self.problems += problems
        return found

    def _shown(self, path: Path) -> str:
        try:
            return path.relative_to(self.root).as_posix()
        except ValueError:
            return path.as_posix()


def load_study(path: Path, files: Files) -> LoadedStudy:
    """The study at `path`, with every file that it names.

    Raises:
        StudyError: with every problem of the study, its task files, labels and corpus files.
    """
    read = read_study(path, files)
    if read.loaded is None or read.problems:
        raise StudyError.of(read.problems)
    return read.loaded


def read_study(path: Path, files: Files) -> ReadStudy:
    """The study at `path`, with every file that it names, and everything that is wrong with them."""
    reading = _Reading(files, path.parent)
    document = str(path)
    data = files.read(path)
    if data is None:
        return ReadStudy(None, {}, {}, (Problem("there is no such study", document),))
    reading.raw[path.name] = data
    declared = reading.toml_of(StudyFile, data, document)
    if declared is None:
        return ReadStudy(None, {}, {}, tuple(reading.problems))
    corpora = _corpora(reading, declared, document)
    folders = {name: (path.parent / declared.corpora[name]).parent for name in corpora}
    loaded = _loaded(reading, declared, document, corpora, folders)
    return ReadStudy(loaded, corpora, folders, tuple(reading.problems))


def _loaded(
    reading: _Reading,
    declared: StudyFile,
    document: str,
    corpora: Mapping[str, CorpusSource],
    folders: Mapping[str, Path],
) -> LoadedStudy:
    labels_document = str(reading.root / declared.labels) if declared.labels else ""
    tasks = _tasks(reading, declared, document, corpora)
    labels = _labels(reading, declared, document)
    _check_names(reading, declared, document)
    _check_references(reading, declared, tasks, document)
    _check_labels(reading, tasks, labels, labels_document)
    if (
        needs_model(declared)
        and not needs_no_model(declared)
        and not any(problem.key.partition(".")[0] == "model" for problem in reading.problems)
    ):
        reading.complain("missing", document, "model")
    reading.problems += [*study_problems(declared, document), *output_problems(declared, tasks, document)]
    reading.problems += reconsolidation_problems(declared, document)
    arms = _arms(reading, declared, document)
    contexts = _contexts(reading, declared, document)
    instructions = reading.text_of(declared.client.instructions, reading.root, document, "client.instructions")
    study = ResolvedStudy(
        name=declared.name,
        description=declared.description,
        seed=declared.seed,
        repetitions=declared.repetitions,
        control=declared.control,
        client=declared.client,
        client_instructions=instructions,
        model=declared.model,
        limits=declared.limits,
        schedule=declared.schedule,
        arms=arms,
        tasks=tuple(tasks.values()),
        corpora={name: source.lock for name, source in sorted(corpora.items())},
        gates=declared.gates,
        caps=declared.caps,
        model_ca=_authorities(reading, declared, document),
        images={
            name: ResolvedImage(
                dockerfile=context.dockerfile,
                context_sha256=context.sha256,
                files=context.files,
                bases=context.bases,
            )
            for name, context in contexts.items()
        },
    )
    return LoadedStudy(
        document=document,
        labels_document=labels_document,
        study=study,
        labels=ResolvedLabels(labels=labels) if declared.labels else None,
        corpora=corpora,
        folders=folders,
        raw=reading.raw,
        prices=_prices(reading, declared, document),
        cassette=_cassette(reading, declared, document),
        query_sets=reading.query_sets,
        manifest=manifest_of(declared, reading.root),
        contract=None if declared.contract is None else reading.root / declared.contract,
        contexts=contexts,
    )


def _contexts(reading: _Reading, declared: StudyFile, document: str) -> dict[str, Context]:
    found: dict[str, Context] = {}
    for name, image in sorted(declared.images.items()):
        if all(arm.image != name for arm in declared.arms):
            reading.complain("no arm's image", document, f"images.{name}")
        try:
            found[name] = read_context(image, reading.root, reading.files, (document, f"images.{name}"))
        except StudyError as error:
            reading.problems += error.problems
    return found


def _prices(reading: _Reading, declared: StudyFile, document: str) -> PriceTable:
    if declared.prices is None:
        return LIST_PRICES
    data = reading.bytes_of(declared.prices, reading.root, document, "prices")
    file = reading.toml_of(PriceFile, data, str(reading.root / declared.prices)) if data is not None else None
    return LIST_PRICES if file is None else file.table()


def _cassette(reading: _Reading, declared: StudyFile, document: str) -> bytes | None:
    if declared.model.cassette is None:
        return None
    name = declared.model.cassette
    known = set(reading.raw)
    data = reading.bytes_of(name, reading.root, document, "model.cassette")
    # It has a place of its own in a run; it is too large to lie there twice.
    for taken in set(reading.raw) - known:
        del reading.raw[taken]
    if data is not None:
        try:
            read_cassette(data, str(reading.root / name))
        except EvidenceError as error:
            hint = "take it as it was recorded, or record it again"
            for problem in error.problems:
                reading.complain(str(problem), document, "model.cassette", hint)
    return data


def _authorities(reading: _Reading, declared: StudyFile, document: str) -> str:
    """Whom the gateway is to trust instead of the usual ones; what is wrong with these or the provider is told."""
    if declared.model.base_url and (fault := address_fault(declared.model.base_url)):
        reading.complain(fault, document, "model.base_url")
    name, before = declared.model.ca_file, len(reading.problems)
    text = reading.text_of(name, reading.root, document, "model.ca_file")
    if name is not None and len(reading.problems) == before and (fault := certificates_fault(text)):
        reading.complain(f"{reading.root / name}: {fault}", document, "model.ca_file")
    return text


def _tasks(
    reading: _Reading, declared: StudyFile, document: str, corpora: Mapping[str, CorpusSource]
) -> dict[str, ResolvedTask]:
    found: dict[str, ResolvedTask] = {}
    lists: list[tuple[str, Path, Sequence[Task]]] = []
    for index, name in enumerate(declared.task_files):
        data = reading.bytes_of(name, reading.root, document, f"task_files[{index}]")
        file = reading.toml_of(TaskFile, data, str(reading.root / name)) if data is not None else None
        if file is not None:
            lists.append((str(reading.root / name), (reading.root / name).parent, file.tasks))
    lists.append((document, reading.root, declared.tasks))
    common = _script(reading, declared, declared.model.script, reading.root, (document, "model.script"))
    for place, folder, tasks in lists:
        for index, task in enumerate(tasks):
            key = f"tasks[{index}]"
            if task.id in found:
                reading.complain(f"the id {task.id!r} is taken", place, f"{key}.id")
            reading.places[task.id] = (place, f"{key}.{'prompt' if task.prompt is not None else 'prompt_file'}")
            if fault := task_fault(declared, task):
                reading.complain(fault, place, f"{key}.{_asked_key(task)}")
            corpus = corpora.get(task.corpus or "")
            found[task.id] = ResolvedTask(
                id=task.id,
                corpus=task.corpus or "",
                prompt=_prompt(reading, task, folder, place, key) if task.queries is task.cases is None else "",
                tags=task.tags,
                script=_script(reading, declared, task.script, folder, (place, f"{key}.script")) or common,
                queries=_queries(reading, task, folder, corpus),
                cases=_cases(reading, declared, task, folder),
            )
            if task.corpus is not None and task.corpus not in declared.corpora:
                reading.complain(f"{task.corpus!r} is not a key of [corpora]", place, f"{key}.corpus")
    if not found:
        reading.complain("a study needs at least one task", document, "tasks")
    named = [declared.model.script, *(task.script for *_, tasks in lists for task in tasks)]
    named += [arm.script for arm in declared.arms]
    if declared.model.policy == "script" and not any(named):
        reading.complain("neither the study nor a task names a script", document, "model.script")
    return found


def _script(
    reading: _Reading, declared: StudyFile, name: str | None, folder: Path, place: tuple[str, str]
) -> ModelScript | None:
    if name is None:
        return None
    if declared.model.policy != "script":
        reading.complain('only model.policy = "script" plays one', *place)
    data = reading.bytes_of(name, folder, *place)
    if data is None:
        return None
    try:
        return parse_model_script(data, str(folder / name))
    except StudyError as error:
        reading.problems += error.problems
        return None


def _queries(reading: _Reading, task: Task, folder: Path, corpus: CorpusSource | None) -> tuple[ResolvedQuery, ...]:
    if task.queries is None:
        return ()
    lock = None if corpus is None else corpus.lock
    queries, kept, problems = read_queries(folder / task.queries, reading.files, lock)
    for path, data in kept.items():
        reading.keep(path, data)
    reading.problems += problems
    if queries is None:
        return ()
    reading.query_sets[task.id] = queries
    return asked_of(queries)


def _cases(reading: _Reading, declared: StudyFile, task: Task, folder: Path) -> ResolvedCases | None:
    if task.cases is None:
        return None
    cases, kept, problems = read_split(folder / task.cases, reading.files, declared.seed, task.id)
    for path, data in kept.items():
        reading.keep(path, data)
    reading.problems += problems
    return cases


def _asked_key(task: Task) -> str:
    return "queries" if task.queries is not None else "cases" if task.cases is not None else "prompt"


def _prompt(reading: _Reading, task: Task, folder: Path, place: str, key: str) -> str:
    if task.prompt is not None:
        prompt, key = task.prompt, f"{key}.prompt"
    else:
        key = f"{key}.prompt_file"
        known = len(reading.problems)
        prompt = reading.text_of(task.prompt_file, folder, place, key).rstrip("\r\n")
        if len(reading.problems) > known:
            return prompt
    if not prompt.strip():
        reading.complain("the prompt is blank", place, key)
    if len(prompt.encode("utf-8")) > _PROMPT_LIMIT_BYTES:
        reading.complain(f"the prompt is longer than {_PROMPT_LIMIT_BYTES} bytes", place, key)
    return prompt


def _labels(reading: _Reading, declared: StudyFile, document: str) -> tuple[Label, ...]:
    if declared.labels is None:
        return ()
    data = reading.bytes_of(declared.labels, reading.root, document, "labels")
    file = reading.toml_of(LabelsFile, data, str(reading.root / declared.labels)) if data is not None else None
    return file.labels if file is not None else ()


def _corpora(reading: _Reading, declared: StudyFile, document: str) -> dict[str, CorpusSource]:
    found: dict[str, CorpusSource] = {}
    for key, name in declared.corpora.items():
        place = str(reading.root / name)
        data = reading.bytes_of(name, reading.root, document, f"corpora.{key}")
        file = reading.toml_of(CorpusFile, data, place) if data is not None else None
        if data is None or file is None:
            continue
        if file.name != key:
            reading.complain(f"the corpus calls itself {file.name!r}", document, f"corpora.{key}")
        lock = _corpus_lock(reading, reading.root / name, place)
        if lock is None:
            continue
        if lock.corpus_sha256 != sha256_digest(data):
            reading.complain(
                "it changed after it was frozen", place, hint="run `pairbench corpora lock` and look at the difference"
            )
        found[key] = CorpusSource(file=file, lock=lock, document=place)
    return found


def _corpus_lock(reading: _Reading, corpus: Path, place: str) -> CorpusLock | None:
    hint = f"freeze it: pairbench corpora lock {corpus}"
    data = reading.bytes_of("corpus.lock.json", corpus.parent, place, "corpus.lock.json", hint)
    if data is None:
        return None
    shown = str(corpus.parent / "corpus.lock.json")
    try:
        return CorpusLock.from_json(parse_json(data, shown), shown)
    except EvidenceError as error:
        reading.problems += error.problems
        return None


def _check_names(reading: _Reading, declared: StudyFile, document: str) -> None:
    for key, names in (
        ("arms", [arm.name for arm in declared.arms]),
        ("client.tools", list(declared.client.tools)),
        *((f"arms.{arm.name}.mcp_servers", [server.name for server in arm.mcp_servers]) for arm in declared.arms),
        *(
            (f"arms.{arm.name}.mcp_servers.{server.name}.tools", list(server.tools))
            for arm in declared.arms
            for server in arm.mcp_servers
        ),
    ):
        for twice in sorted({name for name in names if names.count(name) > 1}):
            reading.complain(f"the name {twice!r} stands twice", document, key)
    _check_gates(reading, declared, document)
    if declared.control not in {arm.name for arm in declared.arms}:
        reading.complain(f"{declared.control!r} is not the name of an arm", document, "control")
    client = declared.client.env
    for name in client:
        if is_reserved_variable(name):
            reading.complain("the runner sets this variable itself", document, f"client.env.{name}")
    for arm in declared.arms:
        for name in arm.env:
            if is_reserved_variable(name):
                reading.complain("the runner sets this variable itself", document, f"arms.{arm.name}.env.{name}")
            elif name in client:
                reading.complain("client.env sets it already", document, f"arms.{arm.name}.env.{name}")


def _check_gates(reading: _Reading, declared: StudyFile, document: str) -> None:
    names = [gate.name for gate in declared.gates]
    for twice in sorted({name for name in names if names.count(name) > 1}):
        reading.complain(f"the name {twice!r} stands twice", document, "gates")
    arms = {arm.name for arm in declared.arms}
    for gate in declared.gates:
        fault, hint = measure_fault(gate.measure, is_retrieval=declared.client.kind == "retrieval")
        if fault:
            reading.complain(fault, document, f"gates.{gate.name}.measure", hint)
        if gate.is_retrieval and declared.client.kind != "retrieval":
            reading.complain("only a retrieval study has rankings", document, f"gates.{gate.name}.measure")
        if gate.figure == "value":
            if gate.arm not in arms:
                reading.complain(f"{gate.arm!r} is not the name of an arm", document, f"gates.{gate.name}.arm")
        elif gate.arm not in arms - {declared.control}:
            reading.complain(f"{gate.arm!r} is not a treatment", document, f"gates.{gate.name}.arm")
        if gate.measure in SHARES and declared.labels is None:
            reading.complain("a study without labels has no such measure", document, f"gates.{gate.name}.measure")


def _check_references(reading: _Reading, declared: StudyFile, tasks: Mapping[str, ResolvedTask], document: str) -> None:
    used = {task.corpus for task in tasks.values()}
    for name in declared.corpora:
        if name not in used:
            reading.complain("no task uses this corpus", document, f"corpora.{name}", "leave it out")
    if declared.client.takes_servers:
        return
    kind = declared.client.kind
    for arm in declared.arms:
        for key, given in (("mcp_servers", bool(arm.mcp_servers)), ("instructions", arm.instructions is not None)):
            if given:
                reading.complain(
                    f"a client of kind {kind} takes none", document, f"arms.{arm.name}.{key}", "use env or image"
                )


def _check_labels(reading: _Reading, tasks: Mapping[str, ResolvedTask], labels: Sequence[Label], document: str) -> None:
    seen: set[str] = set()
    checks: set[str] = set()
    for index, label in enumerate(labels):
        key = f"labels[{index}]"
        if label.task not in tasks:
            reading.complain(f"{label.task!r} is not the id of a task", document, f"{key}.task")
        if label.task in seen:
            reading.complain(f"the task {label.task!r} is labelled twice", document, f"{key}.task")
        seen.add(label.task)
        for message, place in _label_faults(label, checks):
            reading.complain(message, document, f"{key}{place}")
        checks |= {check.id for check in label.checks}
    secrets = [*sorted(checks), *(source.anchor for label in labels for source in label.sources)]
    for task in tasks.values():
        for secret in (task.id, *secrets):
            if secret in task.prompt:
                reading.complain(
                    f"the prompt holds {secret!r}, which belongs to a label or an id", *reading.places[task.id]
                )


def _label_faults(label: Label, taken: Collection[str]) -> Iterator[tuple[str, str]]:
    if not label.sources and not label.checks:
        yield "a label needs a source or a check", ""
    for number, source in enumerate(label.sources):
        if source.start >= source.end:
            yield "start must be below end", f".sources[{number}]"
    own: set[str] = set()
    for number, check in enumerate(label.checks):
        if check.id in taken or check.id in own:
            yield f"the id {check.id!r} is taken", f".checks[{number}].id"
        own.add(check.id)


def _arms(reading: _Reading, declared: StudyFile, document: str) -> tuple[ResolvedArm, ...]:
    return tuple(_arm(reading, declared, arm, document) for arm in declared.arms)


def _arm(reading: _Reading, declared: StudyFile, arm: Arm, document: str) -> ResolvedArm:
    return ResolvedArm(
        name=arm.name,
        description=arm.description,
        image=arm.image or declared.client.default_image,
        instructions=reading.text_of(arm.instructions, reading.root, document, f"arms.{arm.name}.instructions"),
        env=dict(arm.env),
        sidecar=needs_sidecar(arm),
        mcp_servers=arm.mcp_servers,
        system=arm.system,
        script=_script(reading, declared, arm.script, reading.root, (document, f"arms.{arm.name}.script")),
    )
