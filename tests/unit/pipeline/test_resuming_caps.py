"""Caps hold across a runner that was killed: what a broken-off attempt was granted counts, and nothing more than that."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from runner.core import layout
from runner.core.ledger import read_ledger
from runner.pipeline.executing import run_study
from runner.pipeline.folder import read_run
from runner.pipeline.resuming import resume_run
from runner.pipeline.spending import earlier_spend
from tests.fakes.attempts import exchange, lines
from tests.fakes.engine import Hang
from tests.fakes.pods import leave
from tests.fakes.surroundings import COMMAND_STUDY

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from runner.core.ledger import LedgerLine
    from tests.fakes.engine import Behaviour, Box, Script
    from tests.fakes.surroundings import Surroundings

CAPS = "caps = { trial_microusd = 20000, block_microusd = 36000, output_tokens = 10 }\n"
CAPPED = COMMAND_STUDY[: COMMAND_STUDY.index('  { id = "second"')].replace(
    'kind = "command"', 'kind = "command", model = "claude-haiku-5-5"'
)
# Pods that are prepared ahead hold money of the block, so that amounts would depend on which thread comes first.
CAPPED += "]\n" + CAPS + 'schedule = { preparation = "exclusive" }\n'
FIRST, OTHER = "first.r1.joined", "first.r1.off"


def spends(microusd: int, *, starts: bool = True) -> Behaviour:
    """A client whose requests were charged so much; one that doesn't start fails for our reasons."""

    def run(box: Box) -> int:
        box.write("/pod/gateway/exchanges.jsonl", lines(exchange(1, charged_microusd=microusd)))
        box.write("/pod/gateway/bodies.jsonl.zst", b"")
        if starts:
            leave(box, b"an answer\n")
        else:
            leave(box, b"", ended_by="not_ready", started_ns=None)
        return 0

    return run


def watched(outside: Surroundings) -> dict[tuple[str, int], int]:
    """What each attempt's gateway is told that it may spend, as pods come."""
    grants: dict[tuple[str, int], int] = {}

    def gateway(box: Box) -> Script:
        labels = box.spec.labels
        told = json.loads(box.read("/in/gateway.json"))["spending"]["grant_microusd"]
        grants[labels["pairbench.trial"], int(labels["pairbench.attempt"])] = told
        box.tell("ready")
        while True:
            yield Hang()
            box.tell("sealed")

    outside.pods.roles["gateway"] = gateway
    return grants


def killed_behind(outside: Surroundings, folder: Path, last: Callable[[LedgerLine], bool]) -> None:
    """The run is as a runner left it that was killed right after the first line that is `last`."""
    data = outside.files.held[folder / layout.LEDGER]
    written = data.splitlines(keepends=True)
    told = read_ledger(data, layout.LEDGER)[0]
    kept = next(number for number, line in enumerate(told, 1) if last(line))
    named = {folder / name for line in told[:kept] for name in line.files}
    outside.files.held[folder / layout.LEDGER] = b"".join(written[:kept])
    for path in [path for path in outside.files.held if path.is_relative_to(folder / layout.TRIALS)]:
        if path not in named:
            del outside.files.held[path]


def is_line(kind: str, trial: str, attempt: int) -> Callable[[LedgerLine], bool]:
    return lambda line: (line.kind, line.trial, line.attempt) == (kind, trial, attempt)


def counted(outside: Surroundings, folder: Path) -> list[tuple[str, int]]:
    return [(trial.trial, spent) for trial, spent in earlier_spend(outside.files, read_run(outside.files, folder))]


def test_a_broken_off_attempt_has_spent_its_grant_in_the_first_resumption_and_in_the_next(
    outside: Surroundings,
) -> None:
    """8184 of an attempt that ended and 11816 granted to one that was killed make up the trial's cap of 20000."""
    outside.pods.attempts |= {
        (FIRST, 1): {"trial": spends(8_184, starts=False)},
        (FIRST, 2): {"trial": spends(1)},
    }
    grants = watched(outside)
    folder = run_study(outside.world, outside.study(CAPPED)).folder
    assert (grants[FIRST, 1], grants[FIRST, 2]) == (20_000, 11_816)
    killed_behind(outside, folder, is_line("attempt_granted", FIRST, 2))
    outside.pods.roles["trial"] = spends(0)
    for _ in ("first", "next"):
        grants.clear()
        assert resume_run(outside.world, folder).complete
        # The other arm of the block gets what is left of the block's 36000.
        assert (grants[FIRST, 3], grants[OTHER, 1]) == (0, 16_000)
        assert counted(outside, folder)[:2] == [(FIRST, 8_184), (FIRST, 11_816)]
        killed_behind(outside, folder, lambda line: line.kind == "run_resumed")


def test_an_attempt_whose_client_never_started_has_spent_nothing(outside: Surroundings) -> None:
    """Its start is in the ledger, and no grant: whoever could spend wasn't there yet."""
    grants = watched(outside)
    outside.pods.roles["trial"] = spends(0)
    folder = run_study(outside.world, outside.study(CAPPED)).folder
    killed_behind(outside, folder, is_line("attempt_started", FIRST, 1))
    grants.clear()
    assert resume_run(outside.world, folder).complete
    assert counted(outside, folder)[0] == (FIRST, 0)
    assert grants[FIRST, 2] == 20_000


def test_what_reached_the_disk_of_a_broken_off_attempt_is_counted_exactly(outside: Surroundings) -> None:
    """All of its evidence is there, and only the ledger's last line is not: 8184, and not the grant of 20000."""
    grants = watched(outside)
    outside.pods.roles["trial"] = spends(8_184)
    folder = run_study(outside.world, outside.study(CAPPED)).folder
    evidence = {path: data for path, data in outside.files.held.items() if path.is_relative_to(folder / layout.TRIALS)}
    killed_behind(outside, folder, is_line("attempt_granted", FIRST, 1))
    outside.files.held |= {
        path: data for path, data in evidence.items() if path.is_relative_to(folder / layout.attempt_folder(FIRST, 1))
    }
    grants.clear()
    assert resume_run(outside.world, folder).complete
    assert counted(outside, folder)[0] == (FIRST, 8_184)
    assert grants[FIRST, 2] == 11_816
