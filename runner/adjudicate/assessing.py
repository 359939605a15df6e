"""Decisions without a fault become an assessment, whatever they come to; nothing else is changed by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.adjudicate.gating import gate_results
from runner.adjudicate.judging import arm_reviews, attention
from runner.core.reconsolidation.assessment import (
    FIXTURE,
    HUMAN,
    NON_ACTIVATING,
    Agreement,
    Assessment,
    HeldFloor,
    ReviewedDecisions,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runner.adjudicate.facts import RunFacts
    from runner.adjudicate.judging import Judged
    from runner.core.quantities import Quantity
    from runner.core.reconsolidation.contract import Contract
    from runner.core.reconsolidation.corpus import ReconsolidationCorpus
    from runner.core.reconsolidation.key import Key
    from runner.core.reconsolidation.packet import Decisions
    from runner.core.reconsolidation.register import HoldoutRegister


@dataclass(frozen=True)
class Given:
    """One reviewer's decisions, as they were handed in."""

    decisions: Decisions
    sha256: str
    is_signed: bool
    """By the key that the contract names; never False where it names one."""


@dataclass(frozen=True)
class Reviewed:
    """What was reviewed."""

    contract: Contract
    key: Key
    corpora: Mapping[str, ReconsolidationCorpus]
    facts: RunFacts
    register: HoldoutRegister
    """As it is before this assessment."""


def assess(reviewed: Reviewed, given: Sequence[Given], entries: Sequence[Judged], alpha: Quantity) -> Assessment:
    """The assessment of decisions that have no fault; `entries` is what they say, `alpha` how far reviewers agree."""
    contract, key, corpora, facts = reviewed.contract, reviewed.key, reviewed.corpora, reviewed.facts
    terms = contract.terms
    fixture = any(one.decisions.reviewer.kind != "human" for one in given)
    reviews = tuple(_reviews(given, entries))
    arms = arm_reviews(entries, corpora, terms, facts.repeats)
    gates = gate_results(contract, facts, reviews, arms, fixture=fixture)
    outputs = [entry for entry in entries if not entry.known.attention]
    return Assessment(
        about=FIXTURE if fixture else HUMAN,
        activation=NON_ACTIVATING,
        non_activating=True,
        passed=not fixture and all(gate.verdict == "passed" for gate in gates),
        reviewer_kind="fixture" if fixture else "human",
        run=key.run,
        observations_sha256=key.observations_sha256,
        contract_sha256=key.contract_sha256,
        packet_sha256=key.packet_sha256,
        key_sha256=key.digest(),
        holdout_sha256=contract.holdout_sha256,
        holdout_inspected="before this run" if terms.holdout_seen_before or facts.holdout_run else "by this run",
        holdout_claim="seen before" if terms.holdout_seen_before else "fresh",
        register_sha256=reviewed.register.digest(),
        earlier=reviewed.register.of_run(key.run.lock_sha256),
        reviews=reviews,
        agreement=Agreement(
            reviewers=len(given),
            entries=len(outputs),
            disagreed=sum(not entry.agreed for entry in outputs),
            alpha_ppm=alpha,
        ),
        arms=arms,
        v1=tuple(facts.scores[arm.arm, arm.split] for arm in arms),
        floors=tuple(_floors(contract, facts)),
        gates=gates,
        not_checked=tuple(_not_checked(contract)),
    )


def _reviews(given: Sequence[Given], entries: Sequence[Judged]) -> Iterator[ReviewedDecisions]:
    for number, one in enumerate(given):
        counts = attention(entries, number)
        yield ReviewedDecisions(
            reviewer=one.decisions.reviewer.name,
            kind=one.decisions.reviewer.kind or "fixture",
            sha256=one.sha256,
            signature="verified" if one.is_signed else "not asked for",
            **counts,
        )


def _floors(contract: Contract, facts: RunFacts) -> Iterator[HeldFloor]:
    for floor in contract.terms.floors:
        figures = facts.floors[floor.name]
        yield HeldFloor(
            floor=floor.name,
            metric=floor.metric,
            better=floor.better,
            pinned_sha256=floor.sha256,
            pinned=figures.pinned,
            found_sha256=figures.found_sha256,
            found=figures.found,
        )


def _not_checked(contract: Contract) -> Iterator[str]:
    if not contract.terms.floors:
        yield "floors of other studies: the contract names none"
    if not contract.terms.attention_checks:
        yield "attention: the contract asks for no entries whose answer is known"
    elif not contract.terms.asks_attention:
        yield "attention: the contract asks nobody to know any of them"
    if not any(reviewer.ssh_public_key for reviewer in contract.terms.reviewers):
        yield "signatures: the contract names no key"
