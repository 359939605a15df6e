"""Tables are written as Parquet files that other programs read, or it is said what is missing."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import parquet

from runner.adapters.parquet import Parquet
from runner.core.errors import EnvironmentNotReady, EvidenceError, StudyError
from runner.pipeline.concluding import conclude
from runner.pipeline.executing import run_study
from runner.pipeline.exporting import export_frames
from tests.fakes.retrieval import OTHER, PLAN, answering, retrieval_study
from tests.fakes.surroundings import make_images, surroundings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from runner.ports.frames import ColumnKind, Columns
    from tests.fakes.surroundings import Surroundings


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Surroundings:
    folder = tmp_path_factory.mktemp("images")
    make_images(folder)
    return surroundings(folder)


@pytest.fixture(scope="module")
def folder(outside: Surroundings) -> Path:
    """A run of two systems over one set."""
    path = retrieval_study(outside)
    outside.pods.roles["trial"] = answering({"move": [PLAN, OTHER], "place": [OTHER]})
    run = run_study(outside.world, path).folder
    conclude(outside.files, run)
    return run


def test_a_run_becomes_three_tables(outside: Surroundings, folder: Path, tmp_path: Path) -> None:
    """Types are those of the figures; a figure that isn't known is missing, and not 0."""
    made = export_frames(outside.files, Parquet(), folder, tmp_path / "tables")
    assert [(item.path.name, item.rows) for item in made] == [
        ("scores.parquet", 12),
        ("rankings.parquet", 12),
        ("latencies.parquet", 12),
    ]
    scores = parquet.read_table(tmp_path / "tables" / "scores.parquet").to_pylist()
    first, second, third = (row for row in scores if row["trial"] == "notes.r1.nearest")
    assert (first["RR"], first["R@1"], first["first_relevant_rank"], first["counted"]) == (1.0, 1.0, 1, True)
    assert (second["RR"], second["first_relevant_rank"], second["kind"]) == (0.0, None, "paraphrase")
    assert (third["RR"], third["abstained"], third["deleted"]) == (None, True, 0)
    assert {row["counted"] for row in scores if row["repetition"] == 2} == {False}
    ranked = parquet.read_table(tmp_path / "tables" / "rankings.parquet").to_pylist()
    assert next(row for row in ranked if row["trial"] == "notes.r1.nearest") == {
        "trial": "notes.r1.nearest",
        "arm": "nearest",
        "repetition": 1,
        "task": "notes",
        "query": "move",
        "rank": 1,
        "source": "notes/plan.md",
        "passage": PLAN,
        "start": 0,
        "end": 44,
        "score": 0.0009,
    }
    times = parquet.read_table(tmp_path / "tables" / "latencies.parquet")
    assert times.column("total_us").to_pylist()[:3] == [111, 211, 311]
    assert str(times.schema.field("total_us").type) == "int64"
    assert not list((tmp_path / "tables").glob("*.part"))


def test_a_document_that_was_changed_is_not_exported(outside: Surroundings, folder: Path, tmp_path: Path) -> None:
    """Tables hold what was sealed, or nothing."""
    kept = dict(outside.files.held)
    name = folder / "rankings.jsonl"
    outside.files.held[name] = kept[name].replace(b'"passages":[1]', b'"passages":[2]')
    with pytest.raises(EvidenceError, match="it isn't the document that the summary names"):
        export_frames(outside.files, Parquet(), folder, tmp_path)
    outside.files.held = kept
    assert not (tmp_path / "rankings.parquet").exists()


def test_a_run_of_another_study_has_nothing_to_export(outside: Surroundings, tmp_path: Path) -> None:
    """Only retrieval studies have rankings."""
    made = surroundings(outside.world.places.images.parent)
    run = run_study(made.world, made.study()).folder
    conclude(made.files, run)
    with pytest.raises(StudyError, match="only a retrieval study has rankings"):
        export_frames(made.files, Parquet(), run, tmp_path)


def test_without_pyarrow_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The package is an extra."""

    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    kinds: Mapping[str, ColumnKind] = {"a": "whole"}
    batches: Iterable[Columns] = [{"a": [1]}]
    with pytest.raises(EnvironmentNotReady) as caught:
        Parquet().write(tmp_path / "t.parquet", kinds, batches)
    assert 'pip install "pairbench[parquet]"' in str(caught.value)


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """With its path, and nothing half-made."""
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(EnvironmentNotReady, match="can't be written"):
        Parquet().write(tmp_path / "file" / "t.parquet", {"a": "whole"}, [{"a": [1]}])
