"""Does a rerun by replay take longer than the run that it is made of?

The study is recorded (its scripted model with `record = true`), and each of its runs is replayed at once, in the same
folder, on the same engine; what was built, embedded and indexed before lies in the cache for both. Measured is the wall
time of the two commands, from their start to their end: for the run that is planning, locking, trials and the summary,
for the rerun the checks, trials, the summary and the comparison. The rerun must equal the run.

    .venv/bin/python benchmarks/rerun.py [--study corpora/fixture/study.toml] [--rounds 3] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRIPTED = re.compile(r'^mode = "scripted"$', re.MULTILINE)


def laid_out(study, folder):
    """The path of `study` in `folder`, where everything beside it is as it was, but for a model that is recorded."""
    corpora = folder / "corpora"
    corpora.mkdir()
    for place in study.parent.parent.iterdir():
        if place != study.parent:
            (corpora / place.name).symlink_to(place)
    home = corpora / study.parent.name
    home.mkdir()
    for place in study.parent.iterdir():
        if place != study:
            (home / place.name).symlink_to(place)
    text, found = SCRIPTED.subn('mode = "scripted"\nrecord = true', study.read_text("utf-8"))
    if found != 1:
        raise SystemExit(f"{study} has no scripted model")
    (home / study.name).write_text(text, "utf-8")
    return home / study.name


def timed(folder, *arguments):
    """Seconds that `pairbench` took, and what it printed; it must have ended well."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "runner", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    took = time.monotonic() - began
    if done.returncode != 0:
        raise SystemExit(f"pairbench {' '.join(arguments)} ended with {done.returncode}")
    return took, done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--study", type=Path, default=ROOT / "corpora" / "fixture" / "study.toml")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    runs, reruns = [], []
    with tempfile.TemporaryDirectory(
        prefix="rerun-", dir=ROOT / ".cache" if (ROOT / ".cache").is_dir() else None
    ) as name:
        folder = Path(name)
        study = laid_out(given.study.resolve(), folder)
        # The first one builds, embeds and indexes, as far as nobody did before.
        timed(folder, "run", str(study), "--json")
        for _ in range(given.rounds):
            runs.append(timed(folder, "run", str(study), "--json")[0])
            took, said = timed(folder, "rerun", "latest", "--json")
            found = json.loads(said)
            if found["rerun_of"]["how"] != "replay" or not found["comparison"]["equal"]:
                raise SystemExit("the rerun is no replay, or doesn't equal its run")
            reruns.append(took)
    ratio = statistics.median(reruns) / statistics.median(runs)
    if given.json:
        json.dump({"run_s": runs, "rerun_s": reruns, "ratio": ratio, "limit": 1.0}, sys.stdout, indent=2)
        print()
    else:
        print(f"seconds, {given.rounds} of each, one after the other (a rerun may take as long as its run)")
        for what, values in (("run", runs), ("rerun", reruns)):
            print(
                f"{what:<6} median {statistics.median(values):8.1f}   {', '.join(f'{value:.1f}' for value in values)}"
            )
        print(f"ratio  {ratio:.3f}")
    sys.exit(0 if ratio <= 1 else 1)


if __name__ == "__main__":
    main()
