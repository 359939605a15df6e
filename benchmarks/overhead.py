"""What does the runner add to a pod?

The same pods (images, entry points, readiness waits, a client that does nothing) are run through bare engine calls and
through the runner, in alternating rounds of one process, on the engine that `pairbench` finds. The runner's time holds
all that it does for a trial: ledger, evidence on disk, classification. Its wall time per trial must be at most 1.25
times that of the bare calls.

    .venv/bin/python benchmarks/overhead.py [--rounds 5] [--repetitions 2] [--json]
"""

from __future__ import annotations

import argparse
import io
import json
import statistics
import sys
import tarfile
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import docker

from runner import wiring
from runner.cli.progress import Watch
from runner.core import layout
from runner.core.plan import make_plan
from runner.execute.journal import Journal
from runner.execute.purse import Purse
from runner.execute.schedule import remove_run
from runner.pipeline import executing, locking
from runner.pipeline.ordering import Orders

LIMIT = 1.25
STUDY = Path(__file__).resolve().parent.parent / "corpora" / "smoke" / "study.toml"
MIB = 1 << 20


@dataclass(frozen=True)
class Bench:
    """A locked study and where it runs."""

    world: object
    engine: object
    ready: executing.Ready
    api: docker.APIClient

    def orders(self):
        return Orders(self.world, self.ready, Purse(self.ready.study.caps))


def tar_of(files):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for name, data in files.items():
            item = tarfile.TarInfo(name)
            item.size, item.mode = len(data), 0o644
            tar.addfile(item, io.BytesIO(data))
    return stream.getvalue()


def host(api, *, network, memory, mounts, tmpfs, caps=None, groups=None, pids=64, cpus=1):
    return api.create_host_config(
        network_mode=network,
        read_only=True,
        cap_drop=["ALL"],
        cap_add=caps,
        group_add=groups,
        security_opt=["no-new-privileges"],
        mem_limit=memory,
        memswap_limit=memory,
        pids_limit=pids,
        nano_cpus=cpus * 1_000_000_000,
        mounts=[docker.types.Mount(to, name, type="volume", read_only=ro, no_copy=True) for name, to, ro in mounts],
        tmpfs=tmpfs,
    )


def until(api, container, event, act):
    """`act` was done and the container said `event`."""
    stream = api.attach(container, stdout=True, stderr=False, stream=True, logs=False)
    act()
    said = b""
    for chunk in stream:
        said += chunk
        if f'"event":"{event}"'.encode() in said.replace(b" ", b""):
            break
    stream.close()


def bare_pod(api, order):
    """One pod by bare engine calls, one after the other: what has to be done, and nothing else."""
    name, limits = order.prefix + "-bare", order.limits
    small = f"size={16 * MIB},mode=1777"
    for volume in ("gateway-in", "trial-in"):
        api.create_volume(f"{name}-{volume}")
    place = f"size={limits.pod_bytes},uid=10004,gid=10001,mode=1770"
    api.create_volume(f"{name}-pod", driver="local", driver_opts={"type": "tmpfs", "device": "tmpfs", "o": place})
    mounts = [
        (f"{name}-gateway-in", "/in", False),
        (f"{name}-trial-in", "/trial-in", False),
        (f"{name}-pod", "/pod", False),
    ]
    config = host(api, network="none", memory=512 * MIB, mounts=mounts, tmpfs={"/tmp": small}, groups=["10001"])
    gateway = api.create_container(order.images.gateway, user="10004:10004", hostname="pod", host_config=config)["Id"]
    api.put_archive(gateway, "/in", tar_of({"gateway.json": order.gateway.to_bytes()}))
    api.put_archive(gateway, "/trial-in", tar_of({file.name: file.data for file in order.launch.in_files()}))
    until(api, gateway, "ready", lambda: api.start(gateway))
    storage = f"size={512 * MIB},uid=10003,gid=10003,mode=0700"
    tmpfs = {"/qdrant/storage": storage, "/tmp": small}
    config = host(api, network="none", memory=1024 * MIB, mounts=[(order.index_volume, "/index", True)], tmpfs=tmpfs)
    sidecar = api.create_container(order.images.sidecar, user="10003:10003", hostname="pod", host_config=config)["Id"]
    until(api, sidecar, "ready", lambda: api.start(sidecar))
    mounts = [
        (f"{name}-trial-in", "/in", True),
        (order.workspace_volume, "/workspace", True),
        (f"{name}-pod", "/pod", False),
    ]
    home = f"size={limits.home_bytes},uid=10002,gid=10002,mode=0700"
    config = host(
        api,
        network=f"container:{sidecar}" if order.joins_sidecar else "none",
        memory=limits.memory_bytes,
        mounts=mounts,
        tmpfs={"/home/agent": home, "/tmp": f"size={limits.tmp_bytes},mode=1777"},
        caps=["SETUID", "SETGID", "KILL", "SETPCAP"],
        pids=limits.pids,
        cpus=limits.cpus,
    )
    hostname = None if order.joins_sidecar else "pod"
    trial = api.create_container(order.images.trial, user="0:0", hostname=hostname, host_config=config)["Id"]
    api.start(trial)
    api.wait(trial)
    api.inspect_container(trial)
    until(api, gateway, "sealed", lambda: api.kill(gateway, signal="SIGUSR1"))
    chunks, _ = api.get_archive(gateway, "/pod")
    if b"exit.json" not in b"".join(chunks):
        raise SystemExit("the bare pod left no exit.json: it isn't the same pod")
    api.logs(sidecar, stdout=True, stderr=False)
    for container in (trial, sidecar, gateway):
        api.remove_container(container, force=True)
    for volume in ("pod", "trial-in", "gateway-in"):
        api.remove_volume(f"{name}-{volume}")


