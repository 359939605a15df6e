"""What two runs have to do with each other, by their locks."""

from __future__ import annotations

import pytest

from runner.core.lock import EnginePin, HarnessPin, How, Lock, RerunPin
from runner.core.relation import Locked, kind_of, relation_of
from runner.core.volatile import Reason

CASSETTE = "sha256:" + "c" * 64
LOCK = Lock(
    run="one",
    protocol_version="1",
    created_at="2026-11-30T12:00:00.000Z",
    evidence="measurement",
    model_shown="a model",
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


def locked(name: str, of: str = "", how: How = "again", *, asks: bool = False, **more: str) -> Locked:
    """A run called `name`, a rerun of the one called `of`."""
    pin = RerunPin(run=of, lock_sha256=f"lock of {of}", summary_sha256="", how=how) if of else None
    recorded, played = more.get("recorded", ""), more.get("played", "")
    lock = LOCK.model_copy(update={"run": name, "rerun_of": pin, "cassette_sha256": played})
    return Locked(lock, f"lock of {name}", recorded, asks_provider=asks)


def test_a_rerun_repeats_its_original() -> None:
    """In whichever order they are named; only between a recording and its replay may it be another who answers."""
    one, two = locked("one"), locked("two", of="one")
    assert relation_of(one, two).words == "B is a rerun of A (again)"
    assert relation_of(two, one).words == "A is a rerun of B (again)"
    assert relation_of(one, two).repeats
    assert Reason.REPLAY not in relation_of(one, two).excused
    replayed = locked("two", of="one", how="replay")
    assert Reason.REPLAY in relation_of(one, replayed).excused
    assert Reason.REPLAY not in relation_of(locked("three", of="one", how="replay"), replayed).excused


def test_a_run_repeats_itself() -> None:
    """In its folder and out of an archive."""
    found = relation_of(locked("one"), locked("one"))
    assert (found.words, found.repeats) == ("both are one run", True)


def test_reruns_of_one_run_repeat_each_other() -> None:
    """Also when the original is lost."""
    found = relation_of(locked("two", of="one"), locked("three", of="one"))
    assert (found.words, found.repeats) == ("both are reruns of one", True)


def test_who_plays_a_cassette_repeats_who_recorded_it() -> None:
    """Known by the cassette's digest, where a study file names it."""
    found = relation_of(locked("one", recorded=CASSETTE), locked("two", played=CASSETTE))
    assert (found.words, found.repeats) == ("B plays what A recorded", True)
    assert Reason.REPLAY in found.excused
    assert not relation_of(locked("one", recorded=CASSETTE), locked("two", played="sha256:other")).repeats


def test_a_live_rerun_is_no_repetition() -> None:
    """Nothing obliges a provider to say the same again."""
    found = relation_of(locked("one", asks=True), locked("two", of="one", how="live", asks=True))
    assert (found.words, found.repeats) == ("B is a rerun of A (live), measured afresh", False)


@pytest.mark.parametrize(
    ("asks", "differ", "kind"),
    [
        (False, False, "equality"),
        (True, False, "estimates"),
        (True, True, "uncontrolled"),
        (False, True, "uncontrolled"),
    ],
)
def test_what_may_be_said_of_runs_that_repeat_nothing(asks: bool, differ: bool, kind: str) -> None:  # noqa: FBT001
    """Equality only where all that they were made with is the same, and no provider answered."""
    one, two = locked("one"), locked("two", asks=asks)
    assert kind_of(relation_of(one, two), one, two, conditions_differ=differ) == kind


def test_a_repetition_must_be_equal_whatever_it_was_made_with() -> None:
    """That it was made with something else shows as a difference."""
    one, two = locked("one"), locked("two", of="one")
    assert kind_of(relation_of(one, two), one, two, conditions_differ=True) == "equality"
