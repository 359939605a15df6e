"""A run's output is made into a packet for people, and what they decide into an assessment beside the run's results.

Nothing is written over: a review has a folder of its own, and so has each assessment. The run itself isn't touched.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from runner.adjudicate.assessing import Reviewed, assess
from runner.adjudicate.blinding import Bound, blind, outputs_of
from runner.adjudicate.comparing import key_differences, packet_differences
from runner.adjudicate.contracting import register_problems
from runner.adjudicate.deciding import undecided
from runner.adjudicate.form import render_form
from runner.adjudicate.judging import judged
from runner.adjudicate.telling import told
from runner.core.documents import Document
from runner.core.errors import EvidenceError, Problem, StudyError
from runner.core.reconsolidation.key import Key
from runner.core.reconsolidation.packet import Commitment
from runner.core.reconsolidation.register import HoldoutRegister, Inspected
from runner.measure.agreement import alpha_ppm
from runner.pipeline.contracts import read_register
from runner.pipeline.measuring import run_facts
from runner.pipeline.reviewed import ReviewedRun, is_run, read_reviewed
from runner.pipeline.submitted import NO_FILE, submitted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runner.adjudicate.assessing import Given
    from runner.core.reconsolidation.assessment import Assessment
    from runner.core.reconsolidation.packet import Packet
    from runner.pipeline.world import World

D = TypeVar("D", bound=Document)

PUBLIC: Final = "public"
"""What reviewers get."""
PRIVATE: Final = "private"
"""What they don't get before they have decided."""
PACKET: Final = f"{PUBLIC}/packet.json"
FORM: Final = f"{PUBLIC}/form.html"
DECISIONS: Final = f"{PUBLIC}/decisions.json"
COMMITMENT: Final = f"{PUBLIC}/commitment.json"
KEY: Final = f"{PRIVATE}/key.json"
WHERE: Final = f"{PRIVATE}/run.txt"
"""Where the run lay when the review was prepared; bound to nothing, and not to be published."""
ASSESSMENT: Final = "assessment.json"
ASSESSMENT_TEXT: Final = "assessment.txt"


@dataclass(frozen=True)
class Prepared:
    """What a review consists of."""

    entries: int
    key_sha256: str
    packet_sha256: str


@dataclass(frozen=True)
class Scoring:
    """What is scored, and where things lie."""

    review: Path
    """Folder of the review."""
    decisions: tuple[Path, ...]
    """One file a reviewer; a signature lies beside it, with `.sig` after the name."""
    out: Path
    register: Path
    """Which holdouts were inspected: the file that lies beside the terms of the run's contract."""
    floors: Mapping[str, Path] = field(default_factory=dict)
    """Name of a floor of the contract -> a newer file of the study that it is of."""
    run: Path | None = None
    """Folder of the run; None: where it was when the review was prepared."""


def prepare(world: World, folder: Path, out: Path) -> Prepared:
    """`out`, which wasn't there before, holds the review of the run in `folder`: its public and its private part.

    Raises:
        EvidenceError: the run has no contract, broke it, or is damaged.
        StudyError: something stands at `out` already.
    """
    run = read_reviewed(world, folder)
    packet, key = _blinded(run, _bound(world.entropy.token(), run))
    commitment = _commitment(packet, key)
    documents = {
        PACKET: packet.to_bytes(),
        FORM: render_form(packet),
        DECISIONS: undecided(packet).to_bytes(),
        COMMITMENT: commitment.to_bytes(),
        KEY: key.to_bytes(),
        WHERE: f"{folder.absolute()}\n".encode("utf-8", "surrogateescape"),
    }
    with _claimed(world, out):
        # Before anything lies in it.
        world.files.seclude(out / PRIVATE)
        _write(world, out, documents)
        for name in (KEY, WHERE):
            world.files.seclude(out / name)
    return Prepared(len(packet.entries), commitment.key_sha256, commitment.packet_sha256)


