"""What did a memory keep, and what did it answer? Read from what the sidecar printed, never from what it says itself.

The store's points are what there was at the end; the log of requests says which points searches had returned.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from runner.core.events import Corrupt, json_lines, plain_text
from runner.core.quantities import Unavailable
from runner.core.reconsolidation.observation import Answer, Hypothesis, Invalid, Observation, Violation
from runner.core.reconsolidation.texts import contains, folded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runner.core.canonical import Json
    from runner.core.reconsolidation.corpus import Seed
    from runner.core.resolved import ResolvedCase, ResolvedCases

PointId: TypeAlias = int | str
LIVE: Final = "live"
_SUCCESS: Final = 200
_SHOWN_CHARACTERS: Final = 80
# What one hostile memory can make an observation of: everything beyond is counted in one entry.
_MOST_INVALID: Final = 100


@dataclass(frozen=True)
class Point:
    """A point of the store."""

    id: PointId
    payload: Mapping[str, Json]


@dataclass
class Store:
    """What the sidecar's output says of its store."""

    points: dict[str, list[Point]] = field(default_factory=dict)
    """By collection, in the order of their ids."""
    returned: dict[str, set[PointId]] = field(default_factory=dict)
    """By collection: what searches returned before the last write that followed one."""


def store_of(output: bytes) -> Store | Unavailable:
    """The store that the sidecar's `output` prints, whole; unavailable where anything of it is missing or damaged."""
    reading = _Reading()
    for line, written, item in json_lines(output):
        if isinstance(item, Corrupt):
            return Unavailable(f"the sidecar's output is damaged in line {line}: {item.reason}")
        fault = reading.take(item, written)
        if fault:
            return Unavailable(f"the sidecar's output, line {line}: {fault}")
    return reading.store if reading.is_whole else Unavailable("the sidecar did not print what its store holds")


@dataclass
class _Reading:
    store: Store = field(default_factory=Store)
    is_whole: bool = False
    _digest: hashlib._Hash = field(default_factory=hashlib.sha256)
    _points: int = 0
    _pending: dict[str, set[PointId]] = field(default_factory=dict)

    def take(self, item: Mapping[str, Json], written: bytes | None) -> str:
        """What is wrong with the event; "" for nothing."""
        match item.get("event"):
            case "point":
                return self._point(item, written)
            case "request":
                self._request(item)
                return ""
            case "dumped":
                return self._end(item)
            case _:
                return ""

    def _point(self, item: Mapping[str, Json], written: bytes | None) -> str:
        collection, identity, payload = item.get("collection"), item.get("id"), item.get("payload")
        if self.is_whole:
            return "a point after the end"
        if written is None or not isinstance(collection, str) or not isinstance(payload, dict):
            return "not a point"
        if not isinstance(identity, int | str) or isinstance(identity, bool):
            return "a point without an id"
        self._digest.update(written.rstrip(b"\n") + b"\n")
        self._points += 1
        self.store.points.setdefault(collection, []).append(Point(identity, payload))
        return ""

    def _request(self, item: Mapping[str, Json]) -> None:
        """What a search returned counts for the answers that are written after it."""
        collection = _collection_of(item.get("path"))
        if item.get("status") != _SUCCESS or not collection:
            return
        returned = item.get("returned")
        if isinstance(returned, list):
            ids = {one for one in returned if isinstance(one, int | str)}
            self._pending.setdefault(collection, set()).update(ids)
        elif _writes(item) and collection in self._pending:
            self.store.returned.setdefault(collection, set()).update(self._pending.pop(collection))

    def _end(self, item: Mapping[str, Json]) -> str:
        if self.is_whole:
            return "it ends twice"
        if item.get("left_out") != 0:
            return f"{item.get('left_out')} points of the store had no room"
        if (item.get("points"), item.get("sha256")) != (self._points, f"sha256:{self._digest.hexdigest()}"):
            return "its points are not those that it counted"
        self.is_whole = True
        return ""


def observe(trial: str, given: ResolvedCases, names: Mapping[str, str], store: Store) -> tuple[Observation, ...]:
    """What one trial left of each of its cases, in the order in which it was given them.

    `names` says what the corpus calls the cases. Collections that belong to none count against the first.
    """
    known = {f"case-{case.case}" for case in given.cases}
    foreign = [Invalid(kind="collection", detail=_shown(name)) for name in sorted(store.points) if name not in known]
    return tuple(
        _Case(case, store, given.recall_budget.facts).observation(trial, names[case.case], () if number else foreign)
        for number, case in enumerate(given.cases)
    )


def nothing_observed(trial: str, given: ResolvedCases, names: Mapping[str, str]) -> tuple[Observation, ...]:
    """What a trial left that failed: nothing of any case."""
    return observe(trial, given, names, Store())


