"""How do time and memory grow with the trials of a run, once they are there?

Synthetic runs of Claude Code, 20 events and 2 model requests a trial, are written to disk, concluded (collect, score,
summarize) and verified, each in a process of its own; beside it, the same bytes are read, hashed and parsed once with
`orjson` (the standard library's `json` where that isn't installed, which is said).

    .venv/bin/python benchmarks/scale.py [--trials 1000,4000] [--folder DIR]

Ends 1 when a target is missed: at most 4 times the time of reading, hashing and parsing, peak memory below 400 MB, and
time that grows no faster than 1.5 times as much as the trials.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import multiprocessing
import resource
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

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

ORJSON = importlib.util.find_spec("orjson") is not None
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
    exchanges = lines(exchange(1, **resolved), exchange(2, **resolved))
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
    if ORJSON:
        import orjson  # noqa: PLC0415 - only where it is installed

        parse = orjson.loads
    else:
        parse = json.loads
    for path in sorted((folder / layout.TRIALS).rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            hashlib.sha256(data).digest()
            documents = data.splitlines() if path.suffix == ".jsonl" else [data] if path.suffix == ".json" else []
            for document in documents:
                parse(document)


def measured(work, folder):
    wall, busy = time.perf_counter(), time.process_time()
    work(folder)
    took = time.perf_counter() - wall, time.process_time() - busy
    return (*took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def apart(work, folder):
    """Seconds, CPU seconds and peak megabytes of `work` in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(measured, work, folder).result()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", default="1000,4000", help="sizes of run (1000,4000)")
    parser.add_argument("--folder", type=Path, help="where runs are made, and left; a temporary folder else")
    arguments = parser.parse_args()
    missed, sizes = [], {}
    print(f"Parsed with {'orjson' if ORJSON else 'json, for orjson is not installed'}. Seconds are CPU seconds.\n")
    print("| trials | read, hash, parse | collect and summarize | verify | times the first | peak MB |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir=arguments.folder) as temporary:
        for wanted in map(int, arguments.trials.split(",")):
            folder = Path(temporary) / f"run-{wanted}"
            trials = generate(folder, wanted)
            base = apart(work_parse, folder)[1]
            concluding, verifying = apart(work_conclude, folder), apart(work_verify, folder)
            whole, peak = concluding[1] + verifying[1], max(concluding[2], verifying[2])
            sizes[trials] = whole
            print(
                f"| {trials:,} | {base:,.2f} | {concluding[1]:,.2f} | {verifying[1]:,.2f} | {whole / base:,.1f} | "
                f"{peak:,.0f} |",
                flush=True,
            )
            missed += [f"{trials:,} trials: {whole / base:.1f} times"] if whole > LIMIT_RATIO * base else []
            missed += [f"{trials:,} trials: {peak:.0f} MB"] if peak > LIMIT_MB else []
    (small, first), (large, last) = min(sizes.items()), max(sizes.items())
    if last / first > LIMIT_GROWTH * large / small:
        missed.append(f"{large / small:.1f} times the trials take {last / first:.1f} times as long")
    print("\nmissed: " + "; ".join(missed) if missed else "\nevery target is met")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
