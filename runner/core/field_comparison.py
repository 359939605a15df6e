"""In what do two JSON values differ, field by field, and which of that may differ?

Items of a list are held against each other by what names them (a trial; a measure and an arm), where each has a name
of its own, so that one item too many moves no other. What may differ is `runner.core.volatile`, and nothing else.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import combinations
from typing import TYPE_CHECKING, Final, Literal

from runner.core.canonical import canonical_bytes
from runner.core.errors import EvidenceError
from runner.core.findings import FindingKind
from runner.core.outcomes import Outcome
from runner.core.volatile import CLOCKED_MEASURES, CLOCKED_UNITS, VOLATILE, Reason, Shape, Volatile, Where

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from runner.core.canonical import Json

_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_MOMENT: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z")
_DIGITS: Final = re.compile(r"[0-9]+")
_SCALARS: Final = frozenset({str, int, bool, type(None)})
_EXACT: Final = frozenset({str, int})
"""Types of which equal values are the same."""
_NAMING: Final = (
    *("trial", "number", "id", "name", "treatment", "measure", "arm", "task", "query", "case", "probe", "model"),
    *("tool", "kind", "owner", "half", "control_ran", "position", "outcome", "split", "seed", "reason"),
)
"""Keys whose values name an item of a list, the best first."""
_MOST_NAMING: Final = 3
_SHOWN: Final = 200
"""Characters of a value that are shown."""
_BEFORE: Final = 60
"""Of them, those before the place at which a long text differs."""


class Missing:
    """Stands for a value that one side hasn't got."""


MISSING: Final = Missing()


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that isn't the same, and may not differ."""

    field: str
    a: str
    """As JSON, and of a long value the part in which the two differ; "" where A hasn't got it."""
    b: str
    only_in: Literal["", "A", "B"]


@dataclass
class Found:
    """What became of the fields of one document."""

    same: int = 0
    volatile: Counter[tuple[str, Reason]] = field(default_factory=Counter)
    """(Pattern, reason) -> fields that differ and may."""
    different: int = 0


@dataclass(slots=True)
class _Node:
    """A place in the paths of the list."""

    below: dict[str, _Node] = field(default_factory=dict)
    here: list[Volatile] = field(default_factory=list)


@dataclass(frozen=True)
class Rules:
    """What of one document may differ."""

    root: _Node

    @classmethod
    def of(cls, document: str, excused: frozenset[Reason], entries: Sequence[Volatile] = VOLATILE) -> Rules:
        """Those entries for `document` whose reason is excused."""
        root = _Node()
        for entry in entries:
            if entry.reason in excused and fnmatchcase(document, entry.document):
                node = root
                for step in entry.path:
                    node = node.below.setdefault(step, _Node())
                node.here.append(entry)
        return cls(root)

    def whole(self) -> Volatile | None:
        """Why the document as a whole may differ, or be on one side only; None where it may not."""
        return next(iter(self.root.here), None)


