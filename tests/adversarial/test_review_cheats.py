"""Threat: somebody wants another outcome of a review, and may write any file of it, of its run or of the program.

Whatever they try either has no effect on figures, or is named, and nothing is written.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runner.core import layout
from runner.core.canonical import canonical_bytes, sha256_digest
from runner.core.errors import ExitCode, PairbenchError, StudyError
from runner.core.reconsolidation.contract import Reviewer
from runner.core.reconsolidation.packet import ATTESTATION, Packet
from runner.core.reconsolidation.register import HoldoutRegister, Inspected
from runner.measure.reconsolidation import v1
from runner.pipeline.contracts import freeze_contract
from runner.pipeline.reviewing import Scoring, prepare, score
from runner.pipeline.submitted import sign
from runner.plan.reconsolidation import SCORER
from tests.fakes.files import MemoryFiles
from tests.fakes.reviews import (
    FIXTURE,
    OTHER_PERSON,
    PERSON,
    REGISTER,
    RUN,
    TERMS,
    Made,
    chained,
    changed,
    corpus,
    decided,
    seal_run,
    sources,
    steps_of,
    worded,
    world_of,
    write_run,
)
from tests.fakes.signatures import public_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.core.reconsolidation.observation import Hypothesis

REVIEW = Path("/review")
OUT = Path("/assessment")
MINE = Path("/mine.json")
KEY = Path("/ada.key")


def short_support(case: Any, number: int, arm: str) -> list[Hypothesis]:
    """Systems that leave out one source of each reference."""
    found = worded(case, number, arm)
    return [one.model_copy(update={"support": one.support[1:]}) for one in found]


PLAIN = Made()
SHORT = Made(hypotheses=short_support)
TWO = changed(Made(), least_reviewers=2)
SIGNED = changed(
    Made(),
    reviewers=(
        Reviewer(name=PERSON, kind="human", ssh_public_key=public_key("ada")),
        Reviewer(name=OTHER_PERSON, kind="human"),
        Reviewer(name=FIXTURE, kind="fixture"),
    ),
)


@dataclass
class Case:
    """One review, as whoever cheats finds it: prepared, and decided in `MINE`."""

    files: MemoryFiles
    program: dict[str, bytes] = field(default_factory=lambda: dict(sources()))
    versions: dict[str, str] = field(default_factory=dict)
    scored: list[Path] = field(default_factory=lambda: [MINE])

    def json(self, path: Path) -> Any:
        return json.loads(self.files.read(path) or b"")

    def put(self, path: Path, value: Any) -> None:
        self.files.write(path, canonical_bytes(value) + b"\n")

    def edit(self, path: Path, change: Callable[[Any], object]) -> None:
        value = self.json(path)
        change(value)
        self.put(path, value)

    def packet(self) -> Packet:
        data = self.files.read(REVIEW / "public/packet.json")
        assert data is not None
        return Packet.from_bytes(data, "packet.json")

    def ledger(self, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
        steps = steps_of(self.files.read(RUN / layout.LEDGER) or b"")
        self.files.write(RUN / layout.LEDGER, chained(change(steps)))
        seal_run(self.files)

    def score(self) -> None:
        world = world_of(self.files, self.program, self.versions)
        score(world, Scoring(REVIEW, tuple(self.scored), OUT, REGISTER))


def inspected(run: str, holdout: str) -> Inspected:
    """An assessment of a run that isn't the one of these tests."""
    told = {"lock_sha256": sha256_digest(run.encode()), "assessment_sha256": "", "decisions": ()}
    return Inspected.model_validate({"holdout_sha256": holdout, "run": run, "date": "2026-01-01", **told})


_MADE: dict[int, MemoryFiles] = {}


def made_case(made: Made | None = None) -> Case:
    """A case of its own; runs and reviews are made once."""
    made = made or PLAIN
    if id(made) not in _MADE:
        files = MemoryFiles()
        write_run(files, made)
        prepare(world_of(files), RUN, REVIEW)
        files.write(KEY, b"private ada")
        files.write(MINE, decided(Case(files).packet()).to_bytes())
        _MADE[id(made)] = files
    return Case(MemoryFiles(held=dict(_MADE[id(made)].held)))


def decision(change: Callable[[Any, Any], object]) -> Callable[[Case], None]:
    """A change of the first decision that calls something equivalent; it is given all decisions, and that one."""

    def act(case: Case) -> None:
        def edit(value: Any) -> None:
            one = next(one for one in value["decisions"] if one["decision"] == "equivalent")
            change(value["decisions"], one)

        case.edit(MINE, edit)

    return act


