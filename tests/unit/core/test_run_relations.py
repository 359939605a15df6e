"""What two runs have to do with each other, by their locks."""

from __future__ import annotations

from dataclasses import replace

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


def pinned(of: str, how: How = "again") -> RerunPin:
    """What a lock says of the run called `of`."""
    return RerunPin(run=of, lock_sha256=f"lock of {of}", summary_sha256=f"summary of {of}", how=how)


def locked(name: str, of: RerunPin | str = "", *, asks: bool = False, **more: str) -> Locked:
    """A run called `name`, a rerun of another one; it may have `recorded` or `played` a cassette."""
    pin = pinned(of) if isinstance(of, str) and of else of or None
    played = more.get("played", "")
    lock = LOCK.model_copy(update={"run": name, "rerun_of": pin, "cassette_sha256": played})
    return Locked(
        lock,
        lock_sha256=f"lock of {name}",
        summary_sha256=f"summary of {name}",
        recorded_sha256=more.get("recorded", ""),
        asks_provider=asks,
        plays=bool(played),
    )


def broken(a: Locked, b: Locked) -> list[tuple[str, str, str]]:
    return [(item.field, item.a, item.b) for item in relation_of(a, b).broken]


def test_a_rerun_repeats_its_original() -> None:
    """In whichever order they are named; only between a recording and its replay may it be another who answers."""
    one, two = locked("one"), locked("two", of="one")
    assert relation_of(one, two).words == "B is a rerun of A (again)"
    assert relation_of(two, one).words == "A is a rerun of B (again)"
    assert relation_of(one, two).repeats
    assert Reason.REPLAY not in relation_of(one, two).excused
    recorder = locked("one", recorded=CASSETTE)
    replayed = locked("two", of=pinned("one", "replay"), played=CASSETTE)
    assert relation_of(recorder, replayed).words == "B is a rerun of A (replay)"
    assert Reason.REPLAY in relation_of(recorder, replayed).excused
    again = locked("three", of=pinned("one", "replay"), played=CASSETTE)
    assert Reason.REPLAY not in relation_of(again, replayed).excused
    assert broken(one, two) == broken(two, one) == broken(recorder, replayed) == broken(again, replayed) == []


@pytest.mark.parametrize(
    ("recorded", "played"), [("", ""), (CASSETTE, ""), ("", CASSETTE), (CASSETTE, "sha256:" + "d" * 64)]
)
def test_the_word_replay_excuses_nothing(recorded: str, played: str) -> None:
    """Only a cassette does that the other run left, and still has."""
    one, two = locked("one", recorded=recorded), locked("two", of=pinned("one", "replay"), played=played)
    for pair in ((one, two), (two, one)):
        assert relation_of(*pair).repeats
        assert Reason.REPLAY not in relation_of(*pair).excused


def test_a_cassette_excuses_nothing_where_the_study_has_somebody_else_answer() -> None:
    """Who plays is said by study and lock together."""
    one, two = locked("one", recorded=CASSETTE), locked("two", of=pinned("one", "replay"), played=CASSETTE)
    assert Reason.REPLAY not in relation_of(one, replace(two, plays=False)).excused


def test_how_a_rerun_was_made_is_borne_out_by_who_answered_in_it() -> None:
    """Of a replay that plays nothing, a word is told that its study doesn't bear out."""
    one = locked("one", recorded=CASSETTE)
    assert broken(one, locked("two", of=pinned("one", "replay"))) == [
        ("rerun_of.how (by its study: again)", "", '"replay"')
    ]
    assert broken(locked("two", of=pinned("one"), played=CASSETTE), one) == [
        ("rerun_of.how (by its study: replay)", '"again"', "")
    ]
    assert broken(one, locked("two", of=pinned("one", "live"))) == [
        ("rerun_of.how (by its study: again)", "", '"live"')
    ]


@pytest.mark.parametrize(
    ("key", "so"), [("run", "one"), ("lock_sha256", "lock of one"), ("summary_sha256", "summary of one")]
)
def test_what_a_lock_says_of_the_run_that_it_repeats_must_all_be_so(key: str, so: str) -> None:
    """A lock that names it by one mark and not by another is told, whichever it is."""
    one, two = locked("one"), locked("two", of=pinned("one").model_copy(update={key: "x"}))
    assert broken(one, two) == [(f"rerun_of.{key}", f'"{so}"', '"x"')]
    assert broken(two, one) == [(f"rerun_of.{key}", '"x"', f'"{so}"')]
    assert relation_of(one, two).repeats is (key != "lock_sha256")
    three = locked("three", of="one")
    assert broken(three, two) == [(f"rerun_of.{key}", f'"{so}"', '"x"')]


def test_a_run_may_be_a_rerun_of_what_is_not_looked_at() -> None:
    """Of a third run nothing here says anything."""
    assert broken(locked("one"), locked("two", of="another")) == []
    assert broken(locked("one", of="another"), locked("two", of="a third")) == []


def test_a_run_repeats_itself() -> None:
    """In its folder and out of an archive."""
    found = relation_of(locked("one"), locked("one"))
    assert (found.words, found.repeats) == ("both are one run", True)


def test_of_one_run_nothing_may_differ() -> None:
    """It was measured once, and no clock said two things."""
    assert relation_of(locked("one", of="another"), locked("one", of="another")).excused == frozenset()


def test_reruns_of_one_run_repeat_each_other() -> None:
    """Also when the original is lost."""
    found = relation_of(locked("two", of="one"), locked("three", of="one"))
    assert (found.words, found.repeats) == ("both are reruns of one", True)


def test_who_plays_a_cassette_repeats_who_recorded_it() -> None:
    """Known by the cassette's digest, where a study file names it."""
    found = relation_of(locked("one", recorded=CASSETTE), locked("two", played=CASSETTE))
    assert (found.words, found.repeats) == ("B plays what A recorded", True)
    assert {Reason.REPLAY, Reason.OWN_STUDY} <= found.excused
    assert not relation_of(locked("one", recorded=CASSETTE), locked("two", played="sha256:other")).repeats


def test_a_live_rerun_is_no_repetition() -> None:
    """Nothing obliges a provider to say the same again."""
    found = relation_of(locked("one", asks=True), locked("two", of=pinned("one", "live"), asks=True))
    assert (found.words, found.repeats) == ("B is a rerun of A (live), measured afresh", False)


def test_what_else_was_installed_may_differ_in_a_rerun_only() -> None:
    """Two runs of one study on two installations were made with different things."""
    assert Reason.INSTALLED in relation_of(locked("one"), locked("two", of="one")).excused
    assert Reason.INSTALLED in relation_of(locked("three", of="one"), locked("two", of="one")).excused
    assert Reason.INSTALLED not in relation_of(locked("one"), locked("two")).excused
    assert Reason.INSTALLED not in relation_of(locked("one", recorded=CASSETTE), locked("two", played=CASSETTE)).excused


def test_the_files_of_a_study_are_those_of_its_rerun() -> None:
    """Who plays a cassette by a study of its own has other files, and no script perhaps."""
    assert relation_of(locked("one"), locked("two", of="one")).sources
    replayed = relation_of(locked("one", recorded=CASSETTE), locked("two", of=pinned("one", "replay"), played=CASSETTE))
    assert (replayed.sources, Reason.OWN_STUDY in replayed.excused) == (True, False)
    assert not relation_of(locked("one", recorded=CASSETTE), locked("two", played=CASSETTE)).sources
    assert not relation_of(locked("one"), locked("two")).sources


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
