"""The ready-made index of a corpus: its passages embedded once, in the trial image, and built in the sidecar's.

Images do the work, not this host's libraries: what trials search is made by what trials run, without a network.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core.canonical import Digest, canonical_line, digest_of, parse_digest, parse_json, sha256_digest
from runner.core.documents import validated
from runner.core.errors import EvidenceError
from runner.core.lock import IndexPin
from runner.core.passages import passages_digest
from runner.plan.batch import Batches, Job
from runner.plan.embedding import DIMENSION, GROUP, Embedder, grouped, weigh

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from runner.core.canonical import Json
    from runner.core.passages import Passage
    from runner.plan.corpora import Corpus
    from runner.plan.embedding import Weights
    from runner.ports.engine import Engine
    from runner.ports.files import Files
    from runner.ports.progress import Progress
    from runner.ports.slots import Slots
    from runner.ports.vectors import Vectors

COLLECTION: Final = "memory"
SPARSE: Final = "bm25"
"""The name of the sparse vectors."""
_MIB: Final = 1 << 20
_THREADS: Final = 2
_BUILD: Final = (
    "python3",
    "/opt/pairbench/sidecar/main.py",
    "build",
    "--points",
    "/in/points",
    "--out",
    "/out/index.tar",
)


@dataclass(frozen=True)
class Index:
    """An index archive and what it is pinned by."""

    archive: bytes
    pin: IndexPin


@dataclass(frozen=True)
class Images:
    """The images that make an index, by config digest; without `retrieval` it has no sparse vectors."""

    trial: Digest
    sidecar: Digest
    retrieval: Digest | None = None


@dataclass(frozen=True)
class Indexer:
    """Makes indexes; `cache` keeps what was made. At most `embedders` of a host's containers embed at once."""

    engine: Engine
    files: Files
    vectors: Vectors
    slots: Slots
    progress: Progress
    cache: Path
    images: Images
    labels: Mapping[str, str]
    prefix: str
    embedders: int = 2

    def index(self, corpus: Corpus) -> Index:
        """The index of `corpus`; an older one of the same passages and images is taken as it is.

        Raises:
            EngineError: a container failed; vectors that were made before are kept.
            EvidenceError: what a container gave back isn't what it was asked for.
        """
        images = self.images
        made_of = [passages_digest(corpus.passages), images.trial, images.sidecar]
        key = digest_of(made_of if images.retrieval is None else [*made_of, images.retrieval])
        place = self.cache / "indexes" / key.partition(":")[2]
        kept = _kept(self.files.read(place / "index.tar"), self.files.read(place / "pin.json"))
        if kept is not None:
            return kept
        index = self._made(corpus)
        self.files.write(place / "index.tar", index.archive)
        self.files.write(place / "pin.json", index.pin.model_dump_json().encode("utf-8"))
        return index

    def _made(self, corpus: Corpus) -> Index:
        batches = Batches(self.engine, self.labels, self.prefix)
        embedder = Embedder(
            batches, self.vectors, self.slots, self.progress, self.images.trial, _THREADS, self.embedders
        )
        keys = embedder.embed(corpus.name, corpus.passages)
        sparse = None
        if self.images.retrieval is not None:
            self.progress.step(f"weighing the words of {corpus.name}")
            sparse = weigh(batches, self.images.retrieval, corpus.passages)
        self.progress.step(f"building the index of {corpus.name}")
        points = _points(corpus.passages, embedder, keys, sparse)
        return built(batches, self.images.sidecar, points, corpus.name)


def built(batches: Batches, image: Digest, points: Iterator[bytes], name: str) -> Index:
    """The index of `points`, the pieces of a points file, made by the image `image` for the corpus `name`.

    One piece is in memory at a time; the first holds the header.

    Raises:
        EngineError: the container failed.
        EvidenceError: what it gave back isn't what it was asked for.
    """
    counted = _Counted(points)
    job = Job("build", str(image), _BUILD, memory_bytes=950 * _MIB, cpus=2)
    made = batches.run(job, ({f"points/{number:06}": piece} for number, piece in enumerate(counted)))
    archive = made.files.get("index.tar")
    if archive is None:
        raise EvidenceError("the sidecar's build left no index.tar", document=name)
    report = parse_json(made.stdout.strip().split(b"\n")[-1], "report of the sidecar's build")
    if not isinstance(report, dict) or report.get("points") != counted.points:
        raise EvidenceError(f"the index does not hold {counted.points} points", document=name)
    logical = parse_digest(str(report.get("logical_digest")))
    pin = IndexPin(logical_sha256=logical, archive_sha256=sha256_digest(archive), points=counted.points)
    return Index(archive, pin)


class _Counted:
    """Pieces of a points file, and how many points they had."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self.points = -1

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            self.points += piece.count(b"\n")
            yield piece


def header(*, sparse: bool) -> bytes:
    """The first line of a points file."""
    value: dict[str, Json] = {
        "format": "pairbench/points",
        "version": 1,
        "collection": COLLECTION,
        "dimension": DIMENSION,
        "distance": "Cosine",
    }
    if sparse:
        value["sparse"] = {SPARSE: {"modifier": "idf"}}
    return canonical_line(value)


def point_line(passage: Passage, vector: bytes, weights: Weights | None) -> bytes:
    """The line of a points file for `passage`; canonical but for the floats of its weights."""
    payload = passage.value()
    text = base64.b64encode(vector).decode("ascii")
    line = canonical_line({"id": payload.pop("id"), "vector": text, "payload": payload})
    if weights is None:
        return line
    # A float32 is written with the digits of its double, which lead back to the same float32.
    indices, values = ",".join(map(str, weights.indices)), ",".join(map(repr, weights.values))
    return b'%b,"sparse":{"%b":{"indices":[%b],"values":[%b]}}}\n' % (
        line[:-2],
        SPARSE.encode(),
        indices.encode(),
        values.encode(),
    )


def _points(
    passages: Sequence[Passage], embedder: Embedder, keys: Sequence[Digest], sparse: Sequence[Weights] | None
) -> Iterator[bytes]:
    """The pieces of a points file, which need not be in memory together."""
    yield header(sparse=sparse is not None)
    for places in grouped(range(len(passages)), GROUP):
        vectors = embedder.stored([keys[place] for place in places])
        yield b"".join(
            point_line(passages[place], vector, None if sparse is None else sparse[place])
            for place, vector in zip(places, vectors, strict=True)
        )


def _kept(archive: bytes | None, pin: bytes | None) -> Index | None:
    """An index of the cache, unless it or its pin is damaged."""
    if archive is None or pin is None:
        return None
    try:
        found = validated(IndexPin, parse_json(pin, "pin.json"), "pin.json", EvidenceError)
    except EvidenceError:
        return None
    return Index(archive, found) if found.archive_sha256 == sha256_digest(archive) else None
