"""How do time and memory grow with the trials of a run, once they are there?

Synthetic runs of Claude Code, 20 events and 2 model requests a trial, are written to disk, concluded (collect, score,
summarize) and verified, each in a process of its own and in those that it starts; beside it, the same bytes are read,
hashed and parsed once with `orjson`.

    .venv/bin/python benchmarks/scale.py [--trials 1000,4000] [--folder DIR]

Seconds are those that a user waits, and the processors' own in brackets. Memory is the largest sum over all processes
of what each has for itself and its part of what they share (PSS), looked at ten times a second.

Ends 1 when a target is missed: at most 4 times the time of reading, hashing and parsing, peak memory below 400 MB, and
processor time that grows no faster than 1.5 times as much as that of reading.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import multiprocessing
import os
import resource
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import orjson

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from runner import wiring
from runner.core import layout
from runner.core.canonical import sha256_digest
from runner.core.ledger import GENESIS, next_line
from runner.core.lock import ArmPin, EnginePin, HarnessPin, Lock
from runner.core.plan import make_plan
from runner.core.prices import FIXTURE_MODEL, LIST_PRICES
from runner.core.resolved import ResolvedArm, ResolvedStudy, ResolvedTask
from runner.core.study import ClaudeCodeClient, Limits, Schedule, ScriptedModel
from runner.pipeline.concluding import conclude, verify_run
from tests.fakes.attempts import MODEL, exchange, good_control, init, lines, model_usage, result, usage

LIMIT_RATIO, LIMIT_MB, LIMIT_GROWTH = 4.0, 400, 1.5
REPETITIONS = 5
AT = "2026-11-29T00:00:00Z"
HARNESS = HarnessPin(version="0", source_sha256=sha256_digest(b"harness"), python="3")


def study_of(trials):
    arms = [("off", {}), ("on", {"TREATMENT": "1"})]
    return ResolvedStudy(
        name="scale",
        description="Synthetic.",
        seed="scale 1",
        repetitions=REPETITIONS,
        control="off",
        client=ClaudeCodeClient(kind="claude-code", model=MODEL),
        client_instructions="",
        model=ScriptedModel(mode="scripted", policy="plain-agent"),
        limits=Limits(),
        schedule=Schedule(),
        arms=tuple(
            ResolvedArm(
                name=name, description="", image="trial", instructions="", env=env, sidecar=False, mcp_servers=()
            )
            for name, env in arms
        ),
        tasks=tuple(
            ResolvedTask(id=f"task-{number:05}", corpus="none", prompt="Answer.", tags=())
            for number in range(max(1, trials // (2 * REPETITIONS)))
        ),
        corpora={},
    )


def drawn(name, low, high):
    return low + int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") % (high - low + 1)


def evidence(planned):
    """The raw files of one trial: 20 events, 2 requests, usage that follows from its name."""
    size = drawn(planned.task, 40, 200) * drawn(planned.trial, 90, 110) // 100
    size = size * 8 // 10 if planned.arm == "on" else size
    each = {"input_tokens": 10 * size, "output_tokens": size, "cache_read_input_tokens": 300 * size}
    events = [init()]
    for number in range(9):
        use = {"type": "tool_use", "id": f"t{number}", "name": "Grep", "input": {"pattern": f"word {number}"}}
        events.append({"type": "assistant", "message": {"model": MODEL, "content": [use]}})
        shown = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "a line of a file\n" * 20}
        events.append({"type": "user", "message": {"content": [shown]}})
    reported = model_usage(inputTokens=20 * size, outputTokens=2 * size, cacheReadInputTokens=600 * size)
    events.append(result(num_turns=10, modelUsage={MODEL: reported}))
    resolved = {"model_resolved": FIXTURE_MODEL, "usage": usage(**each)}
    bodies = [
        {
            f"{side}_sha256": sha256_digest(f"{planned.trial} {number} {side}".encode())
            for side in ("request", "response")
        }
        for number in (1, 2)
    ]
    exchanges = lines(*(exchange(number, **own, **resolved) for number, own in enumerate(bodies, 1)))
    return good_control().but(stdout=lines(*events), exchanges=exchanges).files()


def generate(folder, trials):
    """A run of about so many trials stands in `folder`; returns how many they are."""
    study = study_of(trials)
    plan = make_plan(
        study=study.name,
        seed=study.seed,
        control=study.control,
        arms=[arm.name for arm in study.arms],
        tasks=[task.id for task in study.tasks],
        repetitions=study.repetitions,
    )
    lock = lock_of(study, plan)
    inputs = {
        layout.LOCK: lock.to_bytes(),
        layout.PLAN: plan.to_bytes(),
        layout.STUDY: study.to_bytes(),
        layout.PRICES: LIST_PRICES.to_bytes(),
    }
    for name, data in inputs.items():
        put(folder, name, data)
    head, count = GENESIS, 0
    with (folder / layout.LEDGER).open("wb") as ledger:

        def add(kind, **facts):
            nonlocal head, count
            count += 1
            line, head = next_line(head, seq=count, at=AT, kind=kind, **facts)
            ledger.write(line)

        add("run_started", files={name: sha256_digest(data) for name, data in inputs.items()}, detail={"run": "scale"})
        for planned in plan.trials:
            where = layout.attempt_folder(planned.trial, 1)
            files = {f"{where}/{name}": data for name, data in evidence(planned).items()}
            add("attempt_started", trial=planned.trial, attempt=1)
            for name, data in files.items():
                put(folder, name, data)
            digests = {name: sha256_digest(data) for name, data in files.items()}
            detail = {"outcome": "completed", "final": "yes"}
            add("attempt_ended", trial=planned.trial, attempt=1, files=digests, detail=detail)
        add("run_ended")
    return len(plan.trials)


def lock_of(study, plan):
    return Lock(
        run="scale",
        protocol_version="1",
        created_at=AT,
        evidence="fixture",
        model_shown=FIXTURE_MODEL,
        study_sha256=study.digest(),
        labels_sha256="",
        plan_sha256=plan.digest(),
        prices_sha256=LIST_PRICES.digest(),
        prompts={},
        client_version="2.1.332",
        arms=tuple(ArmPin(name=arm.name, launch_sha256="", difference=()) for arm in study.arms),
        images=(),
        corpora={},
        engine=EnginePin(
            name="none", version="", api_version="", architecture="", kernel="", storage_driver="", cgroup_version="",
            cpus=1, memory_bytes=1,
        ),
        harness=HARNESS,
    )  # fmt: skip


def put(folder, name, data):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def work_conclude(folder):
    summary = conclude(wiring.make_files(), folder)
    assert summary.census.complete_blocks == summary.census.blocks, summary.census.by_arm


def work_verify(folder):
    found = verify_run(wiring.make_files(), folder, HARNESS)
    assert found.holds, found.differences[:3]


def work_parse(folder):
    for path in sorted((folder / layout.TRIALS).rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            hashlib.sha256(data).digest()
            documents = data.splitlines() if path.suffix == ".jsonl" else [data] if path.suffix == ".json" else []
            for document in documents:
                orjson.loads(document)


@dataclass(frozen=True)
class Took:
    """What a piece of work took."""

    wall_s: float
    busy_s: float
    peak_mb: float


def busy_s():
    """Processor seconds of this process and of those that it started and that have ended."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def family(process):
    """The ids of a process and all that came of it."""
    yield process
    for children in Path(f"/proc/{process}/task").glob("*/children"):
        for child in children.read_text().split():
            yield from family(int(child))


