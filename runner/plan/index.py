"""The ready-made index of a corpus: its passages embedded once, in the trial image, and built in the sidecar's.

Both images do the work, not this host's libraries: what trials search is made by what trials run, without a network.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core.canonical import (
    Digest,
    canonical_lines,
    digest_of,
    parse_digest,
    parse_json,
    parse_lines,
    sha256_digest,
)
from runner.core.documents import validated
from runner.core.errors import EngineError, EvidenceError
from runner.core.lock import IndexPin
from runner.core.owner import ROLE
from runner.core.passages import passages_jsonl
from runner.core.tars import TreeFile, tar_of
from runner.ports.engine import ContainerSpec, Mount, Tmpfs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from runner.core.canonical import Json
    from runner.core.passages import Passage
    from runner.plan.corpora import Corpus
    from runner.ports.engine import Engine
    from runner.ports.files import Files
    from runner.ports.progress import Progress
    from runner.ports.vectors import Vectors

DIMENSION: Final = 384
_VECTOR_BYTES: Final = 4 * DIMENSION
COLLECTION: Final = "memory"
_MIB: Final = 1 << 20
_MEMORY_BYTES: Final = 2048 * _MIB
_OUTPUT_BYTES: Final = 1024 * _MIB
# 10,000 passages of full length take about five minutes on two cores; an hour means that something hangs.
_PATIENCE_MS: Final = 3_600_000
_EMBED = ("python3", "/opt/pairbench/memory/embed.py")
_BUILD = (
    "python3",
    "/opt/pairbench/sidecar/main.py",
    "build",
    "--points",
    "/batch/points.jsonl",
    "--out",
    "/batch/index.tar",
)


@dataclass(frozen=True)
class Index:
    """An index archive and what it is pinned by."""

    archive: bytes
    pin: IndexPin


@dataclass(frozen=True)
class Indexer:
    """Makes indexes with the images `trial` and `sidecar`, named by config digest; `cache` keeps what was made."""

    engine: Engine
    files: Files
    vectors: Vectors
    progress: Progress
    cache: Path
    trial: Digest
    sidecar: Digest
    labels: Mapping[str, str]
    prefix: str

    def index(self, corpus: Corpus) -> Index:
        """The index of `corpus`; an older one of the same passages and images is taken as it is.

        Raises:
            EngineError: a container failed.
            EvidenceError: what a container gave back isn't what it was asked for.
        """
        key = digest_of([sha256_digest(passages_jsonl(corpus.passages)), self.trial, self.sidecar])
        place = self.cache / "indexes" / key.partition(":")[2]
        kept = _kept(self.files.read(place / "index.tar"), self.files.read(place / "pin.json"))
        if kept is not None:
            return kept
        index = self._build(corpus, self._embed(corpus))
        self.files.write(place / "index.tar", index.archive)
        self.files.write(place / "pin.json", index.pin.model_dump_json().encode("utf-8"))
        return index

    def _embed(self, corpus: Corpus) -> list[bytes]:
        said = self._run("embed", str(self.trial), (*_EMBED, "identity"), {})["stdout"]
        identity = parse_json(said, "identity of the embedder")
        texts = [embedded_text(passage) for passage in corpus.passages]
        keys = [digest_of([identity, text]) for text in texts]
        # A store that can be deleted at any time can be damaged at any time too.
        known = {key: vector for key, vector in self.vectors.get(set(keys)).items() if len(vector) == _VECTOR_BYTES}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            self.progress.step(f"embedding {len(missing)} of {len(texts)} passages of {corpus.name}")
            fresh = self._embedded(list(missing.values()))
            found = dict(zip(missing, fresh, strict=True))
            self.vectors.put(found)
            known |= found
        return [known[key] for key in keys]

    def _embedded(self, texts: Sequence[str]) -> list[bytes]:
        command = (*_EMBED, "run", "--texts", "/batch/texts.jsonl", "--vectors", "/batch/vectors.jsonl")
        made = self._run(
            "embed", str(self.trial), command, {"texts.jsonl": canonical_lines({"text": text} for text in texts)}
        )
        vectors = [_vector(line) for line in parse_lines(made.get("vectors.jsonl", b""), "vectors.jsonl")]
        if len(vectors) != len(texts):
            raise EvidenceError(f"{len(vectors)} vectors came back for {len(texts)} texts", document="vectors.jsonl")
        return vectors

    def _build(self, corpus: Corpus, vectors: Sequence[bytes]) -> Index:
        self.progress.step(f"building the index of {corpus.name}")
        points = canonical_lines(_points(corpus.passages, vectors))
        made = self._run("build", str(self.sidecar), _BUILD, {"points.jsonl": points})
        archive = made.get("index.tar")
        if archive is None:
            raise EvidenceError("the sidecar's build left no index.tar", document=corpus.name)
        report = parse_json(made["stdout"].strip().split(b"\n")[-1], "report of the sidecar's build")
        if not isinstance(report, dict) or report.get("points") != len(vectors):
            raise EvidenceError(f"the index does not hold {len(vectors)} points", document=corpus.name)
        logical = parse_digest(str(report.get("logical_digest")))
        return Index(
            archive, IndexPin(logical_sha256=logical, archive_sha256=sha256_digest(archive), points=len(vectors))
        )

    def _run(self, role: str, image: str, command: tuple[str, ...], files: Mapping[str, bytes]) -> dict[str, bytes]:
        """The files that `command` left in `/batch`, and its standard output as `stdout`."""
        volume = f"{self.prefix}-{role}"
        self.engine.create_volume(volume, {**self.labels, ROLE: role})
        spec = ContainerSpec(
            name=volume,
            image=image,
            labels={**self.labels, ROLE: role},
            user="0:0",
            entrypoint=command,
            memory_bytes=_MEMORY_BYTES,
            pids=256,
            cpus=2,
            mounts=(Mount(volume, "/batch", read_only=False),),
            tmpfs=(Tmpfs("/tmp", 64 * _MIB, 0, 0, "1777"), Tmpfs("/qdrant/storage", 512 * _MIB, 0, 0, "0700")),  # noqa: S108
        )
        container = ""
        try:
            container = self.engine.create(spec)
            if files:
                self.engine.put_tar(container, "/batch", tar_of({name: TreeFile(data) for name, data in files.items()}))
            self.engine.start(container)
            code = self.engine.wait(container, _PATIENCE_MS)
            stdout = self.engine.output(container, _OUTPUT_BYTES)
            if code != 0:
                end = stdout.decode("utf-8", "replace")[-2000:].strip()
                raise EngineError(f"{' '.join(command)} ended with {code}: {end}", document=f"image {image}")
            found = {
                entry.name.partition("/")[2]: entry.data
                for entry in self.engine.read_tree(container, "/batch", _OUTPUT_BYTES)
                if entry.data is not None
            }
        finally:
            if container:
                self.engine.remove(container)
            self.engine.remove_volume(volume)
        return {**found, "stdout": stdout}


def embedded_text(passage: Passage) -> str:
    """The text whose vector stands for `passage`."""
    return f"{passage.title}\n{passage.text}"


def _kept(archive: bytes | None, pin: bytes | None) -> Index | None:
    """An index of the cache, unless it or its pin is damaged."""
    if archive is None or pin is None:
        return None
    try:
        found = validated(IndexPin, parse_json(pin, "pin.json"), "pin.json", EvidenceError)
    except EvidenceError:
        return None
    return Index(archive, found) if found.archive_sha256 == sha256_digest(archive) else None


def _vector(line: Json) -> bytes:
    text = line.get("vector") if isinstance(line, dict) else None
    try:
        data = base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except ValueError as error:
        raise EvidenceError(f"a vector is not base64: {error}", document="vectors.jsonl") from error
    if len(data) != _VECTOR_BYTES:
        raise EvidenceError(f"a vector has {len(data)} bytes, not {_VECTOR_BYTES}", document="vectors.jsonl")
    return data


def _points(passages: Sequence[Passage], vectors: Sequence[bytes]) -> Iterator[Json]:
    yield {
        "format": "pairbench/points",
        "version": 1,
        "collection": COLLECTION,
        "dimension": DIMENSION,
        "distance": "Cosine",
    }
    for passage, vector in zip(passages, vectors, strict=True):
        payload = json.loads(passages_jsonl([passage]))
        yield {"id": payload.pop("id"), "vector": base64.b64encode(vector).decode("ascii"), "payload": payload}
