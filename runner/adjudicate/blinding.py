"""Outputs of a run become a packet, which says nothing of where they come from, and a key, which says it all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.adjudicate.attention import checks_of
from runner.adjudicate.naming import keyed
from runner.adjudicate.packet import Permitted, Shown, Statement, make_packet
from runner.core.errors import EvidenceError, Problem
from runner.core.layout import OBSERVATIONS
from runner.core.reconsolidation.key import Key, KeyEntry, Output

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from runner.adjudicate.attention import Check
    from runner.core.plan import PlannedTrial
    from runner.core.reconsolidation.corpus import Case, ReconsolidationCorpus
    from runner.core.reconsolidation.identity import RunIdentity
    from runner.core.reconsolidation.observation import Observation
    from runner.core.reconsolidation.packet import Packet

_NO_OUTPUT: Final = Output("", "", "", 0, "", 0, "", ())


@dataclass(frozen=True)
class Bound:
    """What a key is bound to."""

    secret: str
    run: RunIdentity
    observations_sha256: str
    contract_sha256: str


def outputs_of(
    trials: Iterable[PlannedTrial],
    corpora: Mapping[str, ReconsolidationCorpus],
    observations: Iterable[Observation],
) -> tuple[Output, ...]:
    """Every connection that was proposed, in order.

    Raises:
        EvidenceError: an observation is of no trial or no case, or there are two of one; all of them are named.
    """
    planned = {trial.trial: trial for trial in trials}
    splits = {case.id: split for split, corpus in corpora.items() for case in corpus.cases}
    problems: list[Problem] = []
    outputs: list[Output] = []
    seen: set[tuple[str, str]] = set()
    for number, observation in enumerate(observations, 1):
        place = f"{OBSERVATIONS} line {number}"
        trial, split = planned.get(observation.trial), splits.get(observation.case)
        if trial is None or split is None:
            unknown = f"trial {observation.trial!r}" if trial is None else f"case {observation.case!r}"
            problems.append(Problem(f"there is no {unknown}", place))
            continue
        if (observation.trial, observation.case) in seen:
            problems.append(Problem(f"a second observation of {observation.trial}, {observation.case}", place))
        seen.add((observation.trial, observation.case))
        outputs += [
            Output(
                split=split,
                case=observation.case,
                arm=trial.arm,
                repetition=trial.repetition,
                trial=observation.trial,
                index=index,
                statement=hypothesis.statement,
                support=tuple(sorted(hypothesis.support)),
            )
            for index, hypothesis in enumerate(observation.hypotheses)
        ]
    if problems:
        raise EvidenceError.of(problems)
    return tuple(sorted(outputs))


def blind(
    outputs: Sequence[Output], corpora: Mapping[str, ReconsolidationCorpus], bound: Bound, checks: int
) -> tuple[Packet, Key]:
    """The packet of `outputs` and of `checks` entries whose answer is known, and its key.

    Neither depends on the order of `outputs`; `unblind` gives them back.
    """
    cases = {case.id: case for corpus in corpora.values() for case in corpus.cases}
    known = checks_of(corpora, bound.secret, checks)
    made: list[tuple[str, Output, Check | None]] = [(_name(bound.secret, one), one, None) for one in outputs]
    made += [(_check_name(bound.secret, check), _NO_OUTPUT, check) for check in known]
    packet, names = make_packet(bound.secret, (_shown(*one, cases) for one in made))
    origins = {entry: (output, check) for entry, output, check in made}
    entries = tuple(
        KeyEntry(
            entry=entry.entry,
            attention=check.kind if check else "",
            expected=check.reference.id if check and check.kind == "positive" else "",
            split=check.split if check else output.split,
            case=check.case if check else output.case,
            arm=output.arm,
            repetition=output.repetition,
            trial=output.trial,
            index=output.index,
            sources=names[entry.entry].sources,
            references=names[entry.entry].references,
        )
        for entry in packet.entries
        for output, check in (origins[entry.entry],)
    )
    key = Key(
        secret=bound.secret,
        run=bound.run,
        observations_sha256=bound.observations_sha256,
        contract_sha256=bound.contract_sha256,
        packet_sha256=packet.digest(),
        entries=entries,
    )
    return packet, key


def unblind(packet: Packet, key: Key) -> tuple[Output, ...]:
    """The outputs that `packet` was made of, in order; entries whose answer is known are none.

    Raises:
        EvidenceError: packet and key are not of one another.
    """
    if key.packet_sha256 != packet.digest():
        raise EvidenceError("it is the key of another packet", document="key.json", key="packet_sha256")
    return tuple(
        sorted(
            Output(
                split=known.split,
                case=known.case,
                arm=known.arm,
                repetition=known.repetition,
                trial=known.trial,
                index=known.index,
                statement=entry.candidate,
                support=tuple(sorted(known.sources[source] for source in entry.support)),
            )
            for entry, known in zip(packet.entries, key.entries, strict=True)
            if not known.attention
        )
    )


def _name(secret: str, output: Output) -> str:
    return keyed(secret, "e", "output", output.trial, output.case, str(output.index))


def _check_name(secret: str, check: Check) -> str:
    return keyed(secret, "e", "check", check.kind, check.case, check.reference.id)


def _shown(entry: str, output: Output, check: Check | None, cases: Mapping[str, Case]) -> Shown:
    case = cases[check.case if check else output.case]
    return Shown(
        entry=entry,
        candidate=check.candidate if check else output.statement,
        support=check.reference.support if check else output.support,
        statements=tuple(
            Statement(seed.id, seed.statement, seed.attribution, seed.scope, seed.event) for seed in case.seeds
        ),
        references=tuple(Permitted(item.id, item.meaning, item.support) for item in case.hypotheses),
    )