def reviewer(**said: Any) -> Callable[[Case], None]:
    return lambda case: case.edit(MINE, lambda value: value["reviewer"].update(said))


def foreign(decisions: Any, one: Any) -> None:
    other = next(item for item in decisions if item["decision"] == "equivalent" and item is not one)
    one["reference"] = other["reference"]


def other_support(case: Case) -> None:
    """A candidate with the words of a reference and one source too few is called equivalent."""
    entry = next(entry for entry in case.packet().entries if entry.references and not same_support(entry))

    def edit(value: Any) -> None:
        one = next(one for one in value["decisions"] if one["entry"] == entry.entry)
        one.update(decision="equivalent", reference=entry.references[0].reference)

    case.edit(MINE, edit)


def same_support(entry: Any) -> bool:
    return any(reference.support == entry.support for reference in entry.references)


def twice(case: Case) -> None:
    case.files.write(Path("/again.json"), case.files.read(MINE) or b"")
    case.scored.append(Path("/again.json"))


def drop(kind: str, arm: str = "") -> Callable[[Case], None]:
    """The lines of one kind are gone from the ledger, which is chained anew."""

    def change(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [step for step in steps if step["kind"] != kind or (arm and step["detail"].get("arm") != arm)]

    return lambda case: case.ledger(change)


def move(kind: str, to: int) -> Callable[[Case], None]:
    def change(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
        moved = next(step for step in steps if step["kind"] == kind)
        rest = [step for step in steps if step is not moved]
        return [*rest[:to], moved, *rest[to:]] if to >= 0 else [*rest, moved]

    return lambda case: case.ledger(change)


def drifted(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for step in steps:
        if step["kind"] == "contract_rechecked" and step["detail"]["arm"] == "merge_only":
            step["detail"]["drift"] = "holdout.json isn't what was agreed on"
    return steps


def observations(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[Case], None]:
    """The lines of the observations change, and whoever cheats binds key and commitment to them anew."""

    def act(case: Case) -> None:
        path = RUN / layout.OBSERVATIONS
        lines = (case.files.read(path) or b"").splitlines(keepends=True)
        case.files.write(path, b"".join(change(lines)))
        seal_run(case.files)
        rebind(case, "observations_sha256", path)
        summary = sha256_digest(case.files.read(RUN / layout.SUMMARY) or b"")
        case.edit(REVIEW / "private/key.json", lambda key: key["run"].update(summary_sha256=summary))

    return act


def rebind(case: Case, name: str, path: Path) -> None:
    digest = sha256_digest(case.files.read(path) or b"")
    case.edit(REVIEW / "private/key.json", lambda key: key.update({name: digest}))


def relabelled(line: bytes, **changes: Any) -> bytes:
    return canonical_bytes({**json.loads(line), **changes}) + b"\n"


def source(path: str) -> Callable[[Case], None]:
    def act(case: Case) -> None:
        case.program[path] += b"\n# kinder\n"

    return act


def corpus_file(name: str) -> Callable[[Case], None]:
    def act(case: Case) -> None:
        path = RUN / layout.RECONSOLIDATION / name
        case.files.write(
            path, (case.files.read(path) or b"").replace(b"Osprey needs Python 3.11", b"Osprey needs Python 3.12")
        )

    return act


def contract(change: Callable[[Any], object]) -> Callable[[Case], None]:
    return lambda case: case.edit(RUN / layout.CONTRACT, change)


def public(name: str, change: Callable[[Any], object]) -> Callable[[Case], None]:
    return lambda case: case.edit(REVIEW / name, change)


def taken_back(case: Case) -> None:
    path = RUN / layout.OBSERVATIONS
    case.files.write(path, (case.files.read(path) or b"").replace(b"as it seems to", b"as it was to", 1))
    seal_run(case.files)


def without_summary(case: Case) -> None:
    for name in (layout.SUMMARY, layout.CHECKSUM):
        case.files.remove(RUN / name)


def signed_by(word: bytes) -> Callable[[Case], None]:
    def act(case: Case) -> None:
        case.files.write(KEY, b"private " + word)
        sign(world_of(case.files), MINE, KEY)

    return act


def signed_then_changed(case: Case) -> None:
    signed_by(b"ada")(case)
    decision(lambda _, one: one.update(note="changed my mind"))(case)


# Name -> the run, what whoever cheats does, and what they are told.
CHEATS: dict[str, tuple[Made, Callable[[Case], None], str]] = {
    "a decision left out": (PLAIN, decision(lambda every, one: every.remove(one)), "there is no decision on e-"),
    "a decision twice": (PLAIN, decision(lambda every, one: every.append(copy.deepcopy(one))), "is decided 2 times"),
    "a decision on nothing": (PLAIN, decision(lambda every, one: every.append({**one, "entry": "e-0"})), "the packet has no entry e-0"),
    "an undecided entry": (PLAIN, decision(lambda _, one: one.update(decision=None, reference=None)), "is undecided"),
    "nothing decided at all": (PLAIN, lambda case: case.scored.__setitem__(0, REVIEW / "public/decisions.json"), "is undecided"),
    "equivalent to nothing": (PLAIN, decision(lambda _, one: one.update(reference=None)), "is equivalent to no reference that is named"),
    "a reference of another entry": (PLAIN, decision(foreign), "a reference of another entry, e-"),
    "a reference of one's own": (PLAIN, decision(lambda _, one: one.update(reference="r-mine")), "there is no such reference: none may be added"),
    "not equivalent, and yet to one": (PLAIN, decision(lambda _, one: one.update(decision="not_equivalent")), "is not equivalent, and yet names the reference r-"),
    "uncertain, and yet to one": (PLAIN, decision(lambda _, one: one.update(decision="uncertain")), "is uncertain, and yet names the reference r-"),
    "equivalent with other support": (SHORT, other_support, "whose support is another"),
    "a fourth answer": (PLAIN, decision(lambda _, one: one.update(decision="nearly")), "must be 'equivalent', 'not_equivalent' or 'uncertain'"),
    "a reference in the note's place": (PLAIN, decision(lambda _, one: one.update(new_reference="It is so.")), "new_reference: unknown key"),
    "decisions on another packet": (PLAIN, lambda case: case.edit(MINE, lambda value: value.update(packet="sha256:" + "0" * 64)), "they are about another packet"),
    "decisions of another version": (PLAIN, lambda case: case.edit(MINE, lambda value: value.update(version=9)), "version 9 is not known here"),
    "one key with two values": (PLAIN, lambda case: case.files.write(MINE, (case.files.read(MINE) or b"").replace(b'"decision":"equivalent"', b'"decision":"uncertain","decision":"equivalent"', 1)), "key 'decision' stands twice"),
    "a reviewer that nobody named": (PLAIN, reviewer(name="mallory"), "the contract names no reviewer 'mallory'"),
    "a fixture as a person": (PLAIN, reviewer(name=FIXTURE), f"the contract says that '{FIXTURE}' is a fixture, not a human"),
    "a person as a fixture": (PLAIN, reviewer(kind="fixture", attestation=""), "the contract says that 'ada' is a human, not a fixture"),
    "a person who attests nothing": (PLAIN, reviewer(attestation=""), "a person must attest, word for word"),
    "a person who attests something else": (PLAIN, reviewer(attestation=ATTESTATION.replace("without a model", "with a model")), "a person must attest, word for word"),
    "a fixture that attests": (PLAIN, reviewer(name=FIXTURE, kind="fixture"), "a fixture can't attest to be a person"),
    "nobody in particular": (PLAIN, reviewer(kind=None), "it isn't said whether a person or a fixture decided"),
    "one person as two": (PLAIN, twice, "'ada' decided in several files"),
    "too few reviewers": (TWO, lambda _: None, "the contract asks for 2 reviewers, and 1 decided"),
    "no signature": (SIGNED, lambda _: None, "must be signed with the key of the contract"),
    "somebody else's signature": (SIGNED, signed_by(b"eve"), "it isn't a signature of /mine.json by 'ada'"),
    "changed after it was signed": (SIGNED, signed_then_changed, "it isn't a signature of /mine.json by 'ada'"),
    "a candidate reworded": (PLAIN, public("public/packet.json", lambda value: value["entries"][0].update(candidate="It is so.")), "public/packet.json: entries[0]: candidate of e-"),
    "a reference added to the packet": (PLAIN, public("public/packet.json", lambda value: value["entries"][0]["references"].append({"reference": "r-1", "meaning": "x", "support": []})), "public/packet.json: entries[0]: references of e-"),
    "an entry taken out of the packet": (PLAIN, public("public/packet.json", lambda value: value["entries"].pop()), "is missing"),
    "entries in another order": (PLAIN, public("public/packet.json", lambda value: value["entries"].reverse()), "public/packet.json: entries: the entries stand in another order"),
    "rules relaxed": (PLAIN, public("public/packet.json", lambda value: value["rules"].pop()), "public/packet.json: rules: it isn't what"),
    "another form": (PLAIN, lambda case: case.files.write(REVIEW / "public/form.html", b"<p>All equivalent.</p>"), "public/form.html: it isn't the form of this packet"),
    "no packet any more": (PLAIN, lambda case: case.files.remove(REVIEW / "public/packet.json"), "public/packet.json: it is missing"),
    "arms exchanged in the key": (PLAIN, public("private/key.json", lambda key: key["entries"][0].update(arm="nobody")), "private/key.json: entries[0]: arm of e-"),
    "an output added to the packet": (PLAIN, public("public/packet.json", lambda value: value["entries"].append({**value["entries"][0], "entry": "e-mine"})), "e-mine is of no output"),
    "an output twice in the packet": (PLAIN, public("public/packet.json", lambda value: value["entries"].append(value["entries"][0])), "stands 2 times"),
    "a packet of other bytes": (PLAIN, lambda case: case.files.write(REVIEW / "public/packet.json", (case.files.read(REVIEW / "public/packet.json") or b"") + b"\n"), "public/packet.json: its bytes are not canonical"),
    "another secret": (PLAIN, public("private/key.json", lambda key: key.update(secret="guess")), "is of no output"),
    "a key that nobody committed to": (PLAIN, public("public/commitment.json", lambda value: value.update(key_sha256="sha256:" + "1" * 64)), "public/commitment.json: another key or another packet was committed to"),
    "an output taken back": (PLAIN, taken_back, "it is bound to another observation"),
    "an output taken back, and the key bound anew": (PLAIN, observations(lambda lines: [line.replace(b"as it seems to connections.", b"as it is.") for line in lines]), "public/packet.json: entries["),
    "the same case observed twice": (PLAIN, observations(lambda lines: [*lines, lines[-1]]), "a second observation of"),
    "an observation of no trial": (PLAIN, observations(lambda lines: [*lines, relabelled(lines[-1], trial="x")]), "there is no trial 'x'"),
    "an observation of no case": (PLAIN, observations(lambda lines: [*lines, relabelled(lines[-1], case="x")]), "there is no case 'x'"),
    "an observation of the other split": (PLAIN, observations(lambda lines: [*lines, relabelled(lines[0], case="hold-time-1" if b'"case":"dev' in lines[0] else "dev-time-1")]), "is of another split than"),
    "no contract": (PLAIN, lambda case: case.files.remove(RUN / layout.CONTRACT), "the run has no contract, so it can't be reviewed as v2"),
    "a contract of v1": (PLAIN, contract(lambda value: value.update(version=1)), "version 1 is not known here, only 2"),
    "another contract": (PLAIN, contract(lambda value: value["terms"].update(attention_checks=0)), "the contract isn't bound, or more than once, or another one"),
    "thresholds lowered": (PLAIN, contract(lambda value: value["terms"]["thresholds"].update(precision="0.5")), "a contract may ask for more and never for less: precision below 0.80"),
    "a reviewer added afterwards": (PLAIN, contract(lambda value: value["terms"]["reviewers"].append({"name": "eve", "kind": "human", "ssh_public_key": ""})), "the contract isn't bound, or more than once, or another one"),
    "a contract that was never bound": (PLAIN, drop("contract_bound"), "the contract isn't bound"),
    "a contract that came after the first call": (PLAIN, move("contract_bound", 3), "the contract was bound after the first attempt"),
    "no look at the contract after an arm": (PLAIN, drop("contract_rechecked", "connections"), "the contract wasn't rechecked after arm 'connections'"),
    "a contract that drifted": (PLAIN, lambda case: case.ledger(drifted), "after arm 'merge_only' the contract didn't hold: holdout.json isn't"),
    "a control that was never frozen": (PLAIN, drop("control_frozen"), "the control's answers were frozen 0 times"),
    "a control that was frozen at the end": (PLAIN, move("control_frozen", -1), "weren't frozen between its last attempt and the first of another arm"),
    "a control that was frozen too early": (PLAIN, move("control_frozen", 2), "weren't frozen between its last attempt and the first of another arm"),
    "a weaker control": (PLAIN, lambda case: case.edit(RUN / layout.BASELINE, lambda value: value["answers"].pop()), "control-baseline.json: it isn't what the observations of the control give"),
    "another holdout": (PLAIN, corpus_file("holdout.json"), "holdout.json: it isn't what the manifest froze"),
    "a file beside the corpus": (PLAIN, lambda case: case.files.write(RUN / layout.RECONSOLIDATION / "more.json", b"{}"), "more.json: the manifest doesn't list it"),
    "a kinder scorer": (PLAIN, source(SCORER), f"{SCORER}: it isn't what the manifest froze"),
    "kinder gates": (PLAIN, source("runner/adjudicate/gating.py"), "sources: the program isn't the one that was agreed on: runner/adjudicate/gating.py is another"),
    "kinder signatures": (PLAIN, source("runner/adapters/ssh_signatures.py"), "runner/adapters/ssh_signatures.py is another"),
    "kinder numbers": (PLAIN, source("runner/core/rounding.py"), "runner/core/rounding.py is another"),
    "kinder records": (PLAIN, source("runner/collect/observing.py"), "runner/collect/observing.py is another"),
    "a kinder summary": (PLAIN, source("runner/pipeline/concluding.py"), "runner/pipeline/concluding.py is another"),
    "kinder commands": (PLAIN, source("runner/cli/reviewing.py"), "runner/cli/reviewing.py is another"),
    "another way to agree": (PLAIN, lambda case: case.versions.update(krippendorff="0.9.0"), "krippendorff is 0.9.0, not 0.8.1"),
    "a source taken away": (PLAIN, lambda case: case.program.__delitem__("runner/core/visible.py"), "runner/core/visible.py is gone"),
    "a kinder comparison": (PLAIN, source("runner/pipeline/reviewing.py"), "runner/pipeline/reviewing.py is another"),
    "kinder words": (PLAIN, source("runner/adjudicate/telling.py"), "runner/adjudicate/telling.py is another"),
    "one more source": (PLAIN, lambda case: case.program.update({"runner/adjudicate/more.py": b""}), "runner/adjudicate/more.py is new"),
    "records that say nothing failed": (PLAIN, lambda case: case.files.write(RUN / layout.RECORDS, (case.files.read(RUN / layout.RECORDS) or b"").replace(b'"repetition":1', b'"repetition":2', 1)), "inputs.records: it was computed from another records.jsonl"),
    "observations that no evidence gives": (PLAIN, lambda case: case.files.write(RUN / layout.OBSERVATIONS, (case.files.read(RUN / layout.OBSERVATIONS) or b"")[:-1] + b" \n"), "reconsolidation.observations_sha256: it was computed from another observations.jsonl"),
    "a summary of other bytes": (PLAIN, lambda case: case.edit(RUN / layout.SUMMARY, lambda value: value.update(headline=[])), "its bytes are not those that were sealed"),
    "no summary": (PLAIN, without_summary, "the run has no summary yet"),
    "another plan": (PLAIN, lambda case: case.edit(RUN / layout.PLAN, lambda value: value.update(seed="2")), "plan.json: its digest is"),
    "a line of the ledger changed": (PLAIN, lambda case: case.files.write(RUN / layout.LEDGER, (case.files.read(RUN / layout.LEDGER) or b"").replace(b"attempt_ended", b"attempt_ended".upper(), 1)), "kind: must be"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHEATS)
def test_it_is_named_and_nothing_is_written(name: str) -> None:
    """With a message of its own, by which whoever reads it knows what was tried; exit 4."""
    made, act, expected = CHEATS[name]
    case = made_case(made)
    act(case)
    before = {path: data for path, data in case.files.held.items() if path.name != ".folder"}
    with pytest.raises(PairbenchError) as caught:
        case.score()
    assert expected in caught.value.diagnostics()
    assert caught.value.exit_code is ExitCode.DOES_NOT_VERIFY
    assert {path: data for path, data in case.files.held.items() if path.name != ".folder"} == before
    register = HoldoutRegister.from_bytes(case.files.read(REGISTER) or b"", "register")
    assert register.inspected == ()


REVIEWED = ("public/packet.json", "public/form.html", "public/commitment.json", "private/key.json")
READ = (
    *(layout.LOCK, layout.PLAN, layout.LEDGER, layout.CONTRACT, layout.BASELINE, layout.OBSERVATIONS, layout.RECORDS),
    *(layout.SUMMARY, layout.CHECKSUM),
    *(f"{layout.RECONSOLIDATION}/{name}" for name in ("manifest.json", "development.json", "holdout.json")),
)


@pytest.mark.parametrize("left", ["nothing", "all but its last bytes"])
@pytest.mark.parametrize("path", [*(REVIEW / name for name in REVIEWED), MINE, *(RUN / name for name in READ)])
def test_a_document_that_was_cut_is_named(path: Path, left: str) -> None:
    """An empty one too: it is there, and isn't what it must be."""
    case = made_case()
    data = case.files.read(path) or b""
    case.files.write(path, b"" if left == "nothing" else data[:-9])
    with pytest.raises(PairbenchError) as caught:
        case.score()
    assert caught.value.exit_code is ExitCode.DOES_NOT_VERIFY
    assert path.name in caught.value.diagnostics()
    assert case.files.read(OUT / "assessment.json") is None


@pytest.mark.parametrize("name", READ)
def test_a_file_that_is_missing_is_called_that(name: str) -> None:
    """By one line, and by none that says something else of it."""
    case = made_case()
    case.files.remove(RUN / name)
    with pytest.raises(PairbenchError) as caught:
        case.score()
    assert caught.value.exit_code is ExitCode.DOES_NOT_VERIFY
    assert any(word in caught.value.diagnostics() for word in ("missing", "isn't there", "no contract", "no such"))
    assert "were sealed" not in caught.value.diagnostics()
    assert "files hold the split" not in caught.value.diagnostics()
    named = [problem for problem in caught.value.problems if problem.document.endswith(name)]
    assert len(named) == 1, caught.value.diagnostics()


def test_another_version_of_the_program_is_one_fault() -> None:
    """Not one a source: where half of them changed, who reviews is told what to do, and nothing else."""
    case = made_case()
    for name in [name for name in case.program if name.startswith("runner/core/") and name.endswith(".py")]:
        if name != SCORER:
            case.program[name] += b"# later\n"
    with pytest.raises(PairbenchError) as caught:
        case.score()
    (told,) = caught.value.problems
    assert (told.document, told.key) == (layout.CONTRACT, "sources")
    assert told.message.count("is another") == 5
    assert told.hint == "review the run with the code that it carries: inputs/harness of its folder"


def test_decisions_that_can_t_be_read_are_one_fault() -> None:
    """And not a reviewer too few as well."""
    case = made_case()
    case.files.write(MINE, b"{")
    with pytest.raises(PairbenchError) as caught:
        case.score()
    assert len(caught.value.problems) == 1


def test_every_fault_is_told_at_once() -> None:
    """Three faults in one file of decisions are three lines."""
    case = made_case()
    decision(lambda every, one: every.remove(one))(case)
    decision(lambda _, one: one.update(reference="r-mine"))(case)
    reviewer(attestation="")(case)
    with pytest.raises(PairbenchError) as caught:
        case.score()
    assert len(caught.value.problems) == 3


def test_a_review_is_never_prepared_over_another() -> None:
    """Whoever doesn't like an order of entries can't have another one in its place."""
    case = made_case()
    before = dict(case.files.held)
    with pytest.raises(StudyError, match="nothing is written over"):
        prepare(world_of(case.files), RUN, REVIEW)
    assert case.files.held == before


def test_an_assessment_is_never_written_over() -> None:
    """The first one stays."""
    case = made_case()
    case.score()
    before = dict(case.files.held)
    with pytest.raises(StudyError, match="nothing is written over"):
        case.score()
    assert case.files.held == before


def test_no_signature_is_written_over() -> None:
    """Nor made of anything but decisions."""
    case = made_case()
    sign(world_of(case.files), MINE, KEY)
    with pytest.raises(StudyError, match="there is a signature already"):
        sign(world_of(case.files), MINE, KEY)


def test_an_inspected_holdout_can_t_be_claimed_as_fresh() -> None:
    """Neither before a run nor, by a contract that was made in time, after one."""
    files = MemoryFiles()
    digest = sha256_digest(corpus().files["holdout.json"])
    seen = inspected("an-earlier-run", digest)
    for name, data in corpus().files.items():
        files.write(Path("/study/v1") / name, data)
    files.write(Path("/study/holdout-register.json"), HoldoutRegister(inspected=(seen,)).to_bytes())
    terms = (
        'format = "pairbench/review-terms"\nversion = 2\nname = "test"\nholdout_seen_before = false\n'
        'arms = [{ name = "off", mode = "original_only" }, { name = "m", mode = "merge_only" },'
        ' { name = "c", mode = "connections" }]\nreviewers = [{ name = "ada", kind = "human" }]\n'
    )
    files.write(Path("/study/contract.toml"), terms.encode())
    with pytest.raises(StudyError, match="the holdout was inspected by an-earlier-run on 2026-01-01"):
        freeze_contract(world_of(files), Path("/study/contract.toml"))
    files.write(Path("/study/contract.toml"), terms.replace("false", "true").encode())
    assert freeze_contract(world_of(files), Path("/study/contract.toml")).terms.holdout_seen_before


def test_a_claim_that_was_overtaken_fails_its_gate() -> None:
    """Somebody else scored a run over the holdout in between."""
    case = made_case()
    seen = inspected("faster", sha256_digest(corpus().files["holdout.json"]))
    case.files.write(REGISTER, HoldoutRegister(inspected=(seen,)).to_bytes())
    found, text = score(world_of(case.files), Scoring(REVIEW, (MINE,), OUT, REGISTER))
    assert not found.passed
    assert found.holdout_inspected == "before this run"
    assert "the contract claims a fresh holdout, and faster was scored over it before" in text


def scored_elsewhere(case: Case, run: Path = RUN, **more: Any) -> Any:
    """The assessment of a review, with the run at `run`."""
    return score(
        world_of(case.files), Scoring(REVIEW, (MINE,), **{"out": OUT, "register": REGISTER, "run": run, **more})
    )


def moved(case: Case, to: Path) -> None:
    for path in [path for path in case.files.held if path.is_relative_to(RUN)]:
        case.files.held[to / path.relative_to(RUN)] = case.files.held.pop(path)


def test_no_name_of_a_folder_makes_another_run() -> None:
    """A run that comes second, renamed like the first one: its lock says what it is called, and the claim fails."""
    case = made_case()
    seen = inspected("reconsolidation-0", sha256_digest(corpus().files["holdout.json"]))
    case.files.write(REGISTER, HoldoutRegister(inspected=(seen,)).to_bytes())
    moved(case, Path("/runs/reconsolidation-0"))
    case.files.remove(REVIEW)
    prepare(world_of(case.files), Path("/runs/reconsolidation-0"), REVIEW)
    case.files.write(MINE, decided(case.packet()).to_bytes())
    found, text = scored_elsewhere(case, Path("/runs/reconsolidation-0"))
    assert found.run.name == "reconsolidation-1"
    assert "the contract claims a fresh holdout, and reconsolidation-0 was scored over it before" in text
    assert not found.passed


def test_another_run_with_the_same_observations_is_named() -> None:
    """What failed or wasn't measured comes from its records: it may not stand in for the run that was prepared."""
    case = made_case()
    write_run(
        case.files, Made(name="reconsolidation-2", unknown=frozenset({"holdout.r1.merge_only"})), Path("/runs/two")
    )
    with pytest.raises(PairbenchError) as caught:
        scored_elsewhere(case, Path("/runs/two"))
    told = caught.value.diagnostics()
    assert caught.value.exit_code is ExitCode.DOES_NOT_VERIFY
    assert "private/key.json: run.name: it is bound to another run, reconsolidation-1" in told
    for name in ("lock_sha256", "ledger_head", "summary_sha256"):
        assert f"private/key.json: run.{name}: it is bound to another run" in told
    assert case.files.read(OUT / "assessment.json") is None


def test_what_a_key_says_of_its_run_binds() -> None:
    """A key that was edited to fit another run isn't the one that was committed to."""
    case = made_case()
    write_run(case.files, Made(name="reconsolidation-2"), Path("/runs/two"))
    other = Case(MemoryFiles(held=dict(case.files.held)))
    other.files.remove(REVIEW)
    prepare(world_of(other.files), Path("/runs/two"), REVIEW)
    case.edit(REVIEW / "private/key.json", lambda key: key.update(run=other.json(REVIEW / "private/key.json")["run"]))
    with pytest.raises(PairbenchError, match="another key or another packet was committed to"):
        scored_elsewhere(case, Path("/runs/two"))


def test_a_register_that_is_not_the_study_s_is_refused() -> None:
    """The contract knows what the one beside it said: an empty one, or one of another study, has none of that."""
    seen = inspected("reconsolidation-0", "sha256:" + "5" * 64)
    case = made_case(Made(register=HoldoutRegister(inspected=(seen,))))
    for held in ((), (inspected("another", "sha256:" + "6" * 64),), (seen.model_copy(update={"date": "2026-01-02"}),)):
        case.files.write(Path("/empty.json"), HoldoutRegister(inspected=held).to_bytes())
        with pytest.raises(PairbenchError, match="it is another register: 1 of 1 entries that the contract") as caught:
            scored_elsewhere(case, register=Path("/empty.json"))
        assert caught.value.exit_code is ExitCode.DOES_NOT_VERIFY
        assert "give the holdout-register.json that lies beside the contract.toml" in caught.value.diagnostics()
    before = sha256_digest(case.files.read(REGISTER) or b"")
    found, text = scored_elsewhere(case)
    assert found.register_sha256 == before
    assert before in text


def test_deciding_again_is_told() -> None:
    """Whoever scores other decisions on a run gets an assessment that names the first; the register keeps both."""
    case = made_case()
    first, text = scored_elsewhere(case)
    assert first.earlier == ()
    assert "assessment 2" not in text
    decision(lambda _, one: one.update(decision="uncertain", reference=None))(case)
    second, text = scored_elsewhere(case, out=Path("/second"))
    told = (
        f"assessment 2 of this run: whoever decided may have known the ones before, the first of them {first.digest()}"
    )
    assert told in text
    assert second.holdout_inspected == "by this run"
    register = HoldoutRegister.from_bytes(case.files.read(REGISTER) or b"", "register")
    assert [one.assessment_sha256 for one in register.inspected] == [first.digest(), second.digest()]
    assert [one.decisions for one in register.inspected] == [
        (first.reviews[0].sha256,),
        (second.reviews[0].sha256,),
    ]
    again, text = scored_elsewhere(case, out=Path("/third"))
    assert again == second
    assert HoldoutRegister.from_bytes(case.files.read(REGISTER) or b"", "register") == register


def test_a_rerun_is_never_fresh() -> None:
    """Nobody reviewed the first run: whoever made another one of it had seen what it came to."""
    files = MemoryFiles()
    write_run(files)
    steps = steps_of(files.read(RUN / layout.LEDGER) or b"")
    steps[0]["detail"] = {"run": RUN.name, "rerun_of": "the-first", "how": "again"}
    files.write(RUN / layout.LEDGER, chained(steps))
    seal_run(files)
    prepare(world_of(files), RUN, REVIEW)
    files.write(MINE, decided(Case(files).packet()).to_bytes())
    found, text = score(world_of(files), Scoring(REVIEW, (MINE,), OUT, REGISTER))
    assert not found.passed
    assert found.holdout_inspected == "before this run"
    assert "the contract claims a fresh holdout, and the-first was scored over it before" in text


SAME_KEY = (
    Reviewer(name="ada", kind="human", ssh_public_key=public_key("ada", "at home")),
    Reviewer(name="eve", kind="human", ssh_public_key=public_key("ada", "at work")),
)


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ({"thresholds": {"recall": "0.59"}}, "recall below 0.60"),
        ({"thresholds": {"answer_lift": "0"}}, "answer_lift below 0.10"),
        ({"thresholds": {"duplicate_coverage": "0.799999"}}, "duplicate_coverage below 0.80"),
        ({"repeats": 2}, "greater than or equal to 3"),
        ({"arms": TERMS.arms[1:]}, "exactly one arm must have the mode original_only"),
        ({"arms": TERMS.arms[:2]}, "no arm has the mode connections"),
        ({"reviewers": (*TERMS.reviewers, TERMS.reviewers[0])}, "reviewer 'ada' stands twice, in whatever case"),
        ({"reviewers": (Reviewer(name="ada", kind="human"), Reviewer(name="Ada", kind="human"))}, "'ada' stands twice"),
        ({"reviewers": SAME_KEY}, "reviewers 'ada' and 'eve' have one key"),
        (
            {"reviewers": ({"name": "ada", "kind": "human", "ssh_public_key": "ssh-ed25519 AAAA"},)},
            "it was cut, or mistyped",
        ),
        ({"least_reviewers": 4}, "least_reviewers is 4, and 3 may review"),
    ],
)
def test_terms_can_t_be_softer_than_the_protocol(terms: dict[str, Any], expected: str) -> None:
    """They may ask for more."""
    with pytest.raises(ValueError, match=expected):
        changed(Made(), **terms)


def test_the_scorer_of_the_corpus_is_the_one_that_runs() -> None:
    """What the manifest pins is what is imported."""
    pinned = corpus().manifest.scorer[SCORER]
    assert sha256_digest(Path(v1.__file__).read_bytes()) == pinned
