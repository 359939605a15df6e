"""The benchmarks of pods still measure the program as it is; what they measure is nobody's test."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.docker, pytest.mark.slow]


@pytest.mark.parametrize(
    ("name", "few", "measured"),
    [
        ("overhead.py", ["--rounds", "1", "--repetitions", "1"], "wall_ms_per_trial"),
        ("ending.py", ["--pods", "1"], "ms"),
        pytest.param("archiving.py", ["gateway", "--rounds", "1"], "ratios", marks=pytest.mark.daemon),
        ("indexing.py", ["--passages", "200", "--queries", "5"], "search"),
        ("rerun.py", ["--rounds", "1", "--study", "corpora/smoke/study.toml"], "rerun_s"),
    ],
)
def test_a_benchmark_measures(name: str, few: list[str], measured: str, engine_address: str) -> None:
    """It runs to its end and prints what it measured; 1 says that a bound was missed, which a busy machine may do."""
    command = [sys.executable, str(ROOT / "benchmarks" / name), *few, "--json"]
    environment = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "DOCKER_HOST": engine_address,
    }
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    assert json.loads(done.stdout)[measured], done.stderr