class FieldComparison:
    """Holds two values of one document against each other, and counts in `found` what became of their fields."""

    def __init__(self, rules: Rules, found: Found, say: Callable[[Difference], object]) -> None:
        """Every difference is told to `say`, in the order of the fields."""
        # What is said of the document as a whole is said of no line of it.
        self._nodes = (_Node(rules.root.below),)
        self._found, self._say = found, say
        self._chain: list[tuple[Any, Any]] = []
        self._clocked: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())

    def compare(self, a: Json | Missing, b: Json | Missing) -> None:
        """Every field of `a` and `b` is counted, and what differs is told."""
        self._clocked = _clocked(a), _clocked(b)
        self._chain = []
        self._walk("", a, b, self._nodes)

    def _walk(self, path: str, a: Any, b: Any, nodes: tuple[_Node, ...]) -> None:
        entry = self._entry(a, b, nodes) if nodes else None
        if entry is not None:
            self._found.volatile[entry.field, entry.reason] += 1
        elif isinstance(a, dict) and isinstance(b, dict) and not (_is_quantity(a) or _is_quantity(b)) and (a or b):
            self._walk_object(path, a, b, nodes)
        elif isinstance(a, list) and isinstance(b, list) and (a or b):
            self._walk_list(path, a, b, tuple(node.below["[]"] for node in nodes if "[]" in node.below))
        elif same(a, b):
            self._found.same += 1
        else:
            self._found.different += 1
            self._say(difference(path.removeprefix("."), a, b))

    def _walk_object(self, path: str, a: dict[str, Any], b: dict[str, Any], nodes: tuple[_Node, ...]) -> None:
        self._chain.append((a, b))
        for key in sorted(a if a.keys() == b.keys() else a.keys() | b.keys()):
            one, other = a.get(key, MISSING), b.get(key, MISSING)
            if type(one) in _SCALARS and type(one) is type(other) and one == other:
                # As most fields are, whatever is said of them.
                self._found.same += 1
                continue
            below = tuple(node.below[step] for node in nodes for step in (key, "*") if step in node.below)
            self._walk(f"{path}.{key}", one, other, below)
        self._chain.pop()

    def _walk_list(self, path: str, a: list[Any], b: list[Any], nodes: tuple[_Node, ...]) -> None:
        keys = _naming(a, b)
        if keys:
            ones, others = _named(a, keys), _named(b, keys)
            both = [name for name in ones if name in others]
            for name in [*ones, *(name for name in others if name not in ones)]:
                self._walk(f"{path}[{name}]", ones.get(name, MISSING), others.get(name, MISSING), nodes)
            if both != [name for name in others if name in ones]:
                self._differs(f"{path} (order)", both, [name for name in others if name in ones])
            return
        if len(a) != len(b):
            self._differs(f"{path} (items)", len(a), len(b))
            return
        if not nodes and {*map(type, a), *map(type, b)} <= _EXACT and a == b:
            self._found.same += len(a)
            return
        for number, (one, other) in enumerate(zip(a, b, strict=True)):
            self._walk(f"{path}[{number}]", one, other, nodes)

    def _differs(self, path: str, a: Any, b: Any) -> None:
        self._found.different += 1
        self._say(difference(path.removeprefix("."), a, b))

    def _entry(self, a: Any, b: Any, nodes: tuple[_Node, ...]) -> Volatile | None:
        """What of the list lets the two differ; None where they don't, or may not."""
        entries = [entry for node in nodes for entry in node.here]
        if not entries or same(a, b):
            return None
        return next((entry for entry in entries if has_shape(entry.shape, a, b) and self._holds(entry.where)), None)

    def _holds(self, where: Where) -> bool:
        match where:
            case Where.EVERYWHERE:
                return True
            case Where.CLOCKED:
                return all(self._is_clocked(side) for side in (0, 1))
            case Where.CAPPED:
                return all(self._nearest(side, "outcome") == Outcome.CAP_EXCEEDED for side in (0, 1))
            case Where.CUT:
                return all(_is_cut(*(self._chain[place][side] for place in (0, -1))) for side in (0, 1))
            case Where.LATENCIES:
                return all(str(self._nearest(side, "name")).startswith("latencies") for side in (0, 1))

    def _is_clocked(self, side: int) -> bool:
        measure = self._nearest(side, "measure")
        return isinstance(measure, str) and (measure in self._clocked[side] or measure in CLOCKED_MEASURES)

    def _nearest(self, side: int, key: str) -> object:
        return next((pair[side][key] for pair in reversed(self._chain) if key in pair[side]), None)


def same(a: object, b: object) -> bool:
    """Whether two JSON values are the same; 1 is neither true nor 1.0."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def difference(path: str, a: object, b: object) -> Difference:
    """How the two values at `path` are told."""
    one, other = ("" if value is MISSING else _text(value) for value in (a, b))
    only_in: Literal["", "A", "B"] = "B" if a is MISSING else "A" if b is MISSING else ""
    start = 0 if only_in else next((n for n, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), 0)
    return Difference(path, _part(one, start), _part(other, start), only_in)


def _part(text: str, place: int) -> str:
    """`text`, or what of a long one stands round `place`."""
    if len(text) <= _SHOWN:
        return text
    start = max(0, min(place - _BEFORE, len(text) - _SHOWN))
    end = start + _SHOWN
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


def _text(value: Any) -> str:
    try:
        return canonical_bytes(value).decode("utf-8")
    except EvidenceError:
        # What has no canonical form isn't ours, and is shown as Python writes it.
        return repr(value)


def _clocked(document: Json | Missing) -> frozenset[str]:
    """The measures of a summary whose unit is read off a clock or the kernel's accounts."""
    found = _objects(document, "measures") if isinstance(document, dict) else []
    return frozenset(str(item.get("name")) for item in found if item.get("unit") in CLOCKED_UNITS)


