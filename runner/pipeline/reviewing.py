"""A run's output is made into a packet for people, and what they decide into an assessment beside the run's results.

Nothing is written over: a review has a folder of its own, and so has each assessment. The run itself isn't touched.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from runner.adjudicate.assessing import Given, Reviewed, assess
from runner.adjudicate.blinding import Bound, blind, outputs_of
from runner.adjudicate.comparing import key_differences, packet_differences
from runner.adjudicate.deciding import decision_problems, undecided
from runner.adjudicate.form import render_form
from runner.adjudicate.judging import judged
from runner.adjudicate.telling import told
from runner.core.canonical import sha256_digest
from runner.core.documents import Document
from runner.core.errors import EvidenceError, PairbenchError, Problem, StudyError
from runner.core.reconsolidation.key import Key
from runner.core.reconsolidation.packet import Commitment, Decisions
from runner.core.reconsolidation.register import Inspected
from runner.measure.agreement import alpha_ppm
from runner.pipeline.contracts import read_register
from runner.pipeline.measuring import run_facts
from runner.pipeline.reviewed import ReviewedRun, read_reviewed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
SIGNATURE_SUFFIX: Final = ".sig"


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
    run: Path | None = None
    """Folder of the run; None: where it was when the review was prepared."""


def prepare(world: World, folder: Path, out: Path) -> Prepared:
    """`out`, which wasn't there before, holds the review of the run in `folder`: its public and its private part.

    Raises:
        EvidenceError: the run has no contract, broke it, or is damaged.
        StudyError: something stands at `out` already.
    """
    with _claimed(world, out):
        run = read_reviewed(world, folder)
        bound = Bound(world.entropy.token(), folder.name, run.observations_sha256, run.contract_sha256)
        packet, key = _blinded(run, bound)
        commitment = _commitment(packet, key)
        documents = {
            PACKET: packet.to_bytes(),
            FORM: render_form(packet),
            DECISIONS: undecided(packet).to_bytes(),
            COMMITMENT: commitment.to_bytes(),
            KEY: key.to_bytes(),
            WHERE: f"{folder.absolute()}\n".encode(),
        }
        _write(world, out, documents)
    return Prepared(len(packet.entries), commitment.key_sha256, commitment.packet_sha256)


def score(world: World, scoring: Scoring) -> tuple[Assessment, str]:
    """The assessment of the decisions, which stands in `scoring.out` from now on, and the same in words.

    The holdout of the run is marked as inspected.

    Raises:
        EvidenceError: packet, form, key, run or decisions aren't what they must be; each fault is named, and nothing
            was written.
        StudyError: something stands at `scoring.out` already, or a file isn't there.
    """
    with _claimed(world, scoring.out):
        register = read_register(world, scoring.register)
        key = _document(world, scoring.review / KEY, Key)
        run = read_reviewed(world, scoring.run or _where(world, scoring.review))
        packet = _rebuilt(world, scoring.review, run, key)
        given = _given(world, scoring, packet, run)
        first = register.first(run.contract.holdout_sha256)
        # What was run over a holdout is known from then on: a rerun is never the first.
        earlier = run.rerun_of if first is None or first.run == key.run else first.run
        found = _assessed(world, run, key, given, earlier)
        text = told(found)
        if first is None:
            # Before anybody can read the assessment.
            seen = Inspected(holdout_sha256=run.contract.holdout_sha256, run=key.run, date=world.clock.utc()[:10])
            world.files.write(scoring.register, register.marked(seen).to_bytes())
        _write(world, scoring.out, {ASSESSMENT: found.to_bytes(), ASSESSMENT_TEXT: text.encode("utf-8")})
    return found, text


def _assessed(world: World, run: ReviewedRun, key: Key, given: Sequence[Given], earlier: str) -> Assessment:
    entries = judged(key, [one.decisions for one in given])
    outputs = [entry for entry in entries if not entry.known.attention]
    rows = [[entry.said[number] for entry in outputs] for number in range(len(given))]
    facts = run_facts(world, run, earlier)
    return assess(Reviewed(run.contract, key, run.corpora, facts), given, entries, alpha_ppm(rows))


def sign(world: World, decisions: Path, key: Path) -> Path:
    """The path of a signature of the file `decisions` with the SSH key at `key`, which lies beside it.

    Raises:
        StudyError: there are no such decisions, or a signature is there already.
        EnvironmentNotReady: the key can't be used.
    """
    data = world.files.read(decisions)
    if data is None:
        raise StudyError("there is no such file", document=str(decisions))
    Decisions.from_bytes(data, str(decisions))
    place = decisions.with_name(decisions.name + SIGNATURE_SUFFIX)
    if world.files.read(place) is not None:
        raise StudyError("there is a signature already, and nothing is written over", document=str(place))
    world.files.write(place, world.signatures.sign(data, key))
    return place


def _blinded(run: ReviewedRun, bound: Bound) -> tuple[Packet, Key]:
    outputs = outputs_of(run.plan.trials, run.corpora, run.observations)
    return blind(outputs, run.corpora, bound, run.contract.terms.attention_checks)


def _commitment(packet: Packet, key: Key) -> Commitment:
    return Commitment(key_sha256=key.digest(), packet_sha256=packet.digest())


def _where(world: World, review: Path) -> Path:
    data = world.files.read(review / WHERE)
    if data is None:
        raise StudyError("nobody says where the run lies", document=str(review / WHERE), hint="give --run RUN")
    return Path(data.decode("utf-8", "surrogateescape").rstrip("\n"))


def _rebuilt(world: World, review: Path, run: ReviewedRun, key: Key) -> Packet:
    """The packet as key and observations give it, which is what lies in the review's folder."""
    problems = [
        Problem(f"it is bound to another {what}, {bound}", KEY, name)
        for what, name, bound, found in (
            ("observation", "observations_sha256", key.observations_sha256, run.observations_sha256),
            ("contract", "contract_sha256", key.contract_sha256, run.contract_sha256),
        )
        if bound != found
    ]
    if problems:
        raise EvidenceError.of(problems)
    packet, again = _blinded(run, Bound(key.secret, key.run, key.observations_sha256, key.contract_sha256))
    held = {name: world.files.read(review / name) for name in (PACKET, FORM, KEY, COMMITMENT)}
    problems = [Problem("it is missing", name) for name, data in held.items() if data is None]
    # A document that is there and empty isn't one that is missing.
    for name, data in held.items():
        if data is not None:
            problems += _differences(name, data, packet, again)
    if problems:
        raise EvidenceError.of(problems)
    return packet


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


