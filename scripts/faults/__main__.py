"""`python -m scripts.faults`: every fault scenario on the real engine, against what is expected. Behind `make faults`.

Exit codes: 0 all as expected, 1 something wasn't, 2 wrong usage, 3 no engine.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table

from runner.core.errors import ExitCode, PairbenchError, StudyError
from scripts.faults import killing, restarting, studies
from scripts.faults.expected import Row, read_expected
from scripts.faults.surroundings import differences, surroundings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scripts.faults.expected import ExpectedFile

ROOT: Final = Path(__file__).resolve().parents[2]
FAULTS: Final = ROOT / "corpora" / "faults"
KILLED: Final = "killed"
RESTARTED: Final = "restarted"
_SHOWN: Final = 3


def main(arguments: Sequence[str]) -> ExitCode:
    """The table was printed; the exit code says whether all was as expected.

    Raises:
        PairbenchError: there is no engine, or the expectations aren't valid.
    """
    options = _options(arguments)
    expected = read_expected(options.folder / "expected.toml")
    parts = (*expected.studies, KILLED, RESTARTED)
    wanted = tuple(options.parts) or parts
    unknown = sorted(set(wanted) - set(parts))
    if unknown:
        raise StudyError(f"there is no part {', '.join(unknown)}", hint=f"known: {', '.join(parts)}")
    address, lives = studies.engine_address(), studies.lives_elsewhere()
    shutil.rmtree(options.runs, ignore_errors=True)
    options.runs.mkdir(parents=True)
    started = time.monotonic()
    before = surroundings(address, lives)
    rows: list[Row] = []
    for part in wanted:
        sys.stderr.write(f"== {part}\n")
        if part == RESTARTED and not options.parts and restarting.why_not():
            # Nobody asked for it by name, and whoever may use an engine need not be able to start one.
            rows.append(Row("engine killed and restarted", "", "", f"not tried: {restarting.why_not()}", "", "", ()))
            continue
        rows += _rows(part, expected, address, options)
    left = differences(address, lives, before)
    rows.append(Row("what is left in the engine", "", "nothing", "something" if left else "nothing", "", "", left))
    _show(rows, time.monotonic() - started, as_json=options.json)
    return ExitCode.FINDING if any(row.faults for row in rows) else ExitCode.DONE


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m scripts.faults", description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"studies by name, {KILLED}, {RESTARTED}; all of them by default")
    parser.add_argument("--folder", type=Path, default=FAULTS, help="where studies and expected.toml are")
    parser.add_argument("--seed", type=int, default=1, help="of the moments at which the runner is killed")
    parser.add_argument("--runs", type=Path, default=ROOT / ".cache" / "faults", help="where runs go; emptied first")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser.parse_args(arguments)


def _rows(part: str, expected: ExpectedFile, address: str, options: argparse.Namespace) -> list[Row]:
    runs: Path = options.runs / part
    special: dict[str, Callable[[], tuple[Row, ...]]] = {
        KILLED: lambda: killing.rows(options.folder / "killed.toml", runs, options.seed),
        RESTARTED: lambda: restarting.rows(options.folder / "killed.toml", runs),
    }
    if part in special:
        return list(special[part]())
    scenarios = expected.of_study(part)
    study = options.folder / f"{part}.toml"
    whole = studies.run_study(address, study, runs, scenarios)
    rows = list(studies.rows_of(whole, scenarios))
    if part in expected.again:
        sys.stderr.write(f"== {part}, without its faulty tasks\n")
        good = studies.run_study(
            address, studies.without_faulty_tasks(study, runs / "good", scenarios), runs, scenarios
        )
        faults = tuple(studies.totals_differ(whole.summary, good.summary))
        rows.append(
            Row(f"totals of the good pairs of {part}", "", "equal", "differ" if faults else "equal", "", "", faults)
        )
    return rows


def _show(rows: Sequence[Row], seconds: float, *, as_json: bool) -> None:
    wrong = sum(bool(row.faults) for row in rows)
    if as_json:
        json.dump(
            {"seconds": round(seconds), "wrong": wrong, "rows": [asdict(row) for row in rows]}, sys.stdout, indent=1
        )
        sys.stdout.write("\n")
        return
    table = Table("scenario", "arm", "expected", "got", "ended after", "killed", "verdict", box=None, pad_edge=False)
    for row in rows:
        verdict = "as expected" if not row.faults else "; ".join(row.faults[:_SHOWN])
        if len(row.faults) > _SHOWN:
            verdict += f"; and {len(row.faults) - _SHOWN} more (--json shows them)"
        table.add_row(row.scenario, row.arm, row.expected, row.got, row.ended_after, row.killed, verdict)
    width = None if sys.stdout.isatty() else 240
    console = Console(highlight=False, markup=False, width=width)
    console.print(table)
    console.print(f"\n{len(rows)} rows, {wrong} not as expected, {seconds:.0f} s")


if __name__ == "__main__":
    os.chdir(ROOT)
    try:
        sys.exit(main(sys.argv[1:]))
    except PairbenchError as error:
        sys.stderr.write(error.diagnostics() + "\n")
        sys.exit(error.exit_code)
