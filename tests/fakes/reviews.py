"""A run whose output can be reviewed, made without any container: three repeats of four arms over the shipped corpus."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from runner.adapters.harness import package_sources
from runner.adjudicate.contracting import Pinned, make_contract
from runner.adjudicate.rewording import names_of, rewordings
from runner.core import layout
from runner.core.canonical import Digest, sha256_digest
from runner.core.ledger import GENESIS, next_line
from runner.core.lock import EnginePin, HarnessPin, Lock
from runner.core.plan import Plan, PlannedTrial, make_plan
from runner.core.quantities import Unavailable
from runner.core.reconsolidation.baseline import baseline_of
from runner.core.reconsolidation.contract import Contract, ContractArm, Reviewer, Terms
from runner.core.reconsolidation.observation import Answer, Hypothesis, Observation
from runner.core.reconsolidation.packet import ATTESTATION, Decision, Decisions, ReviewedBy
from runner.core.reconsolidation.register import HoldoutRegister
from runner.core.reconsolidation.section import ReconsolidationSection
from runner.core.usage import ModelUsage
from runner.plan.reconsolidation import FrozenCorpus, read_reconsolidation
from runner.summarize.seal import seal
from runner.summarize.summary import summarize
from tests.fakes.clock import FakeClock, FakeEntropy
from tests.fakes.files import MemoryFiles
from tests.fakes.records import RunSpec, Usage, make_record, make_run
from tests.fakes.signatures import WordSignatures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from runner.core.outcomes import Outcome
    from runner.core.reconsolidation.corpus import Case
    from runner.core.reconsolidation.packet import Entry, Packet
    from runner.core.summary import Summary
    from runner.pipeline.world import World
    from runner.ports.files import Files

CORPUS = Path(__file__).resolve().parents[2] / "corpora" / "reconsolidation" / "v1"
ARMS = ("original_only", "merge_only", "connections", "connections-second")
PERSON = "ada"
OTHER_PERSON = "grace"
FIXTURE = "fixture-reviewer"
RUN = Path("/runs/reconsolidation-1")
REGISTER = Path("/register/holdout-register.json")
TERMS = Terms(
    name="test",
    arms=tuple(
        ContractArm(name=name, mode="connections" if name.startswith("connections") else name)  # type: ignore[arg-type]
        for name in ARMS
    ),
    holdout_seen_before=False,
    reviewers=(
        Reviewer(name=PERSON, kind="human"),
        Reviewer(name=OTHER_PERSON, kind="human"),
        Reviewer(name=FIXTURE, kind="fixture"),
    ),
)
VERSIONS = {"krippendorff": "0.8.1", "numpy": "2.0.0", "pydantic": "2.9.0", "pydantic-core": "2.23.0", "rich": "13.0.0"}
NOTHING_INSPECTED = HoldoutRegister(inspected=())
LOCK = Lock(
    run=RUN.name,
    protocol_version="1",
    created_at="2026-01-02T03:04:05.000Z",
    evidence="fixture",
    model_shown="scripted-policy (fixture)",
    study_sha256="",
    labels_sha256="",
    plan_sha256="",
    prices_sha256="",
    prompts={},
    client_version="1",
    arms=(),
    images=(),
    corpora={},
    engine=EnginePin(
        name="engine",
        version="1",
        api_version="1",
        architecture="x86_64",
        kernel="6",
        storage_driver="overlay2",
        cgroup_version="2",
        cpus=2,
        memory_bytes=1,
    ),
    harness=HarnessPin(version="1", source_sha256="", python="3.11.7"),
)
_USAGE = Usage(1, 10, 10, 0, 0, 100, 0, 0, 0)


@cache
def corpus() -> FrozenCorpus:
    """The shipped corpus."""
    files = MemoryFiles()
    for path in CORPUS.iterdir():
        files.write(Path("/v1") / path.name, path.read_bytes())
    return read_reconsolidation(Path("/v1/manifest.json"), files, sources())


@cache
def sources() -> dict[str, bytes]:
    """Every file of this program."""
    return package_sources()


def worded(case: Case, number: int, arm: str) -> list[Hypothesis]:
    """What a system proposes of one case: each reference in words of its own, and now and then something wrong."""
    said = []
    for reference in case.hypotheses:
        words = f"{reference.meaning[:-1]}, as it seems to {arm}."
        if digit(arm, case.id, number) % 10 == 0:
            words = f"It is not so that {reference.meaning}"
        said.append(Hypothesis(statement=words, support=reference.support))
    return said


def digit(*parts: object) -> int:
    """A number from 0 to 255 that follows from `parts`."""
    return hashlib.sha256(repr(parts).encode()).digest()[0]


def observed(planned: PlannedTrial, case: Case, hypotheses: list[Hypothesis]) -> Observation:
    """What a perfect memory of the arm's mode leaves of `case`, with `hypotheses` where it makes connections."""
    connects, merges = planned.arm.startswith("connections"), planned.arm != "original_only"
    answers = []
    for probe in case.probes:
        known = [answer for answer in probe.answers if any(answer in seed.statement for seed in case.seeds)]
        if known or connects:
            answers.append(Answer(probe=probe.id, answer=(known or probe.answers)[0]))
    return Observation(
        trial=planned.trial,
        case=case.id,
        groups=case.duplicate_classes if merges else (),
        survivors=case.required_survivors,
        hypotheses=tuple(hypotheses) if connects else (),
        answers=tuple(answers),
        boundary_violations=(),
        invalid=(),
    )


