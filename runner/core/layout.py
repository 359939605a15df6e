"""Where things lie in a run's folder."""

from __future__ import annotations

from typing import Final

LOCK: Final = "lock.json"
PLAN: Final = "plan.json"
LEDGER: Final = "ledger.jsonl"
RECORDS: Final = "records.jsonl"
SCORES: Final = "scores.jsonl"
SUMMARY: Final = "summary.json"
CHECKSUM: Final = "summary.json.sha256"
REPORT: Final = "report.html"
STUDY: Final = "inputs/study.json"
LABELS: Final = "inputs/labels.json"
PRICES: Final = "inputs/prices.json"
CASSETTE: Final = "cassette.jsonl"
"""What the run's gateways recorded."""
PLAYED: Final = "inputs/cassette.jsonl"
"""What its gateways play."""
TRIALS: Final = "trials"
INPUTS: Final = "inputs"
RANKINGS: Final = "rankings.jsonl"
LATENCIES: Final = "latencies.jsonl"
RETRIEVAL: Final = "retrieval.jsonl"
OBSERVATIONS: Final = "observations.jsonl"
CONTRACT: Final = "inputs/contract.json"
BASELINE: Final = "control-baseline.json"
"""What the control of a reconsolidation study answered, frozen before any other arm starts."""
RECONSOLIDATION: Final = "inputs/reconsolidation"
"""The corpus of a reconsolidation study, as its folder holds it."""
HARNESS: Final = "inputs/harness"
"""The code that ran, as a wheel, and what else it needed, as pip reads it."""
FIELD_FILES: Final = "retrieval"
"""The run of each trial and the qrels of each query set, as the tools of the field read them."""
HOLDER: Final = "holder.lock"
"""Held by the one runner that may write to the run; it says which."""


def corpus_tar(name: str) -> str:
    """The workspace of a corpus, as its trials saw it."""
    return f"inputs/corpora/{name}.tar"


def context_tar(name: str) -> str:
    """What an engine's builder made an image of the study's own of."""
    return f"inputs/images/{name}.tar"


def index_tar(name: str) -> str:
    """The index of a corpus, as its trials searched it."""
    return f"inputs/indexes/{name}.tar"


def floor(name: str) -> str:
    """The file of another study that holds a floor of the contract."""
    return f"inputs/floors/{name}.json"


def passages(name: str) -> str:
    """The passages of a corpus, by which rankings are held against its sources."""
    return f"inputs/passages/{name}.jsonl"


def query_set(task: str) -> str:
    """The queries and labels of a task of a retrieval study."""
    return f"inputs/queries/{task}.json"


def trec_run(trial: str) -> str:
    """What a trial found, as a run of TREC's."""
    return f"{FIELD_FILES}/{trial}.run"


def trec_qrels(task: str) -> str:
    """The labels of a query set, as TREC's qrels."""
    return f"{FIELD_FILES}/{task}.qrels"


def raw_input(name: str) -> str:
    """A file that the study was read from, by its path as seen from the study's folder.

    No two paths give one name: `..` becomes `_up`, and a name that begins with `_` gets another one.
    """
    parts = ("_up" if part == ".." else f"_{part}" if part.startswith("_") else part for part in name.split("/"))
    return f"inputs/files/{'/'.join(parts)}"


def attempt_folder(trial: str, attempt: int) -> str:
    """The raw evidence of one attempt."""
    return f"{TRIALS}/{trial}/attempt-{attempt}"
