"""Figures of other studies that a contract doesn't let sink: their files travel with the run, and are read beforehand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from runner.adapters.harness import package_sources
from runner.core.canonical import sha256_digest
from runner.core.errors import StudyError
from runner.core.reconsolidation.register import HoldoutRegister
from runner.pipeline.executing import run_study
from runner.pipeline.locking import plan_study
from tests.fakes.memories import STUDY, Memories

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fakes.surroundings import Surroundings

OTHER = b'{"figures":{"recall_ppm":[810000,900000]},"name":"other"}'
CONTRACT = """
format = "pairbench/review-terms"
version = 2
name = "demo"
holdout_seen_before = true
reviewers = [{ name = "fixture", kind = "fixture" }]
arms = [
  { name = "original_only", mode = "original_only" },
  { name = "merge_only", mode = "merge_only" },
  { name = "connections", mode = "connections" },
]
[[floors]]
name = "recall"
file = "other/summary.json"
sha256 = "DIGEST"
metric = "METRIC"
"""


def study(outside: Surroundings, *, metric: str = "/figures/recall_ppm/0", digest: str = sha256_digest(OTHER)) -> Path:
    arm = '  { name = "connections", image = "trial", system = { kind = "reconsolidator", mode = "connections" } },\n'
    text = STUDY.replace("repetitions = 2", 'repetitions = 3\ncontract = "contract.toml"')
    path = Memories(outside).study(text.replace("]\ntasks", f"{arm}]\ntasks"))
    outside.files.put(path.parent / "contract.toml", CONTRACT.replace("DIGEST", digest).replace("METRIC", metric))
    outside.files.put(path.parent / "holdout-register.json", HoldoutRegister(inspected=()).to_bytes().decode())
    return path


def test_the_file_of_a_floor_is_among_the_inputs_of_the_run(outside: Surroundings) -> None:
    """Under the floor's name, byte for byte, and named by the ledger."""
    path = study(outside)
    outside.files.put(path.parent / "other/summary.json", OTHER.decode())
    folder = run_study(Memories(outside).world, path).folder
    assert outside.files.read(folder / "inputs/floors/recall.json") == OTHER
    ledger = (outside.files.read(folder / "ledger.jsonl") or b"").decode()
    assert f'"inputs/floors/recall.json":"{sha256_digest(OTHER)}"' in ledger


@pytest.mark.parametrize(
    ("text", "wrong", "message"),
    [
        ("", {}, "floor 'recall' can't be held: .*other/summary.json is missing"),
        (
            OTHER.decode(),
            {"digest": f"sha256:{'0' * 64}"},
            "floor 'recall' can't be held: .* isn't the file that the contract",
        ),
        (OTHER.decode(), {"metric": "/figures/none"}, "floor 'recall' can't be held: .* has nothing at /figures/none"),
        (OTHER.decode(), {"metric": "/name"}, "floor 'recall' can't be held: what .* has at /name is no integer"),
    ],
)
def test_a_floor_that_can_t_be_held_is_refused_before_anything_starts(
    outside: Surroundings, text: str, wrong: dict[str, str], message: str
) -> None:
    """A run under it could never pass."""
    path = study(outside, **wrong)
    if text:
        outside.files.put(path.parent / "other/summary.json", text)
    with pytest.raises(StudyError, match=message):
        plan_study(Memories(outside).world, path)


def test_everything_that_decides_a_verdict_is_pinned(outside: Surroundings) -> None:
    """Also what binds and rechecks the contract, and what makes the figures that gates look at."""
    path = study(outside)
    outside.files.put(path.parent / "other/summary.json", OTHER.decode())
    planned = plan_study(Memories(outside).world, path)
    assert planned.contract is not None
    pinned = {name for group in planned.contract.sources.values() for name in group}
    names = ("chronicle", "concluding", "contracts", "control", "measuring", "observing", "reviewed", "reviewing")
    assert {f"runner/pipeline/{name}.py" for name in (*names, "submitted")} <= pinned
    core = ("canonical", "documents", "layout", "quantities", "records", "rounding", "usage", "visible")
    assert {f"runner/core/{name}.py" for name in core} <= pinned
    others = ("adapters/ssh_signatures", "cli/reviewing", "collect/observing", "plan/reconsolidation")
    assert {f"runner/{name}.py" for name in others} <= pinned
    assert set(planned.contract.dependencies) == {"krippendorff", "numpy", "pydantic", "pydantic-core"}
    assert "not installed" not in planned.contract.dependencies.values()
    assert all(name in package_sources() for name in pinned)
