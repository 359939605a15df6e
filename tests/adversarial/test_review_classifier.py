"""Threat: something in a packet beside the candidates' own words tells one system from another.

A classifier learns from every such thing which of two systems an entry comes from. On entries that it never saw it does
no better than chance; and it finds each leak that is put into a packet on purpose, so that it could have found one.

Once the systems are invented ones that cite alike, so that whatever is found is the packet's own; and once the two that
the default study ships, which differ in what they cite, as systems do.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import yaml

from runner.adjudicate.blinding import Bound, blind
from runner.core.reconsolidation.identity import RunIdentity
from runner.core.reconsolidation.key import Output
from tests.fakes.reviews import corpus

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from runner.core.reconsolidation.corpus import Case
    from runner.core.reconsolidation.key import Key, KeyEntry
    from runner.core.reconsolidation.packet import Entry, Packet

SYSTEMS = ("connections", "connections-second")
RUN = RunIdentity(name="one", lock_sha256="", ledger_head="", summary_sha256="")
SECRETS = ("one", "two", "three")
FOLDS = 5
SCRIPTS = Path(__file__).resolve().parents[2] / "corpora" / "reconsolidation" / "scripts"


def drawn(*parts: object) -> int:
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:4], "big")


@cache
def outputs() -> tuple[Output, ...]:
    """Two systems that propose equally often, of the same cases, resting on sources drawn alike, in words of their own."""
    made = []
    for split, case in corpus().cases():
        for arm in SYSTEMS:
            for repetition in (1, 2, 3):
                for index in range(4):
                    ids = sorted(seed.id for seed in case.seeds)
                    count = 1 + drawn("count", case.id, repetition, index, arm) % len(ids)
                    support = sorted(ids, key=lambda name: drawn(name, case.id, repetition, index, arm))[:count]
                    made.append(output(split, case, arm, (repetition, index), (f"{arm} says so, {index}.", support)))
    return tuple(made)


def output(split: str, case: Case, arm: str, place: tuple[int, int], told: tuple[str, Sequence[str]]) -> Output:
    """An output of a case; `place` is its repeat, and which one of that it is; `told` what it says and rests on."""
    return Output(
        split=split,
        case=case.id,
        arm=arm,
        repetition=place[0],
        trial=f"{split}.r{place[0]}.{arm}",
        index=place[1],
        statement=told[0],
        support=tuple(sorted(told[1])),
    )


@cache
def shipped_outputs() -> tuple[Output, ...]:
    """What the two scripted models of the default study propose, in three repeats."""
    rules = {
        arm: yaml.safe_load((SCRIPTS / name).read_text("utf-8"))["rules"]
        for arm, name in zip(SYSTEMS, ("first.yaml", "second.yaml"), strict=True)
    }
    return tuple(
        output(split, case, arm, (repetition, index), (told["statement"], told["support"]))
        for split, case in corpus().cases()
        for arm in SYSTEMS
        for repetition in (1, 2, 3)
        for index, told in enumerate(proposed(rules[arm], case))
    )


def proposed(rules: list[Any], case: Case) -> list[Any]:
    """What the first rule says that fits the live seeds of `case`."""
    text = json.dumps([seed.statement for seed in case.seeds if seed.is_live], ensure_ascii=False)
    rule = next(rule for rule in rules if rule.get("when", {}).get("text", {}).get("contains", "") in text)
    found: list[Any] = json.loads(rule["respond"]["text"])["connections"]
    return found


def bits(name: str) -> list[float]:
    """Every bit of the hexadecimal digits of an opaque name."""
    digits = name.partition("-")[2]
    number = int(digits, 16)
    return [float(number >> place & 1) for place in range(80)]


def features(entry: Entry, number: int, count: int) -> list[float]:
    """Everything of an entry but its candidate: where it stands, its names bit by bit, orders, numbers and sizes."""
    sources = [source.source for source in entry.sources]
    cited = [float(source in entry.support) for source in sources]
    texts = [len(source.statement) for source in entry.sources]
    first = entry.sources[0]
    return [
        number / count,
        float(number % 2),
        float(number % 3 == 0),
        *bits(entry.entry),
        *bits(first.source),
        *bits(first.event),
        *(bits(entry.references[0].reference) if entry.references else [0.0] * 80),
        float(len(sources)),
        float(len(entry.support)),
        float(len(entry.references)),
        *(cited + [0.0] * 4)[:4],
        float(sum(texts)),
        float(texts[0]),
        float(len({source.event for source in entry.sources})),
        float(sources == sorted(sources)),
        float(sum(len(reference.support) for reference in entry.references)),
    ]


def support_of(entry: Entry, number: int, count: int) -> list[float]:
    """What an entry cites, and nothing else of it."""
    del number, count
    support = set(entry.support)
    events = {source.event for source in entry.sources if source.source in support}
    return [
        float(len(entry.support)),
        len(entry.support) / len(entry.sources),
        float(len(events)),
        float(len(events) < len(entry.support)),
        float(any(set(reference.support) == support for reference in entry.references)),
        float(any(set(reference.support) & support for reference in entry.references)),
    ]


def table(
    packet: Packet, key: Key, seen: Callable[[Entry, int, int], list[float]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    count = len(packet.entries)
    rows = np.array([seen(entry, number, count) for number, entry in enumerate(packet.entries)])
    spread = rows.std(axis=0)
    return (rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1), np.array(
        [float(known.arm == SYSTEMS[1]) for known in key.entries]
    )


def learned(rows: NDArray[np.float64], labels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights of a logistic regression with a ridge, by Newton's method."""
    rows = np.column_stack([rows, np.ones(len(rows))])
    weights = np.zeros(rows.shape[1])
    ridge = 2.0 * np.eye(rows.shape[1])
    for _ in range(8):
        chance = 1 / (1 + np.exp(-np.clip(rows @ weights, -30, 30)))
        slope = rows.T @ (chance - labels) + ridge @ weights
        curve = (rows * (chance * (1 - chance))[:, None]).T @ rows + ridge
        weights = weights - np.linalg.solve(curve, slope)
    found: NDArray[np.float64] = weights
    return found