def _given(world: World, scoring: Scoring, packet: Packet, run: ReviewedRun) -> list[Given]:
    """The decisions of every reviewer, by name, without a fault."""
    read: dict[str, tuple[Decisions, bytes]] = {}
    problems: list[Problem] = []
    for path in scoring.decisions:
        data = world.files.read(path)
        if data is None:
            raise StudyError("there are no such decisions", document=str(path))
        if str(path) in read:
            raise StudyError("the file is given twice", document=str(path))
        try:
            read[str(path)] = Decisions.from_bytes(data, str(path)), data
        except PairbenchError as error:
            problems += error.problems
    problems += decision_problems({name: one for name, (one, _) in read.items()}, packet, run.contract.terms)
    signed, faults = _signed(world, read, run)
    problems += faults
    if problems:
        raise EvidenceError.of(problems)
    given = [Given(one, sha256_digest(data), name in signed) for name, (one, data) in read.items()]
    return sorted(given, key=lambda one: one.decisions.reviewer.name)


def _signed(
    world: World, read: Mapping[str, tuple[Decisions, bytes]], run: ReviewedRun
) -> tuple[set[str], list[Problem]]:
    """The files whose signature is good, and what is wrong with the others that need one."""
    keys = {reviewer.name: reviewer.ssh_public_key for reviewer in run.contract.terms.reviewers}
    signed: set[str] = set()
    problems: list[Problem] = []
    for name, (decisions, data) in read.items():
        public_key = keys.get(decisions.reviewer.name, "")
        if not public_key:
            continue
        place = f"{name}{SIGNATURE_SUFFIX}"
        signature = world.files.read(Path(place))
        if signature is None:
            told_ = f"decisions of {decisions.reviewer.name!r} must be signed with the key of the contract"
            problems.append(Problem(told_, place, hint=f"pairbench review sign {name} --key KEY"))
        elif fault := world.signatures.fault(data, signature, public_key):
            problems.append(Problem(f"it isn't a signature of {name} by {decisions.reviewer.name!r}: {fault}", place))
        else:
            signed.add(name)
    return signed, problems


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
        raise StudyError("there is no such file", document=str(path), hint="give the folder of a review")
    return model.from_bytes(data, str(path))
