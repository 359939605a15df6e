"""Does a long study make the runner grow?

A study of many trials of a client that does nothing runs through the runner. Between trial 50 and the last, the
runner's memory may grow by 20 MB at most, and neither its open files nor what it has in the engine may grow at all;
else the exit code is 1.

    .venv/bin/python benchmarks/soak.py [--trials 500] [--json]
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

from runner import wiring
from runner.cli.progress import Watch
from runner.core import layout
from runner.core.owner import RUN
from runner.core.plan import make_plan
from runner.execute.journal import Journal
from runner.execute.purse import Purse
from runner.execute.schedule import remove_run
from runner.pipeline import executing, locking

STUDY = Path(__file__).resolve().parent.parent / "corpora" / "smoke" / "study.toml"
MIB = 1 << 20
GROWTH_LIMIT_BYTES = 20 * MIB
SETTLED_AT = 50
SAMPLE_EVERY = 10


@dataclass
class Sampler:
    """Progress that measures this process instead of showing anything."""

    engine: object
    run: str
    ended: int = 0
    samples: list = field(default_factory=list)

    def step(self, text): ...
    def planned(self, trials): ...
    def trial_started(self, planned, attempt): ...

    def trial_ended(self, *_):
        self.ended += 1
        if self.ended % SAMPLE_EVERY:
            return
        gc.collect()
        resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        objects = sum(item.labels.get(RUN) == self.run for item in self.engine.owned())
        files = len(os.listdir("/proc/self/fd"))
        self.samples.append({"trial": self.ended, "resident_bytes": resident, "files": files, "objects": objects})
        print(f"{self.ended:5} trials  {resident // MIB:5} MiB  {files:4} files  {objects:4} objects", file=sys.stderr)


def measure(trials):
    with Watch() as watch:
        world = wiring.make_world(watch)
        engine = world.engine()
        planned = locking.plan_study(world, STUDY)
        study = planned.study
        arms, tasks = [arm.name for arm in study.arms], [task.id for task in study.tasks]
        plan = make_plan(
            study=study.name,
            seed=study.seed,
            control=study.control,
            arms=arms,
            tasks=tasks,
            repetitions=-(-trials // (len(arms) * len(tasks))),
        )
        run = executing.run_name("soak", world.clock.utc())
        try:
            locked = locking.lock_study(world, replace(planned, plan=plan), run, world.owner.labels(run))
            ready = executing.ready_of(locked)
            executing.fill_volumes(world, engine, ready)
            sampler = Sampler(engine, run)
            with tempfile.TemporaryDirectory() as folder:
                journal = Journal(world.files, world.clock, Path(folder) / layout.LEDGER)
                quiet = replace(world, progress=sampler)
                executing.execution_of(quiet, engine, ready, Path(folder), journal, Purse(ready.study.caps)).run()
        finally:
            remove_run(engine, run)
    return sampler.samples


def spread(samples, key):
    """The largest of the first ten samples beyond the settling, and of the last ten: pods come and go between them."""
    settled = [sample[key] for sample in samples if sample["trial"] >= SETTLED_AT]
    count = max(1, min(10, len(settled) // 2))
    return max(settled[:count]), max(settled[-count:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    samples = measure(given.trials)
    limits = {"resident_bytes": GROWTH_LIMIT_BYTES, "files": 0, "objects": 0}
    found = {key: spread(samples, key) for key in limits}
    passed = all(last - first <= limits[key] for key, (first, last) in found.items())
    if given.json:
        json.dump({"samples": samples, "first_and_last": found, "passed": passed}, sys.stdout, indent=2)
        print()
    else:
        print(f"{'':<16} {'from trial 50':>14} {'at the end':>14} {'may grow by':>14}")
        for key, (first, last) in found.items():
            print(f"{key:<16} {first:14} {last:14} {limits[key]:14}")
        print("no growth" if passed else "it grows")
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
