"""The vectors of a corpus's passages, made by the programs that trials embed their queries with.

Dense vectors follow from one text each: they are made in batches and kept as they come, so that whoever was interrupted
goes on with what is missing. Sparse ones follow from all texts together, take seconds, and are made anew each time.
"""

from __future__ import annotations

import base64
import math
import sys
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from runner.core.canonical import canonical_lines, digest_of, parse_json, parse_lines
from runner.core.errors import EvidenceError
from runner.plan.batch import Batches, Job

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from runner.core.canonical import Digest, Json
    from runner.core.passages import Passage
    from runner.ports.progress import Progress
    from runner.ports.slots import Slots
    from runner.ports.vectors import Vectors

    T = TypeVar("T")

DIMENSION: Final = 384
EMBEDDERS: Final = "embedder"
"""The kind of place that a container with an embedding model takes on its host."""
GROUP: Final = 1000
"""Passages that are embedded, or written down, together; what is interrupted loses at most the work on so many."""
_VECTOR_BYTES: Final = 4 * DIMENSION
_MIB: Final = 1 << 20
_EMBED: Final = ("python3", "/opt/pairbench/memory/embed.py")
_WEIGH: Final = ("python3", "/opt/pairbench/retrieval/sparse.py")
_FILES: Final = ("run", "--texts", "/in/texts.jsonl", "--vectors", "/out/vectors.jsonl")


@dataclass(frozen=True)
class Weights:
    """A sparse vector: indices that rise, and as many float32."""

    indices: array[int]
    values: array[float]


@dataclass(frozen=True)
class Embedder:
    """Makes vectors with the image `image`; at most `places` of its containers are at work on a host at once."""

    batches: Batches
    vectors: Vectors
    slots: Slots
    progress: Progress
    image: Digest
    threads: int
    places: int

    def embed(self, name: str, passages: Sequence[Passage]) -> Sequence[Digest]:
        """The keys under which the vectors of `passages`, of the corpus `name`, are stored, in their order.

        Raises:
            EngineError: a container failed; what was embedded before is kept.
            EvidenceError: what a container gave back isn't what it was asked for.
        """
        said = self.batches.run(self._job((*_EMBED, "identity"))).stdout
        identity = parse_json(said, "identity of the embedder")
        keys = [digest_of([identity, embedded_text(passage)]) for passage in passages]
        missing = self._missing(keys)
        if missing:
            self.progress.step(f"embedding {len(missing)} of {len(keys)} passages of {name}")
        wanted: dict[Digest, Passage] = {}
        for key, passage in zip(keys, passages, strict=True):
            if key in missing:
                wanted.setdefault(key, passage)
        for number, group in enumerate(grouped(list(wanted.items()), GROUP)):
            if number:
                self.progress.step(f"embedding passages of {name}: {number * GROUP} of {len(missing)} are done")
            self.vectors.put(self._embedded(dict(group)))
        return keys

    def stored(self, keys: Sequence[Digest]) -> list[bytes]:
        """The vectors under `keys`.

        Raises:
            EvidenceError: one isn't there any more.
        """
        found = self._known(keys)
        if len(found) < len(set(keys)):
            raise EvidenceError("vectors that were there are gone", document="store of vectors", hint="try again")
        return [found[key] for key in keys]

    def _missing(self, keys: Sequence[Digest]) -> set[Digest]:
        missing: set[Digest] = set()
        for group in grouped(keys, GROUP):
            missing |= set(group) - set(self._known(group))
        return missing

    def _known(self, keys: Sequence[Digest]) -> Mapping[Digest, bytes]:
        # A store that can be deleted at any time can be damaged at any time too.
        return {key: vector for key, vector in self.vectors.get(set(keys)).items() if not vector_fault(vector)}

    def _embedded(self, wanted: Mapping[Digest, Passage]) -> dict[Digest, bytes]:
        texts = _texts(wanted.values())
        command = (*_EMBED, *_FILES, "--threads", str(self.threads))
        with self.slots.taken(EMBEDDERS, self.places):
            made = self.batches.run(self._job(command), [{"texts.jsonl": texts}]).files
        lines = list(parse_lines(made.get("vectors.jsonl", b""), "vectors.jsonl"))
        vectors = [_vector(line) for line in lines]
        if len(vectors) != len(wanted):
            raise EvidenceError(f"{len(vectors)} vectors came back for {len(wanted)} texts", document="vectors.jsonl")
        for vector, passage in zip(vectors, wanted.values(), strict=True):
            if vector_fault(vector):
                place = f"{passage.source} bytes {passage.start} to {passage.end}"
                raise EvidenceError(vector_fault(vector), document="vectors.jsonl", key=place)
        return dict(zip(wanted, vectors, strict=True))

    def _job(self, command: tuple[str, ...]) -> Job:
        return Job("embed", str(self.image), command, memory_bytes=2048 * _MIB, cpus=self.threads)


