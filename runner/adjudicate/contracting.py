"""Terms become a contract, which pins what they are about; and is all of that still what it was?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.adjudicate.closure import closure
from runner.core.canonical import sha256_digest
from runner.core.errors import Problem
from runner.core.reconsolidation.contract import Contract
from runner.core.reconsolidation.register import HoldoutRegister

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.core.reconsolidation.contract import Terms
    from runner.core.reconsolidation.corpus import ReconsolidationCorpus, ReconsolidationManifest

SOURCES: Final[dict[str, tuple[str, ...]]] = {
    "review": ("runner/adjudicate/", "runner/core/reconsolidation/", "runner/core/visible.py"),
    "comparison": (
        "runner/measure/agreement.py",
        *(
            f"runner/pipeline/{name}.py"
            for name in ("contracts", "control", "measuring", "observing", "reviewed", "reviewing", "submitted")
        ),
    ),
    "report": ("runner/adjudicate/telling.py", "runner/core/reconsolidation/assessment.py"),
}
"""What the sources of review, comparison and report are: files, and folders, which end in a slash."""
ENTRANCES: Final = ("runner/adapters/ssh_signatures.py", "runner/cli/reviewing.py")
"""What hands them their work; what these import beside is wiring, and decides nothing."""
IMPORTED: Final = "imported"
DEPENDENCIES: Final = ("krippendorff", "numpy", "pydantic", "pydantic-core")
"""What computes agreement, and what accepts or refuses a document."""
_MOST_NAMED: Final = 5
HOLDOUT: Final = "holdout.json"


@dataclass(frozen=True)
class Pinned:
    """What terms are about."""

    files: Mapping[str, bytes]
    """Of the corpus, its manifest too."""
    manifest: ReconsolidationManifest
    corpora: Mapping[str, ReconsolidationCorpus]
    sources: Mapping[str, bytes]
    """Of this program."""
    versions: Mapping[str, str]
    """Of what is installed with it."""


def make_contract(terms: Terms, pinned: Pinned, register: HoldoutRegister) -> Contract:
    """The contract of `terms` on what is `pinned`, with the `register` of inspected holdouts as it is now."""
    corpus = next(iter(pinned.corpora.values()))
    return Contract(
        terms=terms,
        corpus={name: sha256_digest(data) for name, data in sorted(pinned.files.items())},
        holdout_sha256=sha256_digest(pinned.files[HOLDOUT]),
        scorer=dict(pinned.manifest.scorer),
        answer_scoring=dict(pinned.manifest.scorer),
        control_references=pinned.manifest.control_references,
        control_baseline=Contract.rule_digest(),
        clock=corpus.clock,
        recall_facts=corpus.recall_budget.facts,
        floors={floor.file: floor.sha256 for floor in terms.floors},
        inspected=register.digests(),
        sources=_sources(pinned.sources),
        dependencies={name: pinned.versions.get(name, "not installed") for name in DEPENDENCIES},
    )


def drift(contract: Contract, pinned: Pinned, document: str) -> tuple[Problem, ...]:
    """Everything that `contract` pins and that is no longer what it was, named one by one."""
    # The register goes on growing: what of it must be there is asked when it is given.
    return tuple(_drift(contract, make_contract(contract.terms, pinned, HoldoutRegister(inspected=())), document))


def register_problems(contract: Contract, register: HoldoutRegister, document: str) -> tuple[Problem, ...]:
    """Why `register` isn't the one that lay beside the terms of `contract`, however much was added to it since."""
    held = set(register.digests())
    gone = [number for number, digest in enumerate(contract.inspected) if digest not in held]
    if not gone:
        return ()
    told = f"it is another register: {len(gone)} of {len(contract.inspected)} entries that the contract knows"
    hint = "give the holdout-register.json that lies beside the contract.toml of the study"
    return (Problem(f"{told} aren't in it, the first of them number {gone[0]}", document, "inspected", hint),)


def _drift(agreed: Contract, found: Contract, document: str) -> Iterator[Problem]:
    yield from _differences("corpus", agreed.corpus, found.corpus, document)
    yield from _differences("scorer", agreed.scorer, found.scorer, document)
    yield from _differences("answer_scoring", agreed.answer_scoring, found.answer_scoring, document)
    yield from _differences("floors", agreed.floors, found.floors, document)
    if told := [*_other_sources(agreed, found), *_other_versions(agreed, found)]:
        more = f" and {len(told) - _MOST_NAMED} more" if len(told) > _MOST_NAMED else ""
        yield Problem(
            f"the program isn't the one that was agreed on: {', '.join(told[:_MOST_NAMED])}{more}",
            document,
            "sources",
            "review the run with the code that it carries: inputs/harness of its folder",
        )
    for name in ("holdout_sha256", "control_references", "control_baseline", "clock", "recall_facts"):
        if getattr(agreed, name) != getattr(found, name):
            yield Problem("it isn't what was agreed on", document, name)


def _differences(key: str, agreed: Mapping[str, str], found: Mapping[str, str], document: str) -> Iterator[Problem]:
    for name in sorted(agreed.keys() | found.keys()):
        if name not in found:
            yield Problem(f"{name} was agreed on, and is gone", document, key)
        elif name not in agreed:
            yield Problem(f"{name} was not there when the contract was made", document, key)
        elif agreed[name] != found[name]:
            yield Problem(f"{name} isn't what was agreed on", document, key)


def _other_sources(agreed: Contract, found: Contract) -> Iterator[str]:
    before = {path: digest for group in agreed.sources.values() for path, digest in group.items()}
    after = {path: digest for group in found.sources.values() for path, digest in group.items()}
    for path in sorted(before.keys() | after.keys()):
        if path not in after:
            yield f"{path} is gone"
        elif path not in before:
            yield f"{path} is new"
        elif before[path] != after[path]:
            yield f"{path} is another"


def _other_versions(agreed: Contract, found: Contract) -> Iterator[str]:
    for name in sorted(agreed.dependencies.keys() | found.dependencies.keys()):
        before, after = (one.dependencies.get(name, "not pinned") for one in (agreed, found))
        if before != after:
            yield f"{name} is {after}, not {before}"


def _sources(sources: Mapping[str, bytes]) -> dict[str, dict[str, str]]:
    """What decides: what reviews, compares and reports, by group, and everything that it imports when it runs."""
    groups = {group: _digests(prefixes, sources) for group, prefixes in SOURCES.items()}
    roots = {path for paths in groups.values() for path in paths}
    imported = (closure(roots, sources) | {path for path in ENTRANCES if path in sources}) - roots
    return {**groups, IMPORTED: {path: sha256_digest(sources[path]) for path in sorted(imported)}}


def _digests(prefixes: tuple[str, ...], sources: Mapping[str, bytes]) -> dict[str, str]:
    return {
        path: sha256_digest(data)
        for path, data in sorted(sources.items())
        if any(path == prefix or (prefix.endswith("/") and path.startswith(prefix)) for prefix in prefixes)
    }