def score(world: World, scoring: Scoring) -> tuple[Assessment, str]:
    """The assessment of the decisions, which stands in `scoring.out` from now on, and the same in words.

    The register says that the run was assessed, unless it does already: by the same decisions, with the same outcome.

    Raises:
        EvidenceError: packet, form, key, run or decisions aren't what they must be; each fault is named, and nothing
            was written.
        StudyError: something stands at `scoring.out` already, or a file isn't there.
    """
    # Where the name of the register is a link, what it leads to is the register.
    register_path = scoring.register.resolve()
    hint = "give --register FILE: the holdout-register.json that lies beside the contract.toml of the study"
    register = read_register(world, register_path, hint)
    key = _document(world, scoring.review / KEY, Key)
    run = read_reviewed(world, scoring.run or _where(world, scoring.review))
    if problems := register_problems(run.contract, register, str(register_path)):
        raise EvidenceError.of(problems)
    packet = _rebuilt(world, scoring.review, run, key)
    given = submitted(world, scoring.decisions, packet, run.contract.terms)
    found, seen = _found(world, _Assessing(run, key, given, _floors(world, scoring, run)), register)
    text = told(found)
    with _claimed(world, scoring.out):
        if seen is not None:
            # Before anybody can read the assessment.
            world.files.write(register_path, register.added(seen).to_bytes())
        _write(world, scoring.out, {ASSESSMENT: found.to_bytes(), ASSESSMENT_TEXT: text.encode("utf-8")})
    return found, text


@dataclass(frozen=True)
class _Assessing:
    """What an assessment follows from, but for what was inspected before it."""

    run: ReviewedRun
    key: Key
    given: Sequence[Given]
    floors: Mapping[str, bytes]
    """Name of a floor -> the newer file that was given."""


def _found(world: World, what: _Assessing, register: HoldoutRegister) -> tuple[Assessment, Inspected | None]:
    """The assessment, and what is to be added to the register; nothing where it has this very assessment."""
    decisions = tuple(sorted(one.sha256 for one in what.given))
    lock = what.run.identity.lock_sha256
    for number, entry in enumerate(register.inspected):
        if (entry.lock_sha256, entry.decisions) == (lock, decisions):
            again = _assessed(world, what, register.before(number))
            if again.digest() == entry.assessment_sha256:
                return again, None
    found = _assessed(world, what, register)
    seen = Inspected(
        holdout_sha256=what.run.contract.holdout_sha256,
        run=what.run.identity.name,
        lock_sha256=lock,
        date=world.clock.utc()[:10],
        assessment_sha256=found.digest(),
        decisions=decisions,
    )
    return found, seen


def _assessed(world: World, what: _Assessing, register: HoldoutRegister) -> Assessment:
    run, given = what.run, what.given
    first = register.first(run.contract.holdout_sha256)
    # What was run over a holdout is known from then on: a rerun is never the first.
    is_first = first is None or first.lock_sha256 == run.identity.lock_sha256
    earlier = run.rerun_of if first is None or is_first else first.run
    entries = judged(what.key, [one.decisions for one in given])
    outputs = [entry for entry in entries if not entry.known.attention]
    rows = [[entry.said[number] for entry in outputs] for number in range(len(given))]
    facts = run_facts(world, run, earlier, what.floors)
    return assess(Reviewed(run.contract, what.key, run.corpora, facts, register), given, entries, alpha_ppm(rows))


def _floors(world: World, scoring: Scoring, run: ReviewedRun) -> dict[str, bytes]:
    known = [floor.name for floor in run.contract.terms.floors]
    problems = [
        Problem(f"the contract has no floor {name!r}", "--floor", hint=f"it has: {', '.join(known) or 'none'}")
        for name in scoring.floors
        if name not in known
    ]
    read = {name: world.files.read(path) for name, path in scoring.floors.items()}
    problems += [Problem(NO_FILE, str(scoring.floors[name])) for name, data in read.items() if data is None]
    if problems:
        raise StudyError.of(problems)
    return {name: data for name, data in read.items() if data is not None}


