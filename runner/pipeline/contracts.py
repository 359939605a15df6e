"""A contract is made of its terms before a run, and held against everything that it pins whenever somebody asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runner.adjudicate.contracting import Pinned, drift, make_contract
from runner.core import layout
from runner.core.declared import read_declared
from runner.core.errors import EvidenceError, Problem, StudyError
from runner.core.quantities import Unavailable
from runner.core.reconsolidation.contract import Contract, ContractFile
from runner.core.reconsolidation.floors import floor_figure
from runner.core.reconsolidation.register import HoldoutRegister
from runner.plan.reconsolidation import read_reconsolidation

if TYPE_CHECKING:
    from pathlib import Path

    from runner.pipeline.world import World

REGISTER: Final = "holdout-register.json"
"""Beside `contract.toml`."""
_NO_HOLDOUT: Final = HoldoutRegister(inspected=()).to_bytes().decode("utf-8").strip()


def freeze_contract(world: World, path: Path) -> Contract:
    """The contract of the terms in the file at `path`.

    Raises:
        StudyError: the terms, the corpus or a floor are wrong, or the terms claim a holdout that was inspected.
    """
    data = world.files.read(path)
    if data is None:
        raise StudyError("there is no such contract", document=str(path))
    declared = read_declared(ContractFile, data, str(path))
    register = read_register(world, path.parent / REGISTER, f"one that names no holdout yet is {_NO_HOLDOUT}")
    contract = make_contract(declared.terms(), _pinned(world, path.parent / declared.corpus), register)
    problems = [*_claim(register, path, contract), *_floors(world, path, contract)]
    if problems:
        raise StudyError.of(problems)
    return contract


def floor_files(world: World, path: Path, contract: Contract) -> dict[str, bytes]:
    """Name in a run's folder -> bytes of every file with a floor of `contract`, whose terms stand at `path`.

    Raises:
        StudyError: one isn't there any more.
    """
    found = {floor: world.files.read(path.parent / floor.file) for floor in contract.terms.floors}
    gone = [
        Problem(f"floor {floor.name!r}: its file is gone", str(path), "floors")
        for floor in found
        if found[floor] is None
    ]
    if gone:
        raise StudyError.of(gone)
    return {layout.floor(floor.name): data for floor, data in found.items() if data is not None}


def contract_problems(world: World, contract: Contract, manifest: Path, document: str) -> tuple[Problem, ...]:
    """Everything that `contract` pins and that is no longer what it was; the corpus is the one at `manifest`."""
    try:
        return drift(contract, _pinned(world, manifest), document)
    except StudyError as error:
        return error.problems


def read_register(world: World, path: Path, hint: str) -> HoldoutRegister:
    """The register at `path`; `hint` says what to do where there is none.

    Raises:
        StudyError: there is none, or it is damaged.
    """
    data = world.files.read(path)
    if data is None:
        raise StudyError("there is no register of inspected holdouts", document=str(path), hint=hint)
    try:
        return HoldoutRegister.from_bytes(data, str(path))
    except EvidenceError as error:
        raise StudyError.of(error.problems) from error


def _pinned(world: World, manifest: Path) -> Pinned:
    sources = world.sources()
    corpus = read_reconsolidation(manifest, world.files, sources)
    return Pinned(corpus.files, corpus.manifest, corpus.splits, sources, world.versions())


def _claim(register: HoldoutRegister, path: Path, contract: Contract) -> list[Problem]:
    first = register.first(contract.holdout_sha256)
    if first is None or contract.terms.holdout_seen_before:
        return []
    told = f"the holdout was inspected by {first.run} on {first.date}: it can't be claimed as fresh"
    return [Problem(told, str(path), "holdout_seen_before", "say holdout_seen_before = true")]


def _floors(world: World, path: Path, contract: Contract) -> list[Problem]:
    problems = []
    for floor in contract.terms.floors:
        place = path.parent / floor.file
        figure = floor_figure(floor, str(place), world.files.read(place))
        if isinstance(figure, Unavailable):
            problems.append(Problem(f"floor {floor.name!r} can't be held: {figure.reason}", str(path), "floors"))
    return problems
