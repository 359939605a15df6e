"""The program that the guide shows, taken from it and run beside a real sidecar: what it leaves is an observation."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.clients.launching import Occasion, launch_of
from runner.collect.observing import Store, observe, store_of
from runner.core.reconsolidation.corpus import ReconsolidationCorpus
from runner.measure.reconsolidation import v1
from runner.plan.load import load_study
from runner.plan.reconsolidation_studies import opaque_names
from tests.fakes.files import MemoryFiles

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    Start = Callable[..., AbstractContextManager[Any]]

ROOT = Path(__file__).resolve().parents[3]
CORPUS = ROOT / "corpora" / "reconsolidation"


def test_the_program_of_the_guide_is_a_memory(sidecar: Start, tmp_path: Path) -> None:
    """It loses nothing, merges nothing wrongly, answers from what it recalled, and passes no boundary."""
    guide = (ROOT / "docs" / "howto" / "own-reconsolidator.md").read_text("utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    (tmp_path / "main.py").write_text(program, "utf-8")
    files = MemoryFiles()
    for path in sorted(CORPUS.rglob("*")):
        if path.is_file():
            files.put(path, path.read_text("utf-8"))
    study = load_study(CORPUS / "study.toml", files).study
    task = study.task("development")
    assert task.cases is not None
    launch = launch_of(study, study.arm("merge_only"), Occasion("t", "", "a", "b", (), task.cases))
    given = json.loads(next(file.data for file in launch.in_files() if file.name == "reconsolidation.json"))
    with sidecar("--dump", "1000000") as running:
        given["url"] = f"http://127.0.0.1:{running.ready()['port']}"
        (tmp_path / "reconsolidation.json").write_text(json.dumps(given), "utf-8")
        subprocess.run([sys.executable, tmp_path / "main.py", tmp_path / "reconsolidation.json"], check=True)
        assert running.stop() == 0
        store = store_of(running.log.read_bytes())
    assert isinstance(store, Store)
    corpus = ReconsolidationCorpus.from_bytes((CORPUS / "v1" / "development.json").read_bytes(), "development.json")
    names = opaque_names(corpus, study.seed, "development")
    labels = {case.id: case.json_value() for case in corpus.cases}
    found = v1.total(
        [v1.score(labels[seen.case], seen.json_value()) for seen in observe("t", task.cases, names, store)]
    )
    assert found["cases"] == 14
    faults = ("lost_facts", "false_merge_pairs", "invalid_observations", "boundary_violations")
    assert {name: found[name] for name in faults} == dict.fromkeys(faults, 0)
    assert found["duplicate_classes_covered"] == 3
    assert found["probes_covered"] > 10