def _bound(secret: str, run: ReviewedRun) -> Bound:
    return Bound(secret, run.identity, run.observations_sha256, run.contract_sha256)


def _blinded(run: ReviewedRun, bound: Bound) -> tuple[Packet, Key]:
    outputs = outputs_of(run.plan.trials, run.corpora, run.observations)
    return blind(outputs, run.corpora, bound, run.contract.terms.attention_checks)


def _commitment(packet: Packet, key: Key) -> Commitment:
    return Commitment(key_sha256=key.digest(), packet_sha256=packet.digest())


def _where(world: World, review: Path) -> Path:
    data = world.files.read(review / WHERE)
    if data is None:
        raise StudyError("nobody says where the run lies", document=str(review / WHERE), hint="give --run RUN")
    name = data.decode("utf-8", "surrogateescape").rstrip("\n")
    # A name that no file can have is as good as none.
    if not name or "\0" in name or not is_run(world, Path(name)):
        raise StudyError(
            "it names no run, or one that isn't there any more", document=str(review / WHERE), hint="give --run RUN"
        )
    return Path(name)


def _rebuilt(world: World, review: Path, run: ReviewedRun, key: Key) -> Packet:
    """The packet as key and observations give it, which is what lies in the review's folder."""
    bound = _bound(key.secret, run)
    problems = [
        Problem(f"it is bound to another {what}, {before}", KEY, name)
        for what, name, before, found in (
            *_named(key, run),
            ("observation", "observations_sha256", key.observations_sha256, bound.observations_sha256),
            ("contract", "contract_sha256", key.contract_sha256, bound.contract_sha256),
        )
        if before != found
    ]
    if problems:
        raise EvidenceError.of(problems)
    packet, again = _blinded(run, bound)
    held = {name: world.files.read(review / name) for name in (PACKET, FORM, KEY, COMMITMENT)}
    problems = [Problem("it is missing", name) for name, data in held.items() if data is None]
    # A document that is there and empty isn't one that is missing.
    for name, data in held.items():
        if data is not None:
            problems += _differences(name, data, packet, again)
    if problems:
        raise EvidenceError.of(problems)
    return packet


def _named(key: Key, run: ReviewedRun) -> Iterator[tuple[str, str, str, str]]:
    """What tells the run that `key` is of from `run`."""
    for name in type(key.run).model_fields:
        what = "run" if name == "name" else f"run, {key.run.name}, with the {name.removesuffix('_sha256')}"
        yield what.replace("_", " "), f"run.{name}", getattr(key.run, name), getattr(run.identity, name)


def _differences(name: str, data: bytes, packet: Packet, key: Key) -> Sequence[Problem]:
    """In what the document `name` of a review differs from what packet and key give."""
    if name == PACKET:
        return packet_differences(data, packet, PACKET)
    if name == KEY:
        return key_differences(data, key, KEY)
    if name == FORM and data != render_form(packet):
        return [Problem("it isn't the form of this packet, or was made by another version", FORM)]
    if name == COMMITMENT and data != _commitment(packet, key).to_bytes():
        return [Problem("another key or another packet was committed to", COMMITMENT)]
    return ()


@contextlib.contextmanager
def _claimed(world: World, folder: Path) -> Iterator[None]:
    """`folder` was made by this call; nothing of it is there after an error."""
    if not world.files.claim(folder):
        raise StudyError("something stands there already, and nothing is written over", document=str(folder))
    try:
        yield
    except BaseException:
        world.files.remove(folder)
        raise


def _write(world: World, folder: Path, documents: Mapping[str, bytes]) -> None:
    for name, data in documents.items():
        world.files.write(folder / name, data)


def _document(world: World, path: Path, model: type[D]) -> D:
    data = world.files.read(path)
    if data is None:
        raise StudyError(NO_FILE, document=str(path), hint="give the folder of a review")
    return model.from_bytes(data, str(path))
