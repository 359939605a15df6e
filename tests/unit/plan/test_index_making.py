"""An index is embedded and built once, in the containers that trials use; what is damaged is made again or refused."""

from __future__ import annotations

import base64
import math
import struct
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from runner.core.canonical import Digest, sha256_digest
from runner.core.errors import EngineError, EvidenceError
from runner.core.passages import Passage
from runner.plan.corpora import Corpus
from runner.plan.embedding import GROUP, embedded_text
from runner.plan.index import Images, Index, Indexer
from runner.ports.engine import ImageFacts
from tests.fakes import pods
from tests.fakes.engine import Behaviour, Box, FakeEngine, Hang, Script
from tests.fakes.files import MemoryFiles
from tests.fakes.pods import Pods
from tests.fakes.slots import MemorySlots
from tests.fakes.surroundings import Watcher
from tests.fakes.vectors import MemoryVectors

TRIAL, SIDECAR, RETRIEVAL = (sha256_digest(name) for name in (b"trial", b"sidecar", b"retrieval"))
CALLS = 33
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
    slots: MemorySlots = field(default_factory=MemorySlots)
    trial: Digest = TRIAL
    retrieval: Digest | None = None

    def __post_init__(self) -> None:
        images = {
            str(name): ImageFacts(name, (), "amd64") for name in (TRIAL, SIDECAR, RETRIEVAL, sha256_digest(b"other"))
        }
        self.engine = FakeEngine(self.roles, images=images)

    def index(self, found: Corpus) -> Index:
        return Indexer(
            engine=self.engine,
            files=self.files,
            vectors=self.vectors,
            slots=self.slots,
            progress=self.watcher,
            cache=Path("/cache"),
            images=Images(self.trial, SIDECAR, self.retrieval),
            labels={"pairbench.run": "demo"},
            prefix="pairbench-demo",
            embedders=3,
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
    if "identity" in (box.spec.entrypoint or ()):
        return pods.embed(box)
    return 0


def odd_vectors(text: bytes) -> Behaviour:
    def run(box: Box) -> int:
        if "identity" in (box.spec.entrypoint or ()):
            return pods.embed(box)
        box.write("/out/vectors.jsonl", text)
        return 0

    return run


def vector_of(number: float) -> bytes:
    """Two lines of a vector of one number over and over."""
    data = struct.pack("<384f", *[number] * 384)
    return b'{"vector": "%b"}\n' % base64.b64encode(data) * 2


def says(report: bytes, archive: bytes | None = b"index") -> Behaviour:
    def run(box: Box) -> int:
        if archive is not None:
            box.write("/out/index.tar", archive)
        box.say(report)
        return 0

    return run


DIGEST = b'"sha256:' + b"a" * 64 + b'"'
FAULTS: dict[str, tuple[str, Behaviour, str]] = {
    "no vectors": ("embed", no_vectors, "0 vectors came back for 2 texts"),
    "a short vector": (
        "embed",
        odd_vectors(b'{"vector": "AAAA"}\n' * 2),
        "1.md bytes 0 to 18: a vector has 3 bytes, not 1536",
    ),
    "a vector too few": ("embed", odd_vectors(b'{"vector": "AAAA"}\n'), "1 vectors came back for 2 texts"),
    "no base64": ("embed", odd_vectors(b'{"vector": "!!!"}\n'), "a vector is not base64"),
    "no text": ("embed", odd_vectors(b'{"vector": 5}\n' * 2), "a vector has 0 bytes"),
    "NaN": ("embed", odd_vectors(vector_of(math.nan)), "a vector holds NaN or infinity"),
    "infinity": ("embed", odd_vectors(vector_of(math.inf)), "a vector holds NaN or infinity"),
    "zeros": ("embed", odd_vectors(vector_of(0.0)), "a vector is all zeros"),
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
    box.say(b"loading\n")
    box.complain(b"no such model\n")
    return 3


def hangs(box: Box) -> Script:
    box.say(b"waiting\n")
    yield Hang()
    return 0


@pytest.mark.parametrize(
    ("behaviour", "message"), [(fails, "ended with 3: loading.*no such model"), (hangs, "ended with None: waiting")]
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


def test_a_corpus_is_embedded_in_batches_with_progress() -> None:
    """Each batch takes a place of the host's; nothing is lost of those that are done."""
    desk = Desk()
    texts = [f"note {number}" for number in range(2 * GROUP + 1)]
    desk.index(corpus(*texts))
    assert desk.watcher.steps == [
        "embedding 2001 of 2001 passages of notes",
        "embedding passages of notes: 1000 of 2001 are done",
        "embedding passages of notes: 2000 of 2001 are done",
        "building the index of notes",
    ]
    assert desk.slots.asked == [("embedder", 3)] * 3
    assert desk.slots.held == {"embedder": 0}


def test_an_interrupted_indexing_goes_on_where_it_was() -> None:
    """The second batch fails; the next attempt embeds what is missing, and the index is the same."""
    desk, calls = Desk(), [0]

    def fails_at_the_third(box: Box) -> int:
        calls[0] += 1
        return 3 if calls[0] == 3 else pods.embed(box)

    texts = [f"note {number}" for number in range(GROUP + 2)]
    desk.roles.roles["embed"] = fails_at_the_third
    with pytest.raises(EngineError, match="ended with 3"):
        desk.index(corpus(*texts))
    assert len(desk.vectors.held) == GROUP
    desk.watcher.steps.clear()
    assert desk.index(corpus(*texts)) == Desk().index(corpus(*texts))
    assert desk.watcher.steps == ["embedding 2 of 1002 passages of notes", "building the index of notes"]


def test_the_embedder_is_told_its_threads() -> None:
    """As many as its container has processors."""
    desk = Desk()
    desk.index(corpus(*NOTES))
    embed = [spec for spec in desk.engine.specs.values() if "run" in (spec.entrypoint or ())]
    assert [(spec.cpus, (spec.entrypoint or ())[-2:]) for spec in embed] == [(2, ("--threads", "2"))]


def test_points_are_put_in_pieces() -> None:
    """A thousand at a time, after a piece with the header; the index has them all."""
    desk = Desk()
    pieces: list[tuple[str, int]] = []

    def build(box: Box) -> int:
        pieces.extend((name, len(box.read(f"/in/{name}").splitlines())) for name in box.names("/in") if "/" in name)
        return pods.build(box)

    desk.roles.roles["build"] = build
    index = desk.index(corpus(*(f"note {number}" for number in range(GROUP + 1))))
    assert sorted(pieces) == [("points/000000", 1), ("points/000001", 1000), ("points/000002", 1)]
    assert index.pin.points == GROUP + 1


def test_an_index_of_a_retrieval_study_has_sparse_vectors_too() -> None:
    """Said in the header, and of each point; it is another index than the one without."""
    desk = Desk()
    plain = desk.index(corpus("We move."))
    desk.retrieval = RETRIEVAL
    lines = desk.index(corpus("We move.")).archive.removeprefix(b"index of ").splitlines()
    assert lines[0] == (
        b'{"collection":"memory","dimension":384,"distance":"Cosine","format":"pairbench/points",'
        b'"sparse":{"bm25":{"modifier":"idf"}},"version":1}'
    )
    assert lines[1].endswith(b'","sparse":{"bm25":{"indices":[7],"values":[7.5]}}}')
    assert desk.watcher.steps[-2:] == ["weighing the words of notes", "building the index of notes"]
    desk.retrieval = None
    assert desk.index(corpus("We move.")) == plain


def weighs(text: bytes) -> Behaviour:
    def run(box: Box) -> int:
        box.write("/out/vectors.jsonl", text)
        return 0

    return run


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "0 sparse vectors came back for 2 texts"),
        (b'{"indices": [1], "values": []}\n', "a sparse vector has indices and as many values"),
        (b"[]\n", "a sparse vector has indices and as many values"),
        (b'{"indices": [2, 1], "values": [1, 1]}\n', "indices don't rise"),
        (b'{"indices": [-1], "values": [1]}\n', "not a sparse vector"),
        (b'{"indices": [4294967296], "values": [1]}\n', "not a sparse vector"),
        (b'{"indices": ["a"], "values": [1]}\n', "not a sparse vector"),
        (b'{"indices": [1], "values": [1e999]}\n', "isn't finite|not JSON"),
        (b'{"indices": [1], "values": [1]', "the last line is torn"),
    ],
)
def test_sparse_vectors_that_are_wrong_are_not_believed(text: bytes, message: str) -> None:
    """Nothing is built of them, and nothing is left."""
    desk = Desk(retrieval=RETRIEVAL)
    desk.roles.roles["weigh"] = weighs(text)
    with pytest.raises(EvidenceError, match=message):
        desk.index(corpus(*NOTES))
    assert desk.engine.owned() == ()
    assert "building the index of notes" not in desk.watcher.steps
