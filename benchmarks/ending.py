"""How long does it take from the hard end of a client to its container proven gone?

The client ignores every signal. It is ended in two ways, each as often as asked: by the supervisor, when deadline and
grace are over, and by the host, which kills the container. Measured is the time from the moment of the hard end (by the
supervisor's report, on the clock that all containers share; or the host's call) to the inspection that finds the
container ended. The 95th percentile of each must be at most 0.5 s.

    .venv/bin/python benchmarks/ending.py [--pods 50] [--json]
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import statistics
import sys
import threading
import time
from pathlib import Path

import docker

from runner import wiring
from runner.cli.progress import Watch
from runner.core.evidence import EXIT
from runner.execute.pod import Pod
from runner.execute.purse import Purse
from runner.execute.schedule import remove_run
from runner.pipeline import executing, locking
from runner.pipeline.ordering import Orders

LIMIT_MS = 500
STUDY = Path(__file__).resolve().parent.parent / "corpora" / "faults" / "ending.toml"
MS = 1_000_000


def by_the_supervisor(pod, _api):
    """Milliseconds from the end of deadline and grace to proven gone."""
    pod.run()
    gone_ns = time.monotonic_ns()
    report = json.loads(pod.collect().files[EXIT])
    if (report["ended_by"], report["signal"]) != ("deadline", 9):
        raise SystemExit(f"the client wasn't killed at its deadline: {report['ended_by']}, signal {report['signal']}")
    limits = pod.order.limits
    return (gone_ns - report["started_ns"]) / MS - 1000 * (limits.wall_s + limits.grace_s)


def by_the_host(pod, api):
    """Milliseconds from the host's kill to proven gone; the client runs when it comes."""
    running = threading.Thread(target=pod.run)
    running.start()
    name = f"{pod.order.prefix}-trial"
    while b'"event":"ready"' not in api.logs(name):
        if not running.is_alive():
            raise SystemExit("the client ended before it could be killed")
    killed_ns = time.monotonic_ns()
    pod.cancel()
    running.join()
    gone_ns = time.monotonic_ns()
    return (gone_ns - killed_ns) / MS


def p95(values):
    """The smallest value that 95 % of `values` don't exceed."""
    return sorted(values)[math.ceil(0.95 * len(values)) - 1]


def measure(world, engine, ready, count):
    api = docker.APIClient(base_url=engine.info().address, version="auto")
    orders = Orders(world, ready, Purse(ready.study.caps))
    ways = {"by the supervisor": by_the_supervisor, "by the host": by_the_host}
    times = {name: [] for name in ways}
    attempts = itertools.count(1)
    for number in range(count):
        planned = ready.trials[number % len(ready.trials)]
        for name, way in ways.items():
            pod = Pod(engine, world.clock, orders.order(planned, next(attempts)))
            try:
                pod.prepare()
                times[name].append(way(pod, api))
            finally:
                pod.dispose()
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pods", type=int, default=50, help="of each way")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with Watch() as watch:
        world = wiring.make_world(watch)
        engine = world.engine()
        run = executing.run_name("ending", world.clock.utc())
        try:
            locked = locking.lock_study(world, locking.plan_study(world, STUDY), run, world.owner.labels(run))
            ready = executing.ready_of(locked)
            executing.fill_volumes(world, engine, ready)
            times = measure(world, engine, ready, given.pods)
        finally:
            remove_run(engine, run)
    slowest = {name: p95(values) for name, values in times.items()}
    if given.json:
        json.dump({"ms": times, "p95_ms": slowest, "limit_ms": LIMIT_MS}, sys.stdout, indent=2)
        print()
    else:
        print(f"ms from the hard end to proven gone, {given.pods} pods each (p95 at most {LIMIT_MS})")
        print(f"{'way':<20} {'median':>9} {'p95':>9} {'max':>9}")
        for name, values in times.items():
            print(f"{name:<20} {statistics.median(values):9.0f} {slowest[name]:9.0f} {max(values):9.0f}")
    sys.exit(0 if max(slowest.values()) <= LIMIT_MS else 1)


if __name__ == "__main__":
    main()
