"""What holds of every review: what was blinded comes back, and no order of anything changes an assessment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.adjudicate.blinding import Bound, blind, outputs_of, unblind
from runner.adjudicate.form import render_form
from runner.core.reconsolidation.identity import RunIdentity
from runner.core.reconsolidation.key import Output
from runner.core.reconsolidation.packet import Decision, Packet
from runner.pipeline.reviewing import Scoring, prepare, score
from tests.fakes.files import MemoryFiles
from tests.fakes.reviews import ARMS, OTHER_PERSON, PERSON, REGISTER, RUN, Made, corpus, decided, world_of, write_run

if TYPE_CHECKING:
    import random

    from runner.core.reconsolidation.packet import Entry

RUN_OF = RunIdentity(name="one", lock_sha256="", ledger_head="", summary_sha256="")
BOUND = Bound("secret", RUN_OF, "sha256:" + "a" * 64, "sha256:" + "b" * 64)
CASES = {case.id: (split, case) for split, case in corpus().cases()}

texts = st.text(alphabet=st.characters(codec="utf-8"), max_size=40)


@st.composite
def output_sets(draw: st.DrawFn) -> tuple[Output, ...]:
    """Outputs of a few trials, each at a place of its own."""
    found: dict[tuple[str, str, int], Output] = {}
    for _ in range(draw(st.integers(0, 8))):
        case = draw(st.sampled_from(sorted(CASES)))
        arm, repetition = draw(st.sampled_from(ARMS)), draw(st.integers(1, 3))
        split, held = CASES[case]
        ids = [*(seed.id for seed in held.seeds), "unknown"]
        output = Output(
            split=split,
            case=case,
            arm=arm,
            repetition=repetition,
            trial=f"{split}.r{repetition}.{arm}",
            index=draw(st.integers(0, 3)),
            statement=draw(texts),
            support=tuple(sorted(draw(st.lists(st.sampled_from(ids), max_size=5)))),
        )
        found[output.trial, output.case, output.index] = output
    return tuple(sorted(found.values()))


@given(output_sets(), st.integers(0, 8))
def test_what_was_blinded_comes_back(outputs: tuple[Output, ...], checks: int) -> None:
    """Every output with its arm, its repeat and its support, unknown and repeated sources included."""
    packet, key = blind(outputs, corpus().splits, BOUND, checks)
    assert unblind(packet, key) == outputs


@given(output_sets(), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_no_packet(outputs: tuple[Output, ...], shuffler: random.Random) -> None:
    """Nor its key: places of entries follow from the secret alone."""
    shuffled = shuffler.sample(outputs, len(outputs))
    assert blind(shuffled, corpus().splits, BOUND, 4) == blind(outputs, corpus().splits, BOUND, 4)


@given(output_sets())
def test_no_two_names_of_a_packet_are_alike(outputs: tuple[Output, ...]) -> None:
    """The same source, event and reference have other names in every entry: nothing links two entries."""
    packet, _ = blind(outputs, corpus().splits, BOUND, 4)
    names = [entry.entry for entry in packet.entries]
    for entry in packet.entries:
        names += [source.source for source in entry.sources] + [reference.reference for reference in entry.references]
        names += {source.event for source in entry.sources}
    assert len(names) == len(set(names))


@given(output_sets())
def test_another_secret_gives_other_names(outputs: tuple[Output, ...]) -> None:
    """And says nothing else."""
    one, _ = blind(outputs, corpus().splits, BOUND, 4)
    other, _ = blind(outputs, corpus().splits, Bound("another", *list(BOUND.__dict__.values())[1:]), 4)
    assert not {entry.entry for entry in one.entries} & {entry.entry for entry in other.entries}
    assert len(one.entries) == len(other.entries) == len(outputs) + 4


@pytest.fixture(scope="module")
def made() -> tuple[MemoryFiles, Packet]:
    files = MemoryFiles()
    write_run(files)
    prepare(world_of(files), RUN, Path("/review"))
    return files, Packet.from_bytes(files.read(Path("/review/public/packet.json")) or b"", "packet")


def test_a_packet_says_nothing_of_where_outputs_come_from(made: tuple[MemoryFiles, Packet]) -> None:
    """No arm, trial, case, split, category, path, cost or time stands in any public file, nor do names of seeds."""
    files, packet = made
    candidates = {entry.candidate for entry in packet.entries}
    public = [Path("/review/public") / name for name in files.walk(Path("/review/public"))]
    assert len(public) == 4
    text = "\n".join((files.read(path) or b"").decode() for path in public if path.suffix == ".json")
    for candidate in candidates:
        # The systems of this test sign what they say; what a candidate says of itself is the candidate's own.
        text = text.replace(json.dumps(candidate, ensure_ascii=False), '""')
    words = [
        *ARMS,
        *CASES,
        "development",
        "holdout",
        "repetition",
        "split",
        "trial",
        "category",
        "cost",
        "_ms",
        "/runs",
    ]
    words += [f".r{number}." for number in (1, 2, 3)] + [
        f'"{name}{number}"' for name in "shp" for number in range(1, 6)
    ]
    assert [word for word in words if word in text] == []
    keys = {key for entry in packet.json_value()["entries"] for key in entry}  # type: ignore[union-attr]
    assert keys == {"entry", "candidate", "sources", "support", "references"}


@given(st.randoms(use_true_random=False))
@settings(max_examples=6)
def test_the_order_of_decisions_and_reviewers_changes_no_assessment(
    made: tuple[MemoryFiles, Packet], shuffler: random.Random
) -> None:
    """Nor does the order of the lines of a run's observations change the packet."""
    files, packet = made
    found = []
    for turn in (0, 1):
        # A register of its own: the second of two assessments says that it is the second.
        here = MemoryFiles(held=dict(files.held))
        paths = []
        for name in (PERSON, OTHER_PERSON):
            told = decided(packet, name)
            if turn:
                order = tuple(shuffler.sample(told.decisions, len(told.decisions)))
                told = told.model_copy(update={"decisions": order})
            paths.append(Path(f"/{turn}-{name}.json"))
            here.write(paths[-1], told.to_bytes())
        if turn:
            paths.reverse()
        assessment, _ = score(world_of(here), Scoring(Path("/review"), tuple(paths), Path(f"/a{turn}"), REGISTER))
        found.append(assessment.model_copy(update={"reviews": ()}))
    assert found[0] == found[1]


