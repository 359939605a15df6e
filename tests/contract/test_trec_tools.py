"""The tools of the field read what we export, and come to our figures."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from runner.core.retrieval.trec import trec_qrels, trec_run
from runner.measure.retrieval.measuring import measure_names, measured

if TYPE_CHECKING:
    from pathlib import Path

KS = (1, 3, 5, 10)
GRADES = {
    "q1": {"a.md": 3, "b%20c.md": 1, "z.md": 0},
    "q2": {"ä.md": 2, "MED-7": 1},
    "silent": {"a.md": 1},
}
RANKINGS = [
    ("q1", ["z.md", "%unmapped-2", "b%20c.md", "x.md", "a.md"]),
    ("q2", ["MED-7", "x.md", "y.md", "ä.md"]),
    ("silent", []),
    ("no-answer", ["a.md", "z.md"]),
]


def test_ir_measures_on_the_command_line(tmp_path: Path) -> None:
    """Figures of each query, and means over all of them: those with nothing found count, those without answer don't."""
    (tmp_path / "qrels.txt").write_bytes(trec_qrels(GRADES))
    (tmp_path / "run.txt").write_bytes(b"".join(trec_run(RANKINGS, "dense")))
    names = measure_names(KS)
    command = [sys.executable, "-W", "ignore", "-m", "ir_measures", "--by_query", "--places", "12"]
    said = subprocess.run(
        [*command, str(tmp_path / "qrels.txt"), str(tmp_path / "run.txt"), *names],
        capture_output=True,
        check=True,
        encoding="utf-8",
        env={"PYTHONUTF8": "1"},
    ).stdout
    found = {(query, name): float(value) for query, name, value in (line.split("\t") for line in said.splitlines())}
    ours = dict(zip(("q1", "q2", "silent", "no-answer"), measured(RANKINGS, GRADES, KS), strict=True))
    assert ours.pop("no-answer") == {}
    assert {query for query, _ in found} == {"q1", "q2", "silent", "all"}
    for name in names:
        for query, values in ours.items():
            assert abs(values[name] / 1e9 - found[query, name]) <= 1e-9
        assert abs(sum(values[name] for values in ours.values()) / 3e9 - found["all", name]) <= 1e-9
    assert (found["q1", "RR"], found["silent", "AP"]) == (0.333333333333, 0.0)
