"""Do the statements and labels of a corpus agree with one another? Everything that doesn't is named at once."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, Final

from runner.core.errors import Problem
from runner.core.instants import seconds_of
from runner.core.reconsolidation.corpus import CATEGORIES, MOST_REFERENCES, SPLITS
from runner.core.reconsolidation.texts import contains, folded
from runner.core.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from runner.core.reconsolidation.corpus import Case, ReconsolidationCorpus, Reference, Seed

LEAST_CASES: Final = 24
"""In both splits together."""
_NEEDS_CLASS: Final = frozenset({"equivalent", "same_evidence"})
_NEEDS_REFERENCE: Final = frozenset({"connection_cause", "connection_pattern", "summary"})


def corpus_problems(corpora: Mapping[str, ReconsolidationCorpus], *, is_whole: bool = True) -> tuple[Problem, ...]:
    """Everything that is wrong with a corpus, whose splits are given by the names of their files.

    Of one that isn't whole, because a file is missing or can't be read, only each file by itself is looked at.
    """
    return tuple(_problems(corpora, is_whole=is_whole))


def _problems(corpora: Mapping[str, ReconsolidationCorpus], *, is_whole: bool) -> Iterator[Problem]:
    for document, corpus in corpora.items():
        yield from _split_problems(corpus, document)
    if is_whole:
        yield from _between_splits(corpora)


def _split_problems(corpus: ReconsolidationCorpus, document: str) -> Iterator[Problem]:
    if fault := _instant_fault(corpus.clock):
        yield Problem(fault, document, "clock")
    for identity in _twice(case.id for case in corpus.cases):
        yield Problem(f"case {identity!r} stands twice", document, "cases")
    covered = {case.category for case in corpus.cases}
    for category in CATEGORIES:
        if category not in covered:
            yield Problem(f"no case of the category {category!r}", document, "cases")
    for number, case in enumerate(corpus.cases):
        for place, message in _case_faults(case, corpus.clock):
            yield Problem(f"{message}, in case {case.id!r}", document, f"cases[{number}].{place}")


def _between_splits(corpora: Mapping[str, ReconsolidationCorpus]) -> Iterator[Problem]:
    names = ", ".join(corpora)
    held = Counter(corpus.split for corpus in corpora.values())
    for split in SPLITS:
        if held[split] != 1:
            yield Problem(f"{held[split]} files hold the split {split!r}, not one", names, "split")
    if sum(len(corpus.cases) for corpus in corpora.values()) < LEAST_CASES:
        yield Problem(f"there are fewer than {LEAST_CASES} cases in all", names, "cases")
    for (first, one), (second, other) in combinations(corpora.items(), 2):
        if one.clock != other.clock:
            yield Problem(f"the clock differs from that of {first}", second, "clock")
        if one.recall_budget != other.recall_budget:
            yield Problem(f"the recall budget differs from that of {first}", second, "recall_budget")
        for identity in sorted({case.id for case in one.cases} & {case.id for case in other.cases}):
            yield Problem(f"case {identity!r} also stands in {first}", second, "cases")
        for statement in sorted(_statements(one) & _statements(other)):
            yield Problem(f"the statement {visible(statement)!r} also stands in {first}", second, "cases")


def _statements(corpus: ReconsolidationCorpus) -> set[str]:
    return {folded(seed.statement).casefold() for case in corpus.cases for seed in case.seeds}


def _case_faults(case: Case, clock: str) -> Iterator[tuple[str, str]]:
    seeds = {seed.id: seed for seed in case.seeds}
    yield from _seed_faults(case, clock)
    yield from _class_faults(case, seeds)
    yield from _survivor_faults(case, seeds)
    yield from _reference_faults(case, seeds)
    yield from _probe_faults(case)
    yield from _category_faults(case, seeds)


def _seed_faults(case: Case, clock: str) -> Iterator[tuple[str, str]]:
    if not any(seed.is_live for seed in case.seeds):
        yield "seeds", "there is no live seed"
    for identity in _twice(seed.id for seed in case.seeds):
        yield "seeds", f"seed {identity!r} stands twice"
    for number, seed in enumerate(case.seeds):
        place = f"seeds[{number}]"
        for name in ("statement", "subject", "session", "event", "scope", "attribution"):
            value = getattr(seed, name)
            if not value or value != folded(value) or value != visible(value):
                yield f"{place}.{name}", f"{name} {visible(value)!r} is empty, not in NFC, or holds what can't be seen"
        if fault := _instant_fault(seed.evidence_time):
            yield f"{place}.evidence_time", fault
        elif not _instant_fault(clock) and seconds_of(seed.evidence_time) > seconds_of(clock):
            yield f"{place}.evidence_time", f"the evidence of {seed.id!r} is later than the clock"
    together = {pair for members in case.duplicate_classes for pair in combinations(sorted(members), 2)}
    live = sorted((seed for seed in case.seeds if seed.is_live), key=lambda seed: seed.id)
    for one, other in combinations(live, 2):
        if _is_repeated(one, other) and (one.id, other.id) not in together:
            yield "duplicate_classes", f"{one.id!r} and {other.id!r} say the same and share no class"


def _is_repeated(one: Seed, other: Seed) -> bool:
    same_place = (one.scope, one.attribution) == (other.scope, other.attribution)
    return same_place and folded(one.statement).casefold() == folded(other.statement).casefold()


def _class_faults(case: Case, seeds: Mapping[str, Seed]) -> Iterator[tuple[str, str]]:
    held: dict[str, int] = {}
    for number, members in enumerate(case.duplicate_classes):
        place = f"duplicate_classes[{number}]"
        if len(set(members)) < 2:
            yield place, "a class has fewer than two members"
        for member in _twice(members):
            yield place, f"{member!r} is a member twice"
        yield from _unusable(members, seeds, place, "a member")
        for member in sorted(set(members)):
            if member in held:
                yield place, f"{member!r} is also a member of class {held[member]}: classes overlap"
            held.setdefault(member, number)
        known = [seeds[member] for member in members if member in seeds]
        for name in ("scope", "attribution"):
            if len({getattr(seed, name) for seed in known}) > 1:
                yield place, f"its members differ in {name}"


def _survivor_faults(case: Case, seeds: Mapping[str, Seed]) -> Iterator[tuple[str, str]]:
    yield from _unusable(case.required_survivors, seeds, "required_survivors", "a survivor")
    for identity in _twice(case.required_survivors):
        yield "required_survivors", f"{identity!r} stands twice"
    for seed in case.seeds:
        if seed.is_live and seed.id not in case.required_survivors:
            yield "required_survivors", f"the live seed {seed.id!r} is missing"


def _reference_faults(case: Case, seeds: Mapping[str, Seed]) -> Iterator[tuple[str, str]]:
    if len(case.hypotheses) > MOST_REFERENCES:
        yield "hypotheses", f"more than {MOST_REFERENCES} hypotheses"
    for identity in _twice(reference.id for reference in case.hypotheses):
        yield "hypotheses", f"hypothesis {identity!r} stands twice"
    for meaning in _twice(folded(reference.meaning).casefold() for reference in case.hypotheses):
        yield "hypotheses", f"two hypotheses mean {visible(meaning)!r}"
    for number, reference in enumerate(case.hypotheses):
        yield from _support_faults(reference, seeds, f"hypotheses[{number}]")


def _support_faults(reference: Reference, seeds: Mapping[str, Seed], place: str) -> Iterator[tuple[str, str]]:
    meaning = reference.meaning
    if not meaning or meaning != folded(meaning) or meaning != visible(meaning):
        yield f"{place}.meaning", "the meaning is empty, not in NFC, or holds what can't be seen"
    if any(folded(seed.statement).casefold() == folded(meaning).casefold() for seed in seeds.values()):
        yield f"{place}.meaning", f"{reference.id!r} repeats a seed and connects nothing"
    for identity in _twice(reference.support):
        yield f"{place}.support", f"{identity!r} stands twice"
    yield from _unusable(reference.support, seeds, f"{place}.support", "support")
    if len({seeds[member].event for member in reference.support if member in seeds}) < 2:
        yield f"{place}.support", f"the support of {reference.id!r} has fewer than two independent events"


def _unusable(members: Sequence[str], seeds: Mapping[str, Seed], place: str, role: str) -> Iterator[tuple[str, str]]:
    for member in sorted(set(members)):
        if member not in seeds:
            yield place, f"there is no seed {member!r}"
        elif not seeds[member].is_live:
            yield place, f"{member!r} is {seeds[member].status} and can't be {role}"


def _probe_faults(case: Case) -> Iterator[tuple[str, str]]:
    live = [seed.statement for seed in case.seeds if seed.is_live]
    dead = [seed.statement for seed in case.seeds if not seed.is_live]
    meanings = [reference.meaning for reference in case.hypotheses]
    if not case.probes:
        yield "probes", "there is no probe"
    for identity in _twice(probe.id for probe in case.probes):
        yield "probes", f"probe {identity!r} stands twice"
    for question in _twice(folded(probe.question).casefold() for probe in case.probes):
        yield "probes", f"the question {visible(question)!r} stands twice"
    for number, probe in enumerate(case.probes):
        place = f"probes[{number}]"
        if not probe.question or probe.question != visible(folded(probe.question)):
            yield f"{place}.question", "the question is empty, not in NFC, or holds what can't be seen"
        if not probe.answers:
            yield f"{place}.answers", f"probe {probe.id!r} has no answer"
        for answer in _twice(folded(answer).casefold() for answer in probe.answers):
            yield f"{place}.answers", f"the answer {visible(answer)!r} stands twice"
        for answer in probe.answers:
            if any(contains(text, answer) for text in (*live, *meanings)):
                continue
            told = f"the answer {visible(answer)!r} of {probe.id!r} stands in"
            gone = any(contains(text, answer) for text in dead)
            where = "seeds that are no longer live alone" if gone else "no statement and no hypothesis"
            yield f"{place}.answers", f"{told} {where}"


def _category_faults(case: Case, seeds: Mapping[str, Seed]) -> Iterator[tuple[str, str]]:
    wanted = {"expiry": "expired", "correction": "deleted"}.get(case.category)
    if wanted and not any(seed.status == wanted for seed in case.seeds):
        yield "category", f"the category {case.category!r} needs a seed that is {wanted}"
    if case.category in _NEEDS_CLASS and not case.duplicate_classes:
        yield "category", f"the category {case.category!r} needs a duplicate class"
    if case.category in _NEEDS_REFERENCE and not case.hypotheses:
        yield "category", f"the category {case.category!r} needs a hypothesis"
    if case.category == "same_evidence":
        events = [[seeds[member].event for member in members if member in seeds] for members in case.duplicate_classes]
        if not any(_twice(members) for members in events):
            yield "category", "no two members of a class are of one event"


def _instant_fault(text: str) -> str:
    try:
        seconds_of(text)
    except ValueError as error:
        return str(error)
    return "" if text.endswith("Z") else f"{text!r} is not in UTC"


def _twice(names: Iterable[str]) -> list[str]:
    return sorted(name for name, count in Counter(names).items() if count > 1)