def weigh(batches: Batches, image: Digest, passages: Sequence[Passage]) -> list[Weights]:
    """The sparse vectors of `passages`, by the program of the image `image`.

    Raises:
        EngineError: the container failed.
        EvidenceError: what it gave back isn't what it was asked for.
    """
    job = Job("weigh", str(image), (*_WEIGH, *_FILES), memory_bytes=950 * _MIB, cpus=1)
    # Made when it is put into the container, and not kept until there is an answer.
    files = ({"texts.jsonl": _texts(group)} for group in [passages])
    made = batches.run(job, files).files
    found = [_weights(line) for line in _lines(made.get("vectors.jsonl", b""))]
    if len(found) != len(passages):
        message = f"{len(found)} sparse vectors came back for {len(passages)} texts"
        raise EvidenceError(message, document="vectors.jsonl")
    return found


def embedded_text(passage: Passage) -> str:
    """The text whose vector stands for `passage`."""
    return f"{passage.title}\n{passage.text}"


def _texts(passages: Iterable[Passage]) -> bytes:
    return canonical_lines({"text": embedded_text(passage)} for passage in passages)


def vector_fault(vector: bytes) -> str:
    """Why `vector` can't be searched by; "" when it can."""
    if len(vector) != _VECTOR_BYTES:
        return f"a vector has {len(vector)} bytes, not {_VECTOR_BYTES}"
    numbers = array("f", vector)
    if sys.byteorder == "big":
        numbers.byteswap()
    if not math.isfinite(sum(numbers)):
        return "a vector holds NaN or infinity"
    return "" if any(numbers) else "a vector is all zeros"


def grouped(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The items in their order, `size` at a time."""
    return (items[start : start + size] for start in range(0, len(items), size))


def _vector(line: Json) -> bytes:
    text = line.get("vector") if isinstance(line, dict) else None
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except ValueError as error:
        raise EvidenceError(f"a vector is not base64: {error}", document="vectors.jsonl") from error


def _lines(data: bytes) -> Iterator[Json]:
    """The values of the lines of `data`, which isn't cut into all of them at once."""
    start = number = 0
    while start < len(data):
        number += 1
        end = data.find(b"\n", start)
        if end < 0:
            raise EvidenceError("the last line is torn", document="vectors.jsonl")
        yield parse_json(data[start:end], f"vectors.jsonl line {number}")
        start = end + 1


def _weights(line: Json) -> Weights:
    indices, values = (line.get("indices"), line.get("values")) if isinstance(line, dict) else (None, None)
    if not isinstance(indices, list) or not isinstance(values, list) or len(indices) != len(values):
        raise EvidenceError("a sparse vector has indices and as many values", document="vectors.jsonl")
    try:
        found = Weights(array("I", indices), array("f", values))
    except (TypeError, OverflowError) as error:
        raise EvidenceError(f"not a sparse vector: {error}", document="vectors.jsonl") from error
    if sorted(set(indices)) != indices or not math.isfinite(sum(found.values)):
        raise EvidenceError("a sparse vector's indices don't rise, or a value isn't finite", document="vectors.jsonl")
    return found
