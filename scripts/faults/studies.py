"""How does a study of faults end, and do its good pairs come to what they come to without the faulty ones?"""

from __future__ import annotations

import shutil
import tomllib
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from runner import wiring
from runner.core import layout
from runner.core.errors import EnvironmentNotReady
from runner.core.records import Record
from runner.pipeline import concluding, executing
from runner.pipeline.status import run_status
from scripts.faults.expected import Row, compare
from scripts.faults.injecting import Injector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from runner.core.owner import Owner
    from runner.core.summary import Summary
    from scripts.faults.expected import Scenario

# What a clock or a kernel measures differs from run to run; everything else that is totalled must not.
_MEASURED_BY_CLOCKS = ("ms", "bytes")


@dataclass(frozen=True)
class StudyRun:
    """A study that ran, and what it came to."""

    folder: Path
    summary: Summary
    records: tuple[Record, ...]


def engine_address() -> str:
    """Where the engine answers.

    Raises:
        EnvironmentNotReady: none does.
    """
    return wiring.make_world(Injector("", {})).engine().info().address


def lives_elsewhere() -> Callable[[Owner], bool]:
    """Whether something belongs to another runner than this process, one that still runs."""
    world = wiring.make_world(Injector("", {}))
    return lambda owner: owner != world.owner and world.lives(owner)


def run_study(address: str, study: Path, runs: Path, scenarios: Mapping[str, Scenario]) -> StudyRun:
    """The study ran in a folder of `runs`, with the blows that its scenarios ask for.

    Raises:
        PairbenchError: it couldn't.
    """
    with closing(Injector(address, scenarios)) as injector:
        world = wiring.make_world(injector)
        world = replace(world, places=replace(world.places, runs=runs))
        ran = executing.run_study(world, study)
    if not ran.complete:
        raise EnvironmentNotReady("the study was interrupted", document=str(ran.folder))
    summary = concluding.conclude(world.files, ran.folder)
    lines = (ran.folder / layout.RECORDS).read_bytes().splitlines()
    records = tuple(Record.from_bytes(line, layout.RECORDS) for line in lines)
    return StudyRun(ran.folder, summary, records)


def rows_of(run: StudyRun, scenarios: dict[str, Scenario]) -> tuple[Row, ...]:
    """A row for every scenario and arm, and one that says whether the run verifies and its pods were walled in."""
    files, code = wiring.make_files(), wiring.this_code()
    verified = concluding.verify_run(files, run.folder, code)
    faults = [str(problem) for problem in verified.differences]
    status = run_status(files, run.folder)
    faults += [
        f"{trial.trial}: {breach}" for trial in status.trials for item in trial.attempts for breach in item.breaches
    ]
    got = "verifies" if not faults else "does not verify"
    return (*compare(scenarios, run.records), Row(run.summary.study.name, "", "verifies", got, "", "", tuple(faults)))


def without_faulty_tasks(study: Path, into: Path, scenarios: Mapping[str, Scenario]) -> Path:
    """The same study, of the same name and seed, whose tasks are those that complete in every arm; its path."""
    into.mkdir(parents=True)
    folder = into / study.parent.name
    shutil.copytree(study.parent, folder)
    for name in tomllib.loads(study.read_text("utf-8"))["task_files"]:
        file = folder / name
        kept = [
            task for task in tomllib.loads(file.read_text("utf-8"))["tasks"] if not scenarios[task["id"]].is_faulty()
        ]
        head = 'format = "pairbench/tasks"\nversion = 1\n'
        file.write_text(head + "".join(_table(task) for task in kept), "utf-8")
    return folder / study.name


def _table(task: Mapping[str, str]) -> str:
    return "\n[[tasks]]\n" + "".join(f'{name} = "{value}"\n' for name, value in task.items())


def totals_differ(whole: Summary, good: Summary) -> Iterator[str]:
    """Where pooled totals over complete blocks differ between a study and the same one without its faulty tasks."""
    ours, theirs = _totals(whole), _totals(good)
    for name in sorted(ours.keys() | theirs.keys()):
        if ours.get(name) != theirs.get(name):
            yield f"{name}: {ours.get(name)} beside faulty tasks, {theirs.get(name)} without them"
    if whole.models != good.models:
        yield f"tokens by model: {whole.models} beside faulty tasks, {good.models} without them"


def _totals(summary: Summary) -> dict[str, object]:
    units = {measure.name: measure.unit for measure in summary.measures}
    complete = next(view for view in summary.views if view.treatment == "complete_blocks")
    return {
        f"{row.measure} of {arm.arm}": (row.n_blocks, row.n_tasks, arm.total, arm.out_of)
        for row in complete.totals
        if units[row.measure] not in _MEASURED_BY_CLOCKS
        for arm in row.arms
    }
