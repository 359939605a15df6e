"""What have two runs to do with each other: must they be equal, may their estimates be compared, or neither?

A lock says of its run what it was made of. That is believed as far as the other run bears it out, and no further.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core.field_comparison import MISSING, difference
from runner.core.volatile import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.core.comparison import Kind
    from runner.core.field_comparison import Difference
    from runner.core.lock import How, Lock, RerunPin

_ALWAYS: Final = frozenset(Reason) - {Reason.REPLAY, Reason.OWN_STUDY, Reason.INSTALLED}
_LIVE: Final = "live"


@dataclass(frozen=True)
class Locked:
    """What decides it, of one run."""

    lock: Lock
    lock_sha256: str
    summary_sha256: str
    recorded_sha256: str
    """Of the cassette that the run left; "" for none."""
    asks_provider: bool
    """A provider answered: nothing obliges it to say the same again."""
    plays: bool
    """By its study a cassette answered, and nobody else."""

    @property
    def rerun_of(self) -> RerunPin | None:
        """Which run it repeats; None for none."""
        return self.lock.rerun_of

    @property
    def how(self) -> How:
        """How it was made of the run that it repeats, by who answered in it."""
        return "live" if self.asks_provider else "replay" if self.lock.cassette_sha256 else "again"


@dataclass(frozen=True)
class Relation:
    """How two runs are related."""

    words: str
    repeats: bool
    """The one is the other once more: it must be equal, whatever it was made with."""
    sources: bool
    """Also the files that its study was read from are the other's."""
    excused: frozenset[Reason]
    """Why fields may differ where the two must be equal."""
    broken: tuple[Difference, ...] = ()
    """What a lock says of the run that its own repeats, and what isn't so."""


def relation_of(a: Locked, b: Locked) -> Relation:
    """How `a` and `b` are related, by what their locks say of each other."""
    if a.lock_sha256 == b.lock_sha256:
        # One run was measured once: not even a clock said two things of it.
        return Relation("both are one run", repeats=True, sources=True, excused=frozenset())
    pins = [one.rerun_of for one in (a, b) if one.rerun_of is not None]
    rerun = _rerun(a, b)
    words, broken = rerun or _playing(a, b), (*_broken(a, b),)
    if words and any(pin.how == _LIVE for pin in pins):
        return Relation(f"{words}, measured afresh", repeats=False, sources=False, excused=_ALWAYS, broken=broken)
    if not words:
        return Relation("neither is a rerun of the other", repeats=False, sources=False, excused=_ALWAYS, broken=broken)
    excused = _ALWAYS
    if _plays_what_was_recorded(a, b):
        excused |= {Reason.REPLAY} if rerun else {Reason.REPLAY, Reason.OWN_STUDY}
    if pins:
        excused |= {Reason.INSTALLED}
    return Relation(words, repeats=True, sources=bool(rerun), excused=excused, broken=broken)


def kind_of(relation: Relation, a: Locked, b: Locked, *, conditions_differ: bool) -> Kind:
    """What may be said of the two, where nothing else is known of runs that aren't each other's repetition."""
    if relation.repeats:
        return "equality"
    if conditions_differ:
        return "uncontrolled"
    return "estimates" if a.asks_provider or b.asks_provider else "equality"


def _rerun(a: Locked, b: Locked) -> str:
    """That the one was made of the other, or both of a third, in words; "" where neither lock says so."""
    for name, one, other_name, other in (("B", b, "A", a), ("A", a, "B", b)):
        pin = one.rerun_of
        if pin is not None and pin.lock_sha256 == other.lock_sha256:
            return f"{name} is a rerun of {other_name} ({pin.how})"
    if a.rerun_of is not None and b.rerun_of is not None and a.rerun_of.lock_sha256 == b.rerun_of.lock_sha256:
        return f"both are reruns of {a.rerun_of.run}"
    return ""


def _playing(a: Locked, b: Locked) -> str:
    for name, one, other_name, other in (("B", b, "A", a), ("A", a, "B", b)):
        if other.recorded_sha256 and one.lock.cassette_sha256 == other.recorded_sha256:
            return f"{name} plays what {other_name} recorded"
    return ""


def _plays_what_was_recorded(a: Locked, b: Locked) -> bool:
    """Whether a cassette answered in the one, and it is the very one that the other left."""
    return any(
        one.plays
        and not other.plays
        and not other.lock.cassette_sha256
        and bool(other.recorded_sha256)
        and one.lock.cassette_sha256 == other.recorded_sha256
        for one, other in ((a, b), (b, a))
    )


def _broken(a: Locked, b: Locked) -> Iterator[Difference]:
    """Where a lock names a run by one of its marks and not by the others, and what its own study doesn't bear out."""
    for one, other in ((a, b), (b, a)):
        pin = one.rerun_of
        if pin is None:
            continue
        marks = _marks(pin)
        so = {"run": other.lock.run, "lock_sha256": other.lock_sha256, "summary_sha256": other.summary_sha256}
        yield from _unlike(*((marks, so) if one is a else (so, marks)))
        if pin.how != one.how:
            told = (pin.how, MISSING) if one is a else (MISSING, pin.how)
            yield difference(f"rerun_of.how (by its study: {one.how})", *told)
    if a.rerun_of is not None and b.rerun_of is not None:
        yield from _unlike(_marks(a.rerun_of), _marks(b.rerun_of))


def _marks(pin: RerunPin) -> dict[str, str]:
    return {"run": pin.run, "lock_sha256": pin.lock_sha256, "summary_sha256": pin.summary_sha256}


def _unlike(a: dict[str, str], b: dict[str, str]) -> Iterator[Difference]:
    """The marks that differ where others are the same: all of one run are, and none of two runs."""
    unlike = [key for key in a if a[key] != b[key]]
    if len(unlike) < len(a):
        yield from (difference(f"rerun_of.{key}", a[key], b[key]) for key in unlike)