def memory_mb(process):
    """What a process and all that came of it have in memory, shared pages in parts."""
    whole = 0
    with contextlib.suppress(OSError):
        for member in family(process):
            with contextlib.suppress(OSError):
                lines = Path(f"/proc/{member}/smaps_rollup").read_text().splitlines()
                whole += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return whole / 1024


def measured(work, folder):
    wall, busy = time.perf_counter(), busy_s()
    work(folder)
    return time.perf_counter() - wall, busy_s() - busy


def apart(work, folder):
    """What `work` takes in a process of its own."""
    peak, over = 0.0, threading.Event()
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        process = pool.submit(os.getpid).result()

        def watch():
            nonlocal peak
            while not over.wait(0.1):
                peak = max(peak, memory_mb(process))

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            wall, busy = pool.submit(measured, work, folder).result()
        finally:
            over.set()
            watcher.join()
    return Took(wall, busy, peak)


def row(trials, base, concluding, verifying):
    whole, busy = concluding.wall_s + verifying.wall_s, concluding.busy_s + verifying.busy_s
    cells = [f"{took.wall_s:,.1f} ({took.busy_s:,.1f})" for took in (base, concluding, verifying)]
    times = f"{whole / base.wall_s:,.1f} ({busy / base.busy_s:,.1f})"
    return f"| {trials:,} | {' | '.join(cells)} | {times} | {max(concluding.peak_mb, verifying.peak_mb):,.0f} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", default="1000,4000", help="sizes of run (1000,4000)")
    parser.add_argument("--folder", type=Path, help="where runs are made, and removed again; a temporary folder else")
    arguments = parser.parse_args()
    missed, sizes = [], {}
    print("| trials | read, hash, parse, s | collect and summarize, s | verify, s | times the first | peak MB |")
    print("|---|---|---|---|---|---|")
    for wanted in map(int, arguments.trials.split(",")):
        with tempfile.TemporaryDirectory(dir=arguments.folder) as temporary:
            trials = generate(Path(temporary), wanted)
            # The first reading finds the files where writing left them, as all later ones do.
            base, concluding, verifying = (
                apart(work, Path(temporary)) for work in (work_parse, work_conclude, work_verify)
            )
            # Told before so many files are removed, which takes a while.
            print(row(trials, base, concluding, verifying), flush=True)
        whole, peak = concluding.wall_s + verifying.wall_s, max(concluding.peak_mb, verifying.peak_mb)
        sizes[trials] = (concluding.busy_s + verifying.busy_s) / base.busy_s
        missed += [f"{trials:,} trials: {whole / base.wall_s:.1f} times"] if whole > LIMIT_RATIO * base.wall_s else []
        missed += [f"{trials:,} trials: {peak:.0f} MB"] if peak > LIMIT_MB else []
    (small, first), (large, last) = min(sizes.items()), max(sizes.items())
    if last > LIMIT_GROWTH * first:
        missed.append(
            f"{small:,} trials take {first:.1f} times the processor time of reading, {large:,} {last:.1f} times"
        )
    print("\nmissed: " + "; ".join(missed) if missed else "\nevery target is met")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
