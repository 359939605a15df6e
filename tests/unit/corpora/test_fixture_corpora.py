"""The corpora, tasks and labels that come with the project.

The wheels' files are read from the environment, where the same versions are pinned; the tree digest proves that they are
the same bytes. The notes are read from the repository.
"""

from __future__ import annotations

import importlib.metadata
import tomllib
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest
from pydantic import BaseModel

from runner.core.canonical import sha256_digest
from runner.core.corpus import CorpusFile, CorpusLock, FilesPart, WheelPart
from runner.core.documents import validated
from runner.core.errors import StudyError
from runner.core.labels import source_problems
from runner.core.passages import LINES_1, Splitter, passages_jsonl, skipped, split, tree_digest
from runner.core.study import LabelsFile, StudyFile, Task, TaskFile
from runner.core.tars import TreeFile
from runner.core.trees import placed, selected, tree_problems
from runner.measure.checks import folded
from runner.plan.card import card_of
from runner.plan.corpora import Corpus

if TYPE_CHECKING:
    from collections.abc import Mapping

CORPORA = Path(__file__).parents[3] / "corpora"
FIXTURE = CORPORA / "fixture"
NAMES = ("h11", "notes", "structlog")
# What an installer adds to the files of a wheel.
INSTALLED = ("**/__pycache__/**", "*.dist-info/INSTALLER", "*.dist-info/REQUESTED", "*.dist-info/direct_url.json")

M = TypeVar("M", bound=BaseModel)


def _read(model: type[M], path: Path) -> M:
    return validated(model, tomllib.loads(path.read_text("utf-8")), str(path), StudyError)


def _wheel_files(part: WheelPart) -> dict[str, bytes]:
    distribution = importlib.metadata.distribution(part.name)
    assert distribution.version == part.version, f"the corpus holds {part.name} {part.version}; the environment doesn't"
    paths = selected([str(path) for path in distribution.files or ()], ["**"], INSTALLED)
    return {path: Path(str(distribution.locate_file(path))).read_bytes() for path in paths}


def _folder_files(part: FilesPart, folder: Path) -> dict[str, bytes]:
    root = folder / part.path
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@cache
def _workspace(name: str) -> Mapping[str, bytes]:
    found: dict[str, bytes] = {}
    paths: list[str] = []
    for part in _read(CorpusFile, CORPORA / name / "corpus.toml").parts:
        assert isinstance(part, WheelPart | FilesPart)
        files = _wheel_files(part) if isinstance(part, WheelPart) else _folder_files(part, CORPORA / name)
        for path in selected(files, part.include, part.exclude):
            paths.append(placed(part.into, path))
            found[paths[-1]] = files[path]
    assert tree_problems(paths, name) == ()
    return found


@cache
def _tasks() -> Mapping[str, Task]:
    files = _read(StudyFile, FIXTURE / "study.toml").task_files
    return {task.id: task for name in files for task in _read(TaskFile, FIXTURE / name).tasks}


@cache
def _labels() -> LabelsFile:
    return _read(LabelsFile, FIXTURE / "labels" / "labels.toml")


@pytest.mark.parametrize("name", NAMES)
def test_each_corpus_has_its_card(name: str) -> None:
    """Beside the lock, as `pairbench corpora lock` writes it today."""
    corpus = _read(CorpusFile, CORPORA / name / "corpus.toml")
    lock = CorpusLock.from_bytes((CORPORA / name / "corpus.lock.json").read_bytes(), name)
    files = {path: TreeFile(data) for path, data in _workspace(name).items()}
    found = Corpus(name, files, split(_workspace(name), LINES_1))
    assert (CORPORA / name / "CARD.md").read_bytes() == card_of(corpus, found, lock)


