"""What reviewers hand in: files of decisions and their signatures, read whole, or refused with all that is wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from runner.adjudicate.assessing import Given
from runner.adjudicate.deciding import decision_problems
from runner.core.canonical import sha256_digest
from runner.core.errors import EvidenceError, PairbenchError, Problem, StudyError
from runner.core.reconsolidation.packet import Decisions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.core.reconsolidation.contract import Terms
    from runner.core.reconsolidation.packet import Packet
    from runner.pipeline.world import World

SIGNATURE_SUFFIX: Final = ".sig"
NO_FILE: Final = "no regular file stands there"
"""Also of a folder, a pipe or a device: somebody who reads that a file isn't there looks for another mistake."""


@dataclass
class _Read:
    """Files of decisions, by their names, and what is wrong with those that can't be read."""

    decisions: dict[str, tuple[Decisions, bytes]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


def submitted(world: World, paths: Sequence[Path], packet: Packet, terms: Terms) -> list[Given]:
    """The decisions of every reviewer, by name, without a fault.

    Raises:
        EvidenceError: with everything that is wrong with them.
        StudyError: one isn't there, or given twice.
    """
    read = _read(world, paths)
    documents = {name: one for name, (one, _) in read.decisions.items()}
    problems = [*read.problems, *decision_problems(documents, packet, terms, unread=len(paths) - len(documents))]
    signed, faults = _signed(world, read, terms)
    problems += faults
    if problems:
        raise EvidenceError.of(problems)
    given = [Given(one, sha256_digest(data), name in signed) for name, (one, data) in read.decisions.items()]
    return sorted(given, key=lambda one: one.decisions.reviewer.name)


def sign(world: World, decisions: Path, key: Path) -> Path:
    """The path of a signature of the file `decisions` with the SSH key at `key`, which lies beside it.

    Raises:
        StudyError: there are no such decisions, or a signature is there already.
        EnvironmentNotReady: the key can't be used.
    """
    data = world.files.read(decisions)
    if data is None:
        raise StudyError(NO_FILE, document=str(decisions))
    Decisions.from_bytes(data, str(decisions))
    place = decisions.with_name(decisions.name + SIGNATURE_SUFFIX)
    if world.files.read(place) is not None:
        raise StudyError("there is a signature already, and nothing is written over", document=str(place))
    world.files.write(place, world.signatures.sign(data, key))
    return place


def _read(world: World, paths: Sequence[Path]) -> _Read:
    read = _Read()
    for path in paths:
        name = str(path)
        data = world.files.read(path)
        if data is None:
            raise StudyError(NO_FILE, document=name, hint="give files of decisions, each with --decisions FILE")
        if name in read.decisions:
            raise StudyError("the file is given twice", document=name)
        try:
            read.decisions[name] = Decisions.from_bytes(data, name), data
        except PairbenchError as error:
            read.problems += error.problems
    return read


def _signed(world: World, read: _Read, terms: Terms) -> tuple[set[str], list[Problem]]:
    """The files whose signature is good, and what is wrong with the others that need one."""
    keys = {reviewer.name: reviewer.ssh_public_key for reviewer in terms.reviewers}
    signed: set[str] = set()
    problems: list[Problem] = []
    for name, (decisions, data) in read.decisions.items():
        public_key = keys.get(decisions.reviewer.name, "")
        if not public_key:
            continue
        place = f"{name}{SIGNATURE_SUFFIX}"
        signature = world.files.read(Path(place))
        if signature is None:
            told = f"decisions of {decisions.reviewer.name!r} must be signed with the key of the contract"
            problems.append(Problem(told, place, hint=f"pairbench review sign {name} --key KEY"))
        elif fault := world.signatures.fault(data, signature, public_key):
            problems.append(Problem(f"it isn't a signature of {name} by {decisions.reviewer.name!r}: {fault}", place))
        else:
            signed.add(name)
    return signed, problems
