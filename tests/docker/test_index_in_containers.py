"""An index is made in real containers: embedded, weighed and built there, and the same each time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from runner.adapters.disk import Disk
from runner.adapters.docker_engine import DockerEngine
from runner.adapters.slots import HostSlots
from runner.core.canonical import Digest
from runner.core.errors import EngineError
from runner.core.passages import Passage
from runner.plan.batch import Batches
from runner.plan.corpora import Corpus
from runner.plan.index import Images, Index, Indexer, built, header, point_line
from tests.fakes.surroundings import Watcher
from tests.fakes.vectors import MemoryVectors

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

pytestmark = [pytest.mark.docker, pytest.mark.slow]
TEXTS = ("The harbour moves to Lisbon in May.", "Nobody knows why the lighthouse stays.", "…")
CORPUS = Corpus(
    "notes", {}, tuple(Passage(n, f"{n}.md", 0, len(text.encode()), f"{n}.md", text) for n, text in enumerate(TEXTS, 1))
)


def image(name: str) -> Digest:
    return Digest(os.environ[f"PAIRBENCH_{name.upper()}_IMAGE"])


@pytest.fixture
def labels() -> Mapping[str, str]:
    return {"pairbench.run": f"test-index-{os.getpid()}"}


def indexed(folder: Path, address: str, labels: Mapping[str, str], *, sparse: bool) -> Index:
    indexer = Indexer(
        engine=DockerEngine(address),
        files=Disk(),
        vectors=MemoryVectors(),
        slots=HostSlots(folder / "slots"),
        progress=Watcher(),
        cache=folder,
        images=Images(image("trial"), image("qdrant"), image("retrieval") if sparse else None),
        labels=labels,
        prefix=f"pairbench-test-index-{os.getpid()}",
    )
    return indexer.index(CORPUS)


def test_an_index_is_the_same_each_time(tmp_path: Path, engine_address: str, labels: Mapping[str, str]) -> None:
    """Byte for byte, with and without sparse vectors, in containers that are gone afterwards."""
    found = [
        indexed(tmp_path / f"{number}", engine_address, labels, sparse=sparse)
        for number, sparse in enumerate((False, False, True, True))
    ]
    assert [index.pin.points for index in found] == [3] * 4
    assert found[0] == found[1]
    assert found[2] == found[3]
    assert found[0].pin.logical_sha256 != found[2].pin.logical_sha256
    mine = labels["pairbench.run"]
    assert [item for item in DockerEngine(engine_address).owned() if item.labels.get("pairbench.run") == mine] == []


def test_points_that_are_wrong_are_told_in_the_words_of_the_build(
    engine_address: str, labels: Mapping[str, str]
) -> None:
    """The file, the line and the fault."""
    batches = Batches(DockerEngine(engine_address), labels, f"pairbench-test-wrong-{os.getpid()}")
    points = iter([header(sparse=False), point_line(CORPUS.passages[0], b"\x00\x00\xc0\x7f" * 384, None)])
    message = r"ended with 2: sidecar build: /in/points/000001: line 1: vector: NaN or infinity"
    with pytest.raises(EngineError, match=message):
        built(batches, image("qdrant"), points, "notes")