@pytest.mark.parametrize("name", NAMES)
def test_a_corpus_is_what_it_was_frozen_to(name: str) -> None:
    """Files, passages and counts follow from the pinned parts; a changed rule of the splitter shows here."""
    declared = CORPORA / name / "corpus.toml"
    corpus = _read(CorpusFile, declared)
    files = _workspace(name)
    assert corpus.splitter is not None
    passages = split(files, Splitter(**corpus.splitter.model_dump()))
    lock = CorpusLock(
        name=name,
        corpus_sha256=sha256_digest(declared.read_bytes()),
        tree_sha256=tree_digest(files),
        passages_sha256=sha256_digest(passages_jsonl(passages)),
        files=len(files),
        bytes=sum(map(len, files.values())),
        passages=len(passages),
        skipped=len(skipped(files, passages)),
    )
    assert lock.to_bytes() == (CORPORA / name / "corpus.lock.json").read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_passages_hold_every_line_of_text_once_and_nothing_else(name: str) -> None:
    """What the memory holds is what the workspace holds: no word more, no word less."""
    files = _workspace(name)
    passages = split(files)
    assert {passage.source for passage in passages} == set(files) - set(skipped(files, passages))
    for path, data in files.items():
        own = [passage for passage in passages if passage.source == path]
        assert [data[passage.start : passage.end].decode() for passage in own] == [passage.text for passage in own]
        assert all(first.end <= second.start for first, second in pairwise(own))
        gaps = [0, *(passage.end for passage in own)], [*(passage.start for passage in own), len(data)]
        assert b"".join(data[start:end] for start, end in zip(*gaps, strict=True)).strip() == b""
        assert all(passage.end - passage.start <= 1600 for passage in own)


def test_the_notes_of_the_h11_corpus_are_the_notes_corpus() -> None:
    """Two corpora may share files; they are one folder of the repository."""
    notes = {path: data for path, data in _workspace("h11").items() if path.startswith("notes/")}
    assert notes == _workspace("notes")
    assert len(notes) == 32


def test_there_are_twelve_tasks_of_a_declared_mix() -> None:
    """Some are easy to grep, some share no telling word with their source, some have memory at a disadvantage."""
    tags = [tag for task in _tasks().values() for tag in task.tags]
    assert {tag: tags.count(tag) for tag in sorted(set(tags))} == {
        "code": 8,
        "enumeration": 2,
        "grep": 4,
        "notes": 5,
        "paraphrased": 6,
    }
    assert len(_tasks()) == 12


def test_every_task_has_labels_with_a_source_that_answers_it_and_a_check() -> None:
    """A task without labels would only measure cost."""
    labels = _labels().labels
    assert [label.task for label in labels] == list(_tasks())
    for label in labels:
        assert any(source.grade == 2 for source in label.sources), label.task
        assert len(label.checks) >= 2, label.task


def test_every_reference_source_is_where_its_anchor_says() -> None:
    """Byte ranges exist, hold their anchors, and don't overlap."""
    workspaces = {task.id: _workspace(task.corpus) for task in _tasks().values()}
    assert source_problems(_labels().labels, workspaces, "labels.toml") == ()


def test_every_check_is_held_by_a_reference_source_of_its_task() -> None:
    """An answer that quotes its sources in full can reach full coverage."""
    for label in _labels().labels:
        files = _workspace(_tasks()[label.task].corpus)
        evidence = folded(" ".join(files[source.path][source.start : source.end].decode() for source in label.sources))
        for check in label.checks:
            assert any(folded(wording) in evidence for wording in check.any), f"{label.task}: {check.id}"


def test_no_prompt_holds_what_belongs_to_a_label() -> None:
    """Ids, anchors and the wordings of checks don't leak, so repeating a question earns nothing."""
    for label in _labels().labels:
        prompt = folded(_tasks()[label.task].prompt or "")
        for secret in (
            label.task,
            *(source.anchor for source in label.sources),
            *(check.id for check in label.checks),
            *(wording for check in label.checks for wording in check.any),
        ):
            assert folded(secret) not in prompt, f"{label.task}: {secret}"


def test_ids_are_unique() -> None:
    """Records name checks without their task."""
    checks = [check.id for label in _labels().labels for check in label.checks]
    assert len(set(checks)) == len(checks)


def test_labels_stand_apart_from_what_a_trial_is_given() -> None:
    """No workspace, task file or instruction names a check."""
    given = [*(data for name in NAMES for data in _workspace(name).values())]
    given += [path.read_bytes() for path in (*FIXTURE.glob("tasks/*.toml"), FIXTURE / "instructions.md")]
    for label in _labels().labels:
        for check in label.checks:
            assert not any(check.id.encode() in data for data in given), check.id