class _Case:
    """What the store holds of one case, gathered."""

    def __init__(self, case: ResolvedCase, store: Store, most_recalled: int) -> None:
        collection = f"case-{case.case}"
        self._seeds = {seed.id: seed for seed in case.seeds}
        self._points = {point.id: point for point in store.points.get(collection, ())}
        self._returned = store.returned.get(collection, set())
        self._most_recalled = most_recalled
        self._groups: list[tuple[str, ...]] = []
        self._survivors: dict[str, None] = {}
        self._hypotheses: list[Hypothesis] = []
        self._answers: list[Answer] = []
        self._violations: dict[Violation, None] = {}
        self._invalid: list[Invalid] = []

    def observation(self, trial: str, name: str, foreign: Sequence[Invalid]) -> Observation:
        for point in self._points.values():
            match point.payload.get("kind"):
                case "fact":
                    self._fact(point)
                case "hypothesis":
                    self._hypothesis(point)
                case "answer":
                    self._answer(point)
                case kind:
                    self._wrong("point", f"{_shown(point.id)} is of the kind {_shown(kind)}")
        return Observation(
            trial=trial,
            case=name,
            groups=tuple(self._groups),
            survivors=tuple(self._survivors),
            hypotheses=tuple(self._hypotheses),
            answers=tuple(self._answers),
            boundary_violations=tuple(self._violations),
            invalid=tuple(_capped([*foreign, *self._invalid])),
        )

    def _fact(self, point: Point) -> None:
        members, statement = _texts(point.payload.get("members")), point.payload.get("statement")
        if not members or not isinstance(statement, str):
            self._wrong("fact", f"{_shown(point.id)} has no members, or no statement")
            return
        self._note_dead("member", members)
        if point.payload.get("status") != LIVE:
            # It is no longer part of what the memory knows: neither a survivor nor a group.
            return
        if len(members) > 1:
            self._groups.append(members)
        own = [seed for member in members if (seed := self._seeds.get(member)) is not None]
        if own and not any(folded(seed.statement) == folded(statement) for seed in own):
            self._wrong("fact", f"{_shown(point.id)} says what none of its members does")
            return
        self._survivors |= dict.fromkeys(members)

    def _hypothesis(self, point: Point) -> None:
        support, statement = _texts(point.payload.get("support")), point.payload.get("statement")
        if support is None or not isinstance(statement, str):
            self._wrong("hypothesis", f"{_shown(point.id)} has no statement, or no support")
            return
        self._note_dead("support", support)
        self._hypotheses.append(Hypothesis(statement=plain_text(statement), support=support))

    def _answer(self, point: Point) -> None:
        probe, answer, recalled = (point.payload.get(key) for key in ("probe", "answer", "recalled"))
        if not isinstance(probe, str) or not isinstance(answer, str) or not isinstance(recalled, list):
            self._wrong("answer", f"{_shown(point.id)} lacks its probe, its answer or what was recalled")
            return
        statements: list[str] = []
        for identity in recalled:
            found = self._points.get(identity) if isinstance(identity, int | str) else None
            if found is None or found.payload.get("kind") not in {"fact", "hypothesis"}:
                self._wrong("answer", f"to {_shown(probe)}: {_shown(identity)} was recalled, which is no statement")
                return
            self._note_dead("recalled", _basis(found))
            statements.append(str(found.payload.get("statement")))
        fault = self._fault(answer, recalled, statements)
        if fault:
            self._wrong("answer", f"to {_shown(probe)}: {fault}")
        elif folded(answer):
            self._answers.append(Answer(probe=plain_text(probe), answer=plain_text(answer)))

    def _fault(self, answer: str, recalled: Sequence[Json], statements: Sequence[str]) -> str:
        """Why the answer doesn't count; "" when it does. An empty one says that the memory doesn't know."""
        if len(recalled) > self._most_recalled:
            return f"{len(recalled)} statements were recalled, and {self._most_recalled} may be"
        unseen = [identity for identity in recalled if identity not in self._returned]
        if unseen:
            return f"no search had returned {_shown(unseen[0])}"
        if folded(answer) and not any(contains(statement, answer) for statement in statements):
            return "it stands in nothing that was recalled"
        return ""

    def _note_dead(self, kind: str, seeds: Sequence[str]) -> None:
        for identity in seeds:
            seed: Seed | None = self._seeds.get(identity)
            if seed is not None and not seed.is_live:
                self._violations[Violation.model_validate({"kind": kind, "seed": identity})] = None

    def _wrong(self, kind: str, detail: str) -> None:
        self._invalid.append(Invalid(kind=kind, detail=detail))


def _capped(invalid: Sequence[Invalid]) -> Iterator[Invalid]:
    yield from invalid[:_MOST_INVALID]
    if len(invalid) > _MOST_INVALID:
        yield Invalid(kind="more", detail=f"{len(invalid) - _MOST_INVALID} further ones")


def _basis(point: Point) -> tuple[str, ...]:
    """The seeds that a statement rests on."""
    return _texts(point.payload.get("members")) or _texts(point.payload.get("support")) or ()


def _texts(value: Json) -> tuple[str, ...] | None:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        return None
    return tuple(plain_text(str(one)) for one in value)


def _collection_of(path: Json) -> str:
    """The collection whose points a request's path is about; "" for any other."""
    parts = path.split("/") if isinstance(path, str) else []
    return parts[2] if parts[1:2] == ["collections"] and parts[3:4] == ["points"] else ""


def _writes(item: Mapping[str, Json]) -> bool:
    parts = str(item.get("path")).split("/")
    return item.get("method") == "PUT" or (item.get("method") == "POST" and parts[4:5] in (["batch"], ["payload"]))


def _shown(value: object) -> str:
    return plain_text(str(value))[:_SHOWN_CHARACTERS]
