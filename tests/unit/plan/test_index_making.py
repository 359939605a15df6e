"""An index is embedded and built once, in the containers that trials use; what is damaged is made again or refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from runner.core.canonical import Digest, sha256_digest
from runner.core.errors import EngineError, EvidenceError
from runner.core.passages import Passage
from runner.plan.corpora import Corpus
from runner.plan.index import Index, Indexer, embedded_text
from runner.ports.engine import ImageFacts
from tests.fakes import pods
from tests.fakes.engine import Behaviour, Box, FakeEngine, Hang, Script
from tests.fakes.files import MemoryFiles
from tests.fakes.pods import Pods
from tests.fakes.surroundings import Watcher
from tests.fakes.vectors import MemoryVectors

TRIAL, SIDECAR = sha256_digest(b"trial"), sha256_digest(b"sidecar")
CALLS = 26
"""How often a first indexing asks the engine for something."""
NOTES = ("We move to Lisbon.", "Nobody knows why.")


def corpus(*texts: str) -> Corpus:
    passages = tuple(Passage(n, f"{n}.md", 0, len(text), "a note", text) for n, text in enumerate(texts, 1))
    return Corpus("notes", {}, passages)


@dataclass
class Desk:
    """An indexer and all that it works with."""

    roles: Pods = field(default_factory=Pods)
    files: MemoryFiles = field(default_factory=MemoryFiles)
    vectors: MemoryVectors = field(default_factory=MemoryVectors)
    watcher: Watcher = field(default_factory=Watcher)
    trial: Digest = TRIAL

    def __post_init__(self) -> None:
        images = {str(name): ImageFacts(name, (), "amd64") for name in (TRIAL, SIDECAR, sha256_digest(b"other"))}
        self.engine = FakeEngine(self.roles, images=images)

    def index(self, found: Corpus) -> Index:
        return Indexer(
            engine=self.engine,
            files=self.files,
            vectors=self.vectors,
            progress=self.watcher,
            cache=Path("/cache"),
            trial=self.trial,
            sidecar=SIDECAR,
            labels={"pairbench.run": "demo"},
            prefix="pairbench-demo",
        ).index(found)


def test_an_index_is_pinned_by_what_it_says_and_what_it_is() -> None:
    """The digest that the sidecar gives, that of the archive, and the number of points."""
    desk = Desk()
    index = desk.index(corpus(*NOTES))
    assert index.archive.startswith(b"index of {")
    assert index.pin.archive_sha256 == sha256_digest(index.archive)
    assert index.pin.points == 2
    assert index.pin.logical_sha256 == sha256_digest(index.archive.removeprefix(b"index of "))
    assert desk.engine.owned() == ()
    assert desk.watcher.steps == ["embedding 2 of 2 passages of notes", "building the index of notes"]


def test_points_hold_the_passage_and_its_vector() -> None:
    """One line a passage after a header; the payload is the passage without its number."""
    lines = Desk().index(corpus("We move.")).archive.removeprefix(b"index of ").splitlines()
    assert lines[0] == (
        b'{"collection":"memory","dimension":384,"distance":"Cosine","format":"pairbench/points","version":1}'
    )
    vector = pods.vector_text("a note\nWe move.")
    assert lines[1] == (
        b'{"id":1,"payload":{"end":8,"source":"1.md","start":0,"text":"We move.","title":"a note"},"vector":"'
        + vector.encode()
        + b'"}'
    )


def test_containers_are_walled_in() -> None:
    """No network, limits, and everything that they make carries the labels of the run."""
    desk = Desk()
    desk.index(corpus(*NOTES))
    for spec in desk.engine.specs.values():
        assert spec.network_of is None
        assert spec.labels["pairbench.run"] == "demo"
        assert 0 < spec.memory_bytes <= 2 << 30


def test_the_same_passages_are_indexed_once() -> None:
    """The second run of a study starts no container for it."""
    desk = Desk()
    first = desk.index(corpus(*NOTES))
    calls = len(desk.engine.calls)
    assert desk.index(corpus(*NOTES)) == first
    assert len(desk.engine.calls) == calls


def test_another_image_makes_another_index() -> None:
    """What trials search is made by what trials run."""
    desk = Desk()
    desk.index(corpus(*NOTES))
    desk.trial = sha256_digest(b"other")
    desk.index(corpus(*NOTES))
    assert desk.watcher.steps.count("building the index of notes") == 2


def test_only_new_texts_are_embedded() -> None:
    """A corpus of which one passage changed; and one text that stands twice is embedded once."""
    desk = Desk()
    desk.index(corpus(*NOTES))
    desk.watcher.steps.clear()
    desk.index(corpus(*NOTES, "And then?", "And then?"))
    assert desk.watcher.steps == ["embedding 1 of 4 passages of notes", "building the index of notes"]


@pytest.mark.parametrize("name", ["index.tar", "pin.json"])
@pytest.mark.parametrize("damage", [b"", b"{}", b"damaged", None])
def test_a_damaged_cache_is_made_again(name: str, damage: bytes | None) -> None:
    """Nothing that can be made again stops a run."""
    desk = Desk()
    index = desk.index(corpus(*NOTES))
    place = next(path for path in desk.files.held if path.name == name)
    if damage is None:
        desk.files.remove(place)
    else:
        desk.files.write(place, damage)
    assert desk.index(corpus(*NOTES)) == index
    assert desk.watcher.steps.count("building the index of notes") == 2


def test_a_vector_of_another_length_is_embedded_again() -> None:
    """A damaged store of vectors gives no index that nobody can search."""
    desk = Desk()
    index = desk.index(corpus(*NOTES))
    for path in list(desk.files.held):
        desk.files.remove(path)
    desk.vectors.held[next(iter(desk.vectors.held))] = b"short"
    assert desk.index(corpus(*NOTES)) == index
    assert "embedding 1 of 2 passages of notes" in desk.watcher.steps


def no_vectors(box: Box) -> int:
    if (box.spec.entrypoint or ())[-1] == "identity":
        return pods.embed(box)
    return 0


def odd_vectors(text: bytes) -> Behaviour:
    def run(box: Box) -> int:
        if (box.spec.entrypoint or ())[-1] == "identity":
            return pods.embed(box)
        box.write("/batch/vectors.jsonl", text)
        return 0

    return run


def says(report: bytes, archive: bytes | None = b"index") -> Behaviour:
    def run(box: Box) -> int:
        if archive is not None:
            box.write("/batch/index.tar", archive)
        box.say(report)
        return 0

    return run


DIGEST = b'"sha256:' + b"a" * 64 + b'"'
FAULTS: dict[str, tuple[str, Behaviour, str]] = {
    "no vectors": ("embed", no_vectors, "0 vectors came back for 2 texts"),
    "a vector too few": ("embed", odd_vectors(b'{"vector": "AAAA"}\n'), "a vector has 3 bytes, not 1536"),
    "no base64": ("embed", odd_vectors(b'{"vector": "!!!"}\n'), "a vector is not base64"),
    "no text": ("embed", odd_vectors(b'{"vector": 5}\n'), "a vector has 0 bytes"),
    "a torn line": ("embed", odd_vectors(b'{"vec'), "the last line is torn"),
    "no archive": ("build", says(b'{"points": 2, "logical_digest": ' + DIGEST + b"}\n", None), "left no index.tar"),
    "other points": ("build", says(b'{"points": 3, "logical_digest": ' + DIGEST + b"}\n"), "does not hold 2 points"),
    "no digest": ("build", says(b'{"points": 2}\n'), "'None' is not a digest"),
    "no report": ("build", says(b"done\n"), "not JSON"),
    "silence": ("build", says(b""), "not JSON"),
}


@pytest.mark.parametrize(("role", "behaviour", "message"), FAULTS.values(), ids=FAULTS)
def test_what_a_container_gives_back_is_not_believed(role: str, behaviour: Behaviour, message: str) -> None:
    """It is told what is wrong, and nothing is left."""
    desk = Desk()
    desk.roles.roles[role] = behaviour
    with pytest.raises(EvidenceError, match=message):
        desk.index(corpus(*NOTES))
    assert desk.engine.owned() == ()
    assert [path for path in desk.files.held if "indexes" in path.parts] == []


def fails(box: Box) -> int:
    box.say(b"no such model\n")
    return 3


def hangs(box: Box) -> Script:
    box.say(b"waiting\n")
    yield Hang()
    return 0


@pytest.mark.parametrize(
    ("behaviour", "message"), [(fails, "ended with 3: no such model"), (hangs, "ended with None: waiting")]
)
def test_a_container_that_fails_or_hangs_is_told_with_its_words(behaviour: Behaviour, message: str) -> None:
    """An hour is enough for any corpus; nothing of the container is left."""
    desk = Desk()
    desk.roles.roles["build"] = behaviour
    with pytest.raises(EngineError, match=message) as caught:
        desk.index(corpus(*NOTES))
    assert caught.value.problems[0].document == f"image {SIDECAR}"
    assert desk.engine.owned() == ()


@pytest.mark.parametrize("number", range(CALLS))
def test_an_engine_that_fails_once_leaves_nothing(number: int) -> None:
    """Whichever call it is: the error is told, and what was made is gone."""
    desk = Desk()
    whole = Desk()
    whole.index(corpus(*NOTES))
    assert len(whole.engine.calls) == CALLS
    desk.engine.fails_at = number
    call = whole.engine.calls[number][0]
    with pytest.raises(EngineError):
        desk.index(corpus(*NOTES))
    left = {item.kind for item in desk.engine.owned()}
    # What can't be removed stays, with the labels of the run, for whoever removes the run.
    assert left == ({"container", "volume"} if call == "remove" else {"volume"} if call == "remove_volume" else set())


def test_the_title_of_a_passage_is_embedded_too() -> None:
    """Where a text stands says something of what it is about."""
    assert embedded_text(corpus("Body.").passages[0]) == "a note\nBody."