@dataclass(frozen=True)
class Made:
    """A run, before it is written."""

    name: str = RUN.name
    versions: Mapping[str, str] = field(default_factory=lambda: VERSIONS)
    """Of what was installed when its contract was made."""
    terms: Terms = TERMS
    hypotheses: Callable[[Case, int, str], list[Hypothesis]] = worded
    change: Callable[[Observation], Observation | None] = lambda seen: seen
    """What becomes of each observation; None: it is missing."""
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    unknown: frozenset[str] = frozenset()
    """Trials whose usage isn't known."""
    floors: Mapping[str, bytes] = field(default_factory=dict)

    register: HoldoutRegister = NOTHING_INSPECTED
    """Beside its contract."""

    def lock(self) -> Lock:
        return LOCK.model_copy(update={"run": self.name})

    def plan(self) -> Plan:
        return make_plan(
            study="reconsolidation",
            seed="reviews 1",
            control="original_only",
            arms=ARMS,
            tasks=("development", "holdout"),
            repetitions=3,
        )

    def observations(self) -> tuple[Observation, ...]:
        found = []
        for planned in self.plan().trials:
            for case in corpus().splits[planned.task].cases:
                said = self.hypotheses(case, planned.repetition, planned.arm)
                seen = self.change(observed(planned, case, said))
                found += [] if seen is None else [seen]
        return tuple(found)

    def contract(self) -> Contract:
        found = corpus()
        return make_contract(
            self.terms, Pinned(found.files, found.manifest, found.splits, sources(), self.versions), self.register
        )


def write_run(files: Files, made: Made | None = None, folder: Path = RUN, register: Path = REGISTER) -> Path:
    """The run stands in `folder`, with the register of inspected holdouts that lay beside its contract."""
    made = made or Made()
    plan, contract, seen = made.plan(), made.contract().to_bytes(), made.observations()
    inputs = {layout.PLAN: plan.to_bytes(), layout.LOCK: made.lock().to_bytes()}
    inputs |= {f"{layout.RECONSOLIDATION}/{name}": data for name, data in corpus().files.items()}
    inputs |= {layout.floor(name): data for name, data in made.floors.items()}
    control = {trial.trial for trial in plan.trials if trial.arm == "original_only"}
    baseline = baseline_of("original_only", (one for one in seen if one.trial in control)).to_bytes()
    documents = {
        **inputs,
        layout.CONTRACT: contract,
        layout.BASELINE: baseline,
        layout.OBSERVATIONS: b"".join(one.to_line() for one in seen),
        layout.RECORDS: records(made, plan),
        layout.LEDGER: ledger(plan, digests(inputs), sha256_digest(contract), sha256_digest(baseline)),
    }
    for name, data in documents.items():
        files.write(folder / name, data)
    seal_run(files, folder)
    files.write(register, made.register.to_bytes())
    return folder


def seal_run(files: Files, folder: Path = RUN) -> None:
    """The run has a sealed summary that was computed from what lies in its folder now; other figures are of another."""

    def digest(name: str) -> Digest:
        return sha256_digest(files.read(folder / name) or b"")

    section = ReconsolidationSection(
        scorer="reconsolidation-1",
        corpus_sha256=digest(f"{layout.RECONSOLIDATION}/manifest.json"),
        observations_sha256=digest(layout.OBSERVATIONS),
        baseline_sha256=digest(layout.BASELINE),
        scores=(),
    )
    head = sha256_digest((files.read(folder / layout.LEDGER) or b"").splitlines(keepends=True)[-1])
    told = {
        "records": digest(layout.RECORDS),
        "plan": digest(layout.PLAN),
        "ledger_head": head,
        "lock": digest(layout.LOCK),
    }
    inputs = other_summary().inputs.model_copy(update=told)
    sealed = seal(other_summary().model_copy(update={"inputs": inputs, "reconsolidation": section}))
    files.write(folder / layout.SUMMARY, sealed.summary_bytes)
    files.write(folder / layout.CHECKSUM, sealed.checksum_bytes)