def _is_quantity(value: Mapping[str, object]) -> bool:
    """Whether an object stands for a figure that there isn't: it is one field."""
    return len(value) == 1 and isinstance(value.get("unavailable"), str)


def has_shape(shape: Shape, a: Any, b: Any) -> bool:
    """Whether two values that differ are what a field of that shape has to be."""
    match shape:
        case Shape.ANY:
            return True
        case Shape.ONE_SIDED:
            return _is_nothing(a) is not _is_nothing(b)
        case Shape.AMOUNTS:
            texts = isinstance(a, str) and isinstance(b, str)
            return texts and _DIGITS.sub("0", a) == _DIGITS.sub("0", b)
        case _:
            return _fits(shape, a) and _fits(shape, b)


def _fits(shape: Shape, value: Any) -> bool:
    match shape:
        case Shape.INTEGER:
            return type(value) is int and value >= 0
        case Shape.INTEGERS:
            return isinstance(value, list) and all(_fits(Shape.INTEGER, item) for item in value)
        case Shape.FIGURE:
            return _fits(Shape.INTEGER, value) or (isinstance(value, dict) and _is_quantity(value))
        case Shape.BALANCE:
            return type(value) is int or _fits(Shape.FIGURE, value)
        case Shape.DIGEST:
            return isinstance(value, str) and _DIGEST.fullmatch(value) is not None
        case Shape.MOMENT:
            return isinstance(value, str) and _MOMENT.fullmatch(value) is not None
        case Shape.TEXTS:
            return isinstance(value, list) and all(isinstance(item, str) for item in value)
        case _:
            return isinstance(value, str)


def _is_nothing(value: object) -> bool:
    return value is MISSING or value is None or value == ""


def _is_cut(document: Mapping[str, Any], holder: Mapping[str, Any]) -> bool:
    """Whether an answer was cut in what `holder` tells: an attempt of a record, or an arm's part of a summary.

    Findings are of a trial's last attempt. Of one that another followed nobody says whether an answer was cut in it.
    """
    cut = [item for item in _objects(document, "findings") if item.get("kind") == FindingKind.CUT_STREAM]
    if "attempts" in holder:
        # The sums of an arm: a trial's name ends with its arm's.
        arm, repeated = holder.get("arm"), holder.get("repeated")
        trials = [trial for item in cut for trial in _list(item, "trials") if isinstance(trial, str)]
        return (type(repeated) is int and repeated > 0) or any(trial.rpartition(".")[2] == arm for trial in trials)
    attempts = _objects(document, "attempts")
    return bool(cut) if attempts and attempts[-1] is holder else any(one is holder for one in attempts)


def _list(document: Mapping[str, Any], key: str) -> list[Any]:
    found = document.get(key)
    return found if isinstance(found, list) else []


def _objects(document: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """The objects in a list of the document; none where there is no list."""
    return [item for item in _list(document, key) if isinstance(item, dict)]


def _naming(a: list[Any], b: list[Any]) -> tuple[str, ...]:
    """Keys whose values tell the items of both lists apart; none where there are no such keys."""
    items = [*a, *b]
    if len(items) <= 2 and len(a) == len(b):
        return ()
    if not all(isinstance(item, dict) for item in items):
        return ()
    known = [key for key in _NAMING if all(isinstance(item.get(key), str | int) for item in items)]
    chosen: Iterator[tuple[str, ...]] = (
        keys for size in range(1, _MOST_NAMING + 1) for keys in combinations(known, size)
    )
    return next((keys for keys in chosen if all(len(_named(side, keys)) == len(side) for side in (a, b))), ())


def _named(items: list[Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {", ".join(str(item[key]) for key in keys): item for item in items}
