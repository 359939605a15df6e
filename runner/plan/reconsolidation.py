"""A reconsolidation corpus is read whole, and refused with everything in it that is wrong or isn't as it was frozen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core.canonical import digest_of, sha256_digest
from runner.core.errors import EvidenceError, PairbenchError, Problem, StudyError
from runner.core.reconsolidation.baseline import control_answers
from runner.core.reconsolidation.consistency import corpus_problems
from runner.core.reconsolidation.corpus import SPLITS, ReconsolidationCorpus, ReconsolidationManifest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from runner.core.canonical import Digest
    from runner.core.reconsolidation.corpus import Case
    from runner.ports.files import Files

MANIFEST: Final = "manifest.json"
SCORER: Final = "runner/measure/reconsolidation/v1.py"
"""The source that the manifest of a v1 corpus pins, as a path from the folder that holds the package."""


@dataclass(frozen=True)
class FrozenCorpus:
    """A corpus that is as its manifest says."""

    splits: Mapping[str, ReconsolidationCorpus]
    """By the name of the split."""
    manifest: ReconsolidationManifest
    files: Mapping[str, bytes]
    """Name in the corpus's folder -> bytes, the manifest among them."""

    def cases(self) -> Iterator[tuple[str, Case]]:
        """Each case with the name of its split."""
        for name, corpus in self.splits.items():
            for case in corpus.cases:
                yield name, case


def read_reconsolidation(path: Path, files: Files, sources: Mapping[str, bytes]) -> FrozenCorpus:
    """The corpus whose manifest is at `path`; `sources` are those of this program, by their paths.

    Raises:
        StudyError: with every inconsistency and every drift from the manifest.
    """
    data = files.read(path)
    if data is None:
        hint = f"freeze it: pairbench corpora lock {path}"
        raise StudyError("there is no such manifest", document=str(path), hint=hint)
    try:
        manifest = ReconsolidationManifest.from_bytes(data, str(path))
    except EvidenceError as error:
        raise StudyError.of(error.problems) from error
    folder = path.parent
    found = {name: _bytes(files, folder / name) for name in manifest.files}
    problems = [*_drift(manifest, found, sources, path), *_unlisted(manifest, folder, files)]
    corpora = _corpora({name: held for name, held in found.items() if held is not None}, folder, problems)
    problems += corpus_problems(corpora, is_whole=len(corpora) == len(found))
    if not problems and manifest.control_references != control_references(corpora.values()):
        problems.append(Problem("they aren't those of this corpus", str(path), "control_references"))
    if problems:
        raise StudyError.of(problems)
    held = {name: content for name, content in found.items() if content is not None}
    return FrozenCorpus(_by_split(corpora), manifest, {**held, path.name: data})


def freeze_reconsolidation(path: Path, files: Files, sources: Mapping[str, bytes]) -> ReconsolidationManifest:
    """The manifest of the splits beside `path`, which stands there from now on and is never written again.

    Raises:
        StudyError: a manifest that says something else is there, or the corpus is inconsistent.
    """
    folder = path.parent
    problems: list[Problem] = []
    found = {f"{split}.json": _bytes(files, folder / f"{split}.json") for split in SPLITS}
    problems += [Problem("there is no such file", str(folder / name)) for name, data in found.items() if data is None]
    held = {name: data for name, data in found.items() if data is not None}
    corpora = _corpora(held, folder, problems)
    problems += corpus_problems(corpora, is_whole=len(corpora) == len(found))
    if problems:
        raise StudyError.of(problems)
    manifest = ReconsolidationManifest(
        files={name: sha256_digest(data) for name, data in held.items()},
        scorer={SCORER: sha256_digest(sources[SCORER])},
        control_references=control_references(corpora.values()),
    )
    before = files.read(path)
    if before is None:
        files.write(path, manifest.to_bytes())
    elif before != manifest.to_bytes():
        raise StudyError(
            "it is frozen, and corpus or scorer are no longer what it says",
            document=str(path),
            hint="a frozen corpus never changes: put the change into a folder of another version",
        )
    return manifest


def control_references(corpora: Iterable[ReconsolidationCorpus]) -> Digest:
    """The digest of every answer that stands in a live seed: what a memory that changes nothing can give."""
    return digest_of(control_answers(corpora))


def _corpora(found: Mapping[str, bytes], folder: Path, problems: list[Problem]) -> dict[str, ReconsolidationCorpus]:
    """The splits that can be read, by the paths of their files; what can't be is added to `problems`."""
    corpora: dict[str, ReconsolidationCorpus] = {}
    for name, data in sorted(found.items()):
        try:
            corpora[str(folder / name)] = ReconsolidationCorpus.from_bytes(data, str(folder / name))
        except PairbenchError as error:
            problems += error.problems
    return corpora


def _drift(
    manifest: ReconsolidationManifest,
    found: Mapping[str, bytes | None],
    sources: Mapping[str, bytes],
    path: Path,
) -> Iterator[Problem]:
    expected = {f"{split}.json" for split in SPLITS}
    if set(manifest.files) != expected:
        yield Problem(f"it must list {' and '.join(sorted(expected))} and nothing else", str(path), "files")
    for name, digest in sorted(manifest.files.items()):
        yield from _changed(str(path.parent / name), found[name], digest)
    if set(manifest.scorer) != {SCORER}:
        yield Problem(f"it must pin {SCORER} and nothing else", str(path), "scorer")
    for name, digest in sorted(manifest.scorer.items()):
        yield from _changed(name, sources.get(name), digest)


def _changed(name: str, data: bytes | None, digest: str) -> Iterator[Problem]:
    if data is None:
        yield Problem("the manifest lists it, and it isn't there", name)
    elif sha256_digest(data) != digest:
        yield Problem("it isn't what the manifest froze", name, hint="restore it, or make another version")


def _unlisted(manifest: ReconsolidationManifest, folder: Path, files: Files) -> Iterator[Problem]:
    for name in files.walk(folder):
        if name != MANIFEST and name not in manifest.files:
            yield Problem("the manifest doesn't list it", str(folder / name))


def _by_split(corpora: Mapping[str, ReconsolidationCorpus]) -> dict[str, ReconsolidationCorpus]:
    return {corpus.split: corpus for corpus in sorted(corpora.values(), key=lambda corpus: SPLITS.index(corpus.split))}


def _bytes(files: Files, path: Path) -> bytes | None:
    """The bytes of a regular file, and of no link that leads elsewhere."""
    return files.read_plain(str(path))