def of_output(known: KeyEntry) -> int:
    return drawn("fold", known.case, known.index, known.repetition)


def of_case(known: KeyEntry) -> int:
    """Nothing of a case is learned before it is told of another entry of the same case."""
    return drawn("fold", known.case)


def accuracy(
    packet: Packet,
    key: Key,
    seen: Callable[[Entry, int, int], list[float]] = features,
    fold_of: Callable[[KeyEntry], int] = of_output,
) -> float:
    """The share of entries whose system is told rightly by what was learned of the others."""
    rows, labels = table(packet, key, seen)
    folds = np.array([fold_of(known) % FOLDS for known in key.entries])
    right = 0
    for fold in range(FOLDS):
        weights = learned(rows[folds != fold], labels[folds != fold])
        told = np.column_stack([rows[folds == fold], np.ones(int((folds == fold).sum()))]) @ weights > 0
        right += int((told == (labels[folds == fold] > 0)).sum())
    return right / len(labels)


def blinded(secret: str, made: Sequence[Output] | None = None) -> tuple[Packet, Key]:
    return blind(outputs() if made is None else made, corpus().splits, Bound(secret, RUN, "", ""), 0)


@pytest.mark.parametrize("secret", SECRETS)
def test_no_better_than_chance(secret: str) -> None:
    """672 entries, half of each system: three standard deviations of guessing are 0.058."""
    packet, key = blinded(secret)
    assert len(packet.entries) == 672
    assert abs(accuracy(packet, key) - 0.5) < 0.058


@pytest.mark.parametrize("secret", SECRETS)
def test_the_shipped_systems_are_told_no_better_than_by_guessing(secret: str) -> None:
    """120 entries, which are 40 outputs three times over: three standard deviations of guessing at 40 are 0.237."""
    packet, key = blinded(secret, shipped_outputs())
    assert len(packet.entries) == 120
    assert abs(accuracy(packet, key, fold_of=of_case) - 0.5) < 0.237


def remembered(made: Sequence[Output]) -> float:
    """What is told rightly by whoever knows, of the other repeats, which system cites what of which case."""
    right = 0.0
    for one in made:
        known = [
            other.arm == one.arm
            for other in made
            if (other.case, other.support) == (one.case, one.support) and other.repetition != one.repetition
        ]
        share = sum(known) / len(known)
        right += 0.5 if share == 0.5 else float(share > 0.5)
    return right / len(made)


def test_what_support_alone_tells_of_the_shipped_systems() -> None:
    """The reference has these figures. Support is what is judged, so it can't be withheld: a system that cites
    as no other does is known by it to whoever knows how it cites.
    """
    packet, key = blinded("one", shipped_outputs())
    assert round(accuracy(packet, key, support_of, of_case), 3) == 0.475
    assert round(accuracy(packet, key, support_of, of_output), 3) == 0.533
    assert round(remembered(shipped_outputs()), 3) == 0.6


def by_system(packet: Packet, key: Key) -> tuple[Sequence[Entry], list[int]]:
    """One system's entries first."""
    order = sorted(range(len(key.entries)), key=lambda number: key.entries[number].arm)
    return [packet.entries[number] for number in order], order


def marked_names(packet: Packet, key: Key) -> tuple[Sequence[Entry], list[int]]:
    """The last digit of an entry's name is even for one system and odd for the other."""
    made = []
    for entry, known in zip(packet.entries, key.entries, strict=True):
        digit = int(entry.entry[-1], 16) // 2 * 2 + (known.arm == SYSTEMS[1])
        made.append(entry.model_copy(update={"entry": f"{entry.entry[:-1]}{digit:x}"}))
    return made, list(range(len(made)))


def cited_first(packet: Packet, key: Key) -> tuple[Sequence[Entry], list[int]]:
    """One system's sources stand in the order in which it cites them."""
    made = []
    for entry, known in zip(packet.entries, key.entries, strict=True):
        order = sorted(entry.sources, key=lambda source: (source.source not in entry.support, source.source))
        is_second = known.arm == SYSTEMS[1]
        made.append(entry.model_copy(update={"sources": tuple(order)}) if is_second else entry)
    return made, list(range(len(made)))


def longer(packet: Packet, key: Key) -> tuple[Sequence[Entry], list[int]]:
    """One system's trials are shown with a source more."""
    made = []
    for entry, known in zip(packet.entries, key.entries, strict=True):
        more = (*entry.sources, entry.sources[0]) if known.arm == SYSTEMS[1] else entry.sources
        made.append(entry.model_copy(update={"sources": more}))
    return made, list(range(len(made)))


@pytest.mark.parametrize(
    ("leak", "least"), [(by_system, 0.95), (marked_names, 0.95), (cited_first, 0.65), (longer, 0.9)]
)
def test_a_leak_is_found(leak: Callable[[Packet, Key], tuple[Sequence[Entry], list[int]]], least: float) -> None:
    """Far beyond what guessing can reach: the classifier isn't blind itself."""
    packet, key = blinded("one")
    entries, order = leak(packet, key)
    leaky = packet.model_copy(update={"entries": tuple(entries)})
    known = key.model_copy(update={"entries": tuple(key.entries[number] for number in order)})
    assert accuracy(leaky, known) > least
