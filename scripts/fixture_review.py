"""Review a run as a fixture: prepare, decide by a list of sentences, score. For `make bench`, which has no person.

    .venv/bin/python scripts/fixture_review.py RUN OUT

OUT is made. Exit 0 when the assessment was written and says that a fixture made it; what the fixture decides passes no
gate, so the scoring itself ends 1.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from runner.adjudicate.rewording import names_of, rewordings
from runner.core.reconsolidation.corpus import ReconsolidationCorpus

ROOT = Path(__file__).resolve().parent.parent
PAIRBENCH = ROOT / ".venv/bin/pairbench"
CORPUS = ROOT / "corpora/reconsolidation"
REVIEWER = "fixture"


def sayings() -> dict[str, set[str]]:
    """Meaning of each reference -> the ways in which an entry whose answer is known may say it."""
    found: dict[str, set[str]] = {}
    for split in ("development", "holdout"):
        data = (CORPUS / "v1" / f"{split}.json").read_bytes()
        corpus = ReconsolidationCorpus.from_bytes(data, split)
        names = names_of(corpus)
        meanings = [reference.meaning for case in corpus.cases for reference in case.hypotheses]
        found |= {meaning: {meaning, *rewordings(meaning, names)} for meaning in meanings}
    return found


def decided(packet: dict[str, Any], empty: dict[str, Any], accepted: set[str]) -> dict[str, Any]:
    """The decisions of a fixture that calls the `accepted` sentences, and those of a reference, equivalent."""
    known = sayings()
    decisions = []
    for entry in packet["entries"]:
        exact = [one for one in entry["references"] if one["support"] == entry["support"]]
        same = [one for one in exact if entry["candidate"] in known[one["meaning"]]]
        same = same or (exact if entry["candidate"] in accepted else [])
        decisions.append(
            {
                "entry": entry["entry"],
                "decision": "equivalent" if same else "not_equivalent",
                "reference": same[0]["reference"] if same else None,
                "note": "",
            }
        )
    reviewer = {"name": REVIEWER, "kind": "fixture", "attestation": ""}
    return {**empty, "reviewer": reviewer, "decisions": decisions}


def main() -> int:
    """The program; returns its exit code."""
    run, out = sys.argv[1], Path(sys.argv[2])
    subprocess.run([PAIRBENCH, "review", "prepare", run, "--out", out], check=True)
    accepted = set(tomllib.loads((CORPUS / "fixture-reviewer.toml").read_text("utf-8"))["equivalent"])
    packet = json.loads((out / "public/packet.json").read_bytes())
    empty = json.loads((out / "public/decisions.json").read_bytes())
    told = out / "decisions-fixture.json"
    told.write_text(json.dumps(decided(packet, empty, accepted), sort_keys=True) + "\n", "utf-8")
    # A copy: the study's own register is for assessments that somebody means to keep, and is under version control.
    register = out / "holdout-register.json"
    register.write_bytes((CORPUS / "holdout-register.json").read_bytes())
    command = [PAIRBENCH, "review", "score", out, "--decisions", told, "--register", register]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    is_fixture = done.stdout.startswith("fixture assessment: passes no gate\n")
    return 0 if done.returncode == 1 and is_fixture else done.returncode or 1


if __name__ == "__main__":
    sys.exit(main())