@cache
def other_summary() -> Summary:
    """The summary of some run."""
    run = make_run(RunSpec(tasks=("a", "b")))
    return summarize(run.context, run.plan, run.records, run.scores)


def digests(documents: Mapping[str, bytes]) -> dict[str, str]:
    return {name: sha256_digest(data) for name, data in documents.items()}


def records(made: Made, plan: Plan) -> bytes:
    spec = RunSpec(arms=ARMS, outcomes=made.outcomes)
    lines = []
    for planned in plan.trials:
        record = make_record(planned, _USAGE, spec)
        if planned.trial in made.unknown:
            absent = Unavailable("the answer was cut")
            usage = [
                ModelUsage.model_validate({**one.__dict__, "output_tokens": absent})
                for one in (record.observed or (_no_usage(),))
            ]
            record = record.model_copy(update={"observed": tuple(usage)})
        lines.append(record.to_line())
    return b"".join(lines)


def _no_usage() -> ModelUsage:
    raise AssertionError("the record has no usage")


def ledger(plan: Plan, inputs: dict[str, str], contract: Digest, baseline: Digest) -> bytes:
    """The journal of a run in which everything went as it should."""
    steps: list[dict[str, Any]] = [
        {"kind": "run_started", "files": inputs},
        {"kind": "contract_bound", "files": {layout.CONTRACT: contract}},
    ]
    for arm in ARMS:
        for planned in plan.trials:
            if planned.arm == arm:
                steps += [
                    {"kind": kind, "trial": planned.trial, "attempt": 1, "detail": detail}
                    for kind, detail in (("attempt_started", {}), ("attempt_ended", {"final": "yes"}))
                ]
        steps.append({"kind": "contract_rechecked", "detail": {"arm": arm, "contract": contract, "drift": ""}})
        if arm == "original_only":
            steps.append({"kind": "control_frozen", "files": {layout.BASELINE: baseline}})
    steps.append({"kind": "run_ended", "detail": {"complete": "yes"}})
    return chained(steps)


def chained(steps: Iterable[dict[str, Any]]) -> bytes:
    """The journal that says `steps`."""
    lines, previous = [], GENESIS
    for number, step in enumerate(steps, 1):
        line, previous = next_line(previous, seq=number, at="2026-01-02T03:04:05Z", **step)
        lines.append(line)
    return b"".join(lines)


def steps_of(data: bytes) -> list[dict[str, Any]]:
    """What the lines of a journal say, without their numbers and links."""
    kept = ("kind", "trial", "attempt", "files", "detail")
    return [{name: json.loads(line)[name] for name in kept} for line in data.splitlines()]


def world_of(
    files: Files, program: Mapping[str, bytes] | None = None, versions: Mapping[str, str] | None = None
) -> World:
    """What of the outside a review needs; `program` stands in for the files of this program."""
    outside = SimpleNamespace(
        files=files,
        entropy=FakeEntropy(),
        clock=FakeClock(),
        sources=lambda: sources() if program is None else program,
        versions=lambda: {**VERSIONS, **(versions or {})},
        signatures=WordSignatures(files),
    )
    return cast("World", outside)


@cache
def reworded() -> dict[str, frozenset[str]]:
    """Meaning of each reference -> the ways in which an attention check may say it."""
    return {
        reference.meaning: frozenset(rewordings(reference.meaning, names_of(split)))
        for split in corpus().splits.values()
        for case in split.cases
        for reference in case.hypotheses
    }


def judge(entry: Entry) -> Decision:
    """What a reviewer says who believes a candidate that has the words of a reference, and no denial before it.

    They also see when a reference is said in other words.
    """
    for reference in entry.references:
        says = entry.candidate.startswith(reference.meaning[:-1]) or entry.candidate in reworded()[reference.meaning]
        same = says and reference.support == entry.support
        if same:
            return Decision(entry=entry.entry, decision="equivalent", reference=reference.reference)
    return Decision(entry=entry.entry, decision="not_equivalent", reference=None)


def decided(
    packet: Packet, name: str = PERSON, decide: Callable[[Entry], Decision] = judge, kind: str = "human"
) -> Decisions:
    """Decisions on every entry of `packet`."""
    attestation = ATTESTATION if kind == "human" else ""
    return Decisions(
        packet=packet.digest(),
        reviewer=ReviewedBy.model_validate({"name": name, "kind": kind, "attestation": attestation}),
        decisions=tuple(decide(entry) for entry in packet.entries),
    )


def changed(made: Made, **changes: Any) -> Made:
    """`made` with other terms."""
    return replace(made, terms=Terms.model_validate({**made.terms.__dict__, **changes}))
