"""Are decisions whole, of this packet, and by somebody who may review? Everything that is wrong is named."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from runner.core.errors import Problem
from runner.core.reconsolidation.packet import ATTESTATION, Decision, Decisions, ReviewedBy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runner.core.reconsolidation.contract import Terms
    from runner.core.reconsolidation.packet import Entry, Packet


def undecided(packet: Packet) -> Decisions:
    """Decisions on `packet` as nobody has made them yet; they can't be scored."""
    return Decisions(
        packet=packet.digest(),
        reviewer=ReviewedBy(name="", kind=None, attestation=""),
        decisions=tuple(
            Decision(entry=entry.entry, decision=None, reference=None, note="") for entry in packet.entries
        ),
    )


def decision_problems(
    given: Mapping[str, Decisions], packet: Packet, terms: Terms, *, unread: int = 0
) -> tuple[Problem, ...]:
    """Everything that is wrong with the decisions of each file of `given`, and with all of them together.

    `unread` is how many more were handed in that can't be read, which is told elsewhere.
    """
    problems = [*_problems(given, packet, terms)]
    names = {decisions.reviewer.name for decisions in given.values()}
    if len(names) + unread < terms.least_reviewers:
        reviewers = "1 reviewer" if terms.least_reviewers == 1 else f"{terms.least_reviewers} reviewers"
        told = f"the contract asks for {reviewers}, and {len(names) + unread} decided"
        problems.append(Problem(told, ", ".join(given)))
    return tuple(problems)


def _problems(given: Mapping[str, Decisions], packet: Packet, terms: Terms) -> Iterator[Problem]:
    digest = packet.digest()
    entries = {entry.entry: entry for entry in packet.entries}
    owners = {reference.reference: entry.entry for entry in packet.entries for reference in entry.references}
    for document, decisions in given.items():
        if decisions.packet != digest:
            yield Problem(f"they are about another packet, {decisions.packet}", document, "packet")
        yield from (Problem(message, document, f"reviewer.{key}") for key, message in _reviewer(decisions, terms))
        for place, message in _decisions(decisions.decisions, entries, owners):
            yield Problem(message, document, place)
    names = Counter(decisions.reviewer.name for decisions in given.values())
    for name in sorted(name for name, count in names.items() if count > 1):
        yield Problem(f"{name!r} decided in several files", ", ".join(given), "reviewer.name")


def _reviewer(decisions: Decisions, terms: Terms) -> Iterator[tuple[str, str]]:
    said = decisions.reviewer
    agreed = next((reviewer for reviewer in terms.reviewers if reviewer.name == said.name), None)
    if said.kind is None:
        yield "kind", "it isn't said whether a person or a fixture decided"
    if agreed is None:
        yield "name", f"the contract names no reviewer {said.name!r}"
    elif said.kind is not None and said.kind != agreed.kind:
        yield "kind", f"the contract says that {said.name!r} is a {agreed.kind}, not a {said.kind}"
    if said.kind == "human" and said.attestation != ATTESTATION:
        yield "attestation", "a person must attest, word for word, that they decided themselves"
    if said.kind == "fixture" and said.attestation:
        yield "attestation", "a fixture can't attest to be a person"


def _decisions(
    decisions: Sequence[Decision], entries: Mapping[str, Entry], owners: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    often = Counter(decision.entry for decision in decisions)
    for entry in entries:
        if entry not in often:
            yield "decisions", f"there is no decision on {entry}"
    for entry, count in often.items():
        if count > 1:
            yield "decisions", f"{entry} is decided {count} times"
    for number, decision in enumerate(decisions):
        place = f"decisions[{number}]"
        if decision.entry not in entries:
            yield place, f"the packet has no entry {decision.entry}"
        elif fault := _fault(decision, entries[decision.entry], owners):
            yield place, fault


def _fault(decision: Decision, entry: Entry, owners: Mapping[str, str]) -> str:
    name, reference = entry.entry, decision.reference
    if decision.decision is None:
        return f"{name} is undecided"
    if decision.decision != "equivalent":
        told = decision.decision.replace("_", " ")
        return "" if reference is None else f"{name} is {told}, and yet names the reference {reference}"
    if reference is None:
        return f"{name} is equivalent to no reference that is named"
    chosen = next((item for item in entry.references if item.reference == reference), None)
    if chosen is None:
        if reference in owners:
            return f"{name} is equivalent to {reference}, a reference of another entry, {owners[reference]}"
        return f"{name} is equivalent to {reference}, and there is no such reference: none may be added"
    if chosen.support != entry.support:
        return f"{name} is equivalent to {reference}, whose support is another"
    return ""
