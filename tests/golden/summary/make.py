"""Writes the golden run of a summary; behind `make golden`. Read the difference before you commit it."""

from __future__ import annotations

import sys
from pathlib import Path

# A script's path holds its own folder only; the fakes are found from the top folder.
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from runner.core.canonical import canonical_lines
from runner.core.outcomes import Outcome
from runner.core.records import Finding
from runner.summarize.seal import seal
from runner.summarize.summary import summarize
from tests.fakes.records import RunSpec, make_run

FOLDER = Path(__file__).parent
SPEC = RunSpec(
    tasks=("cancel", "close", "freeze", "parse", "retry", "wrap"),
    repetitions=2,
    seed="golden summary 1",
    outcomes={
        "close.r1.memory": Outcome.TIMEOUT,
        "parse.r2.off": Outcome.INFRASTRUCTURE,
        "wrap.r1.off": Outcome.EVIDENCE_INVALID,
    },
    inert=frozenset({"retry.r2.memory"}),
    retried=frozenset({"cancel.r1.off"}),
    findings={"freeze.r1.off": (Finding(kind="resent", detail="exchange 2 was sent again as exchange 3"),)},
)


def main() -> None:
    """The golden files hold what today's code makes of the golden run."""
    run = make_run(SPEC)
    records = canonical_lines(record.json_value() for record in run.records)
    sealed = seal(summarize(run.context, run.plan, run.records, run.scores))
    # One digit of one token count of an attempt: the trial contradicts it then.
    broken = records.replace(b'"input_tokens":1', b'"input_tokens":2', 1)
    files = {
        "plan.json": run.plan.to_bytes(),
        "records.jsonl": records,
        "records.broken.jsonl": broken,
        "scores.jsonl": canonical_lines(score.json_value() for score in run.scores),
        "summary.json": sealed.summary_bytes,
        "summary.json.sha256": sealed.checksum_bytes,
    }
    for name, data in files.items():
        (FOLDER / name).write_bytes(data)


if __name__ == "__main__":
    main()