def test_the_order_of_a_run_s_lines_changes_no_packet() -> None:
    """Only the digest of the observations that the key is bound to."""
    run = Made()
    seen = run.observations()
    one = outputs_of(run.plan().trials, corpus().splits, seen)
    other = outputs_of(run.plan().trials, corpus().splits, tuple(reversed(seen)))
    assert one == other


def test_the_same_decisions_scored_twice_give_the_same_bytes(made: tuple[MemoryFiles, Packet]) -> None:
    """Also when the holdout was marked as inspected in between, by this very run."""
    files, packet = made
    here = MemoryFiles(held=dict(files.held))
    here.write(Path("/mine.json"), decided(packet).to_bytes())
    for out in ("/first", "/second"):
        score(world_of(here), Scoring(Path("/review"), (Path("/mine.json"),), Path(out), REGISTER))
    assert here.read(Path("/first/assessment.json")) == here.read(Path("/second/assessment.json"))
    assert here.read(Path("/first/assessment.txt")) == here.read(Path("/second/assessment.txt"))


@given(output_sets())
@settings(max_examples=30)
def test_nothing_that_a_model_wrote_can_leave_the_form_s_data(outputs: tuple[Output, ...]) -> None:
    """Whatever the candidates say, the page has the elements that it has without them."""
    packet, _ = blind(outputs, corpus().splits, BOUND, 2)
    page = render_form(packet).decode("utf-8")
    empty = render_form(blind((), corpus().splits, BOUND, 2)[0]).decode("utf-8")
    assert page.count("<") == empty.count("<")
    assert page.count("</script>") == 2
    start = page.index('id="data">') + len('id="data">')
    assert json.loads(page[start : page.index("</script>", start)])["packet"] == packet.digest()


@given(st.lists(st.sampled_from(["equivalent", "not_equivalent", "uncertain"]), min_size=8, max_size=8))
@settings(max_examples=20)
def test_every_output_stays_in_the_denominator(said: list[str]) -> None:
    """Matched, repeated, uncertain, not equivalent and disagreed add up to what was produced."""
    files = MemoryFiles()
    write_run(files)
    prepare(world_of(files), RUN, Path("/review"))
    packet = Packet.from_bytes(files.read(Path("/review/public/packet.json")) or b"", "packet")

    def decide(entry: Entry) -> Decision:
        verdict = said[int(entry.entry[-1], 16) % len(said)]
        own = next((item.reference for item in entry.references if item.support == entry.support), None)
        if verdict == "equivalent" and own:
            return Decision(entry=entry.entry, decision="equivalent", reference=own)
        return Decision.model_validate(
            {
                "entry": entry.entry,
                "decision": verdict if verdict == "uncertain" else "not_equivalent",
                "reference": None,
            }
        )

    files.write(Path("/mine.json"), decided(packet, decide=decide).to_bytes())
    found, _ = score(world_of(files), Scoring(Path("/review"), (Path("/mine.json"),), Path("/out"), REGISTER))
    produced = sum(len(seen.hypotheses) for seen in Made().observations())
    assert sum(arm.produced for arm in found.arms) == produced
    for arm in found.arms:
        counted = arm.matched + arm.repeated + arm.uncertain + arm.not_equivalent + arm.disagreed
        assert counted == arm.produced
        assert arm.matched <= arm.labels
