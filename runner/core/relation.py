"""What have two runs to do with each other: must they be equal, may their estimates be compared, or neither?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core.volatile import Reason

if TYPE_CHECKING:
    from runner.core.comparison import Kind
    from runner.core.lock import Lock, RerunPin

_ALWAYS: Final = frozenset(Reason) - {Reason.REPLAY}
_LIVE: Final = "live"
_REPLAY: Final = "replay"


@dataclass(frozen=True)
class Locked:
    """What decides it, of one run."""

    lock: Lock
    lock_sha256: str
    recorded_sha256: str
    """Of the cassette that the run left; "" for none."""
    asks_provider: bool
    """A provider answered: nothing obliges it to say the same again."""

    @property
    def rerun_of(self) -> RerunPin | None:
        """Which run it repeats; None for none."""
        return self.lock.rerun_of


@dataclass(frozen=True)
class Relation:
    """How two runs are related."""

    words: str
    repeats: bool
    """The one is the other once more: it must be equal, whatever it was made with."""
    excused: frozenset[Reason]
    """Why fields may differ where the two must be equal."""


def relation_of(a: Locked, b: Locked) -> Relation:
    """How `a` and `b` are related, by what their locks say of each other."""
    words = _words(a, b)
    is_live = any(one.rerun_of is not None and one.rerun_of.how == _LIVE for one in (a, b)) and words
    excused = _ALWAYS | {Reason.REPLAY} if _plays(a) != _plays(b) else _ALWAYS
    if is_live:
        return Relation(f"{words}, measured afresh", repeats=False, excused=_ALWAYS)
    return Relation(words or "neither is a rerun of the other", repeats=bool(words), excused=excused)


def kind_of(relation: Relation, a: Locked, b: Locked, *, conditions_differ: bool) -> Kind:
    """What may be said of the two, where nothing else is known of runs that aren't each other's repetition."""
    if relation.repeats:
        return "equality"
    if conditions_differ:
        return "uncontrolled"
    return "estimates" if a.asks_provider or b.asks_provider else "equality"


def _words(a: Locked, b: Locked) -> str:
    if a.lock_sha256 == b.lock_sha256:
        return "both are one run"
    for name, one, other_name, other in (("B", b, "A", a), ("A", a, "B", b)):
        pin = one.rerun_of
        if pin is not None and pin.lock_sha256 == other.lock_sha256:
            return f"{name} is a rerun of {other_name} ({pin.how})"
        if other.recorded_sha256 and one.lock.cassette_sha256 == other.recorded_sha256:
            return f"{name} plays what {other_name} recorded"
    if a.rerun_of is not None and b.rerun_of is not None and a.rerun_of.lock_sha256 == b.rerun_of.lock_sha256:
        return f"both are reruns of {a.rerun_of.run}"
    return ""


def _plays(one: Locked) -> bool:
    return bool(one.lock.cassette_sha256) or (one.rerun_of is not None and one.rerun_of.how == _REPLAY)