def bare_round(bench):
    orders = bench.orders()
    began = time.perf_counter()
    for planned in bench.ready.trials:
        bare_pod(bench.api, orders.order(planned, 1))
    return (time.perf_counter() - began) / len(bench.ready.trials)


def runner_round(bench, preparation):
    study = bench.ready.study
    schedule = study.schedule.model_copy(update={"preparation": preparation})
    ready = replace(bench.ready, study=study.model_copy(update={"schedule": schedule}))
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(bench.world.files, bench.world.clock, Path(folder) / layout.LEDGER)
        execution = executing.execution_of(
            bench.world, bench.engine, ready, Path(folder), journal, Purse(ready.study.caps)
        )
        began = time.perf_counter()
        execution.run()
        ended = time.perf_counter()
        outcomes = (Path(folder) / layout.LEDGER).read_text().count('"outcome":"completed"')
    trials = len(ready.trials)
    if outcomes != trials:
        raise SystemExit(f"{outcomes} of {trials} trials completed: nothing was measured")
    return (ended - began) / trials


def measure(bench, rounds):
    ways = {
        "bare engine calls": lambda: bare_round(bench),
        "runner, exclusive": lambda: runner_round(bench, "exclusive"),
        "runner, overlap": lambda: runner_round(bench, "overlap"),
    }
    times = {name: [] for name in ways}
    names = list(ways)
    for name in names:  # a round that isn't counted
        ways[name]()
    for number in range(rounds):
        # Each round begins with another way, so that a drift of the machine hits all alike.
        for name in names[number % len(names) :] + names[: number % len(names)]:
            times[name].append(1000 * ways[name]())
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repetitions", type=int, default=2, help="of the smoke study's 2 tasks x 2 arms, in a round")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with Watch() as watch:
        world = wiring.make_world(watch)
        engine = world.engine()
        planned = locking.plan_study(world, STUDY)
        study = planned.study
        plan = make_plan(
            study=study.name,
            seed=study.seed,
            control=study.control,
            arms=[arm.name for arm in study.arms],
            tasks=[task.id for task in study.tasks],
            repetitions=given.repetitions,
        )
        run = executing.run_name("overhead", world.clock.utc())
        labels = world.owner.labels(run)
        try:
            ready = executing.ready_of(locking.lock_study(world, replace(planned, plan=plan), run, labels))
            executing.fill_volumes(world, engine, ready)
            silent = replace(world, progress=Silent())
            api = docker.APIClient(base_url=engine.info().address, version="auto")
            times = measure(Bench(silent, engine, ready, api), given.rounds)
        finally:
            remove_run(engine, run)
    medians = {name: statistics.median(values) for name, values in times.items()}
    ratio = medians["runner, exclusive"] / medians["bare engine calls"]
    gain = medians["runner, exclusive"] / medians["runner, overlap"]
    if given.json:
        json.dump(
            {"wall_ms_per_trial": times, "ratio": ratio, "overlap_gain": gain, "limit": LIMIT}, sys.stdout, indent=2
        )
        print()
    else:
        print(f"wall ms a trial, {given.rounds} rounds of {len(plan.trials)} trials")
        print(f"{'way':<20} {'median':>9} {'min':>9} {'max':>9}")
        for name, values in times.items():
            print(f"{name:<20} {medians[name]:9.0f} {min(values):9.0f} {max(values):9.0f}")
        print(f"runner / bare: {ratio:.2f} (at most {LIMIT}); overlap is {gain:.2f} times as fast as exclusive")
    sys.exit(0 if ratio <= LIMIT else 1)


class Silent:
    """Progress that nobody watches."""

    def step(self, text): ...
    def planned(self, trials): ...
    def trial_started(self, planned, attempt): ...
    def trial_ended(self, planned, attempt, outcome, reason): ...


if __name__ == "__main__":
    main()
