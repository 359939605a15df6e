"""A reconsolidation study in memory, over the shipped corpus, and trials whose stores hold what a test says."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.adapters.harness import installed_versions, package_sources
from tests.fakes.attempts import lines
from tests.fakes.engine import Hang
from tests.fakes.pods import leave

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runner.pipeline.world import World
    from tests.fakes.engine import Behaviour, Box, Script
    from tests.fakes.surroundings import Surroundings

CORPUS = Path(__file__).resolve().parents[2] / "corpora" / "reconsolidation" / "v1"
STUDY = """
format = "pairbench/study"
version = 1
name = "demo"
seed = "demo 1"
repetitions = 2
control = "original_only"
client = { kind = "reconsolidation", model = "claude-sonnet-4-5" }
model = { mode = "scripted", policy = "plain-agent" }
schedule = { control_first = true }
arms = [
  { name = "original_only", image = "trial", system = { kind = "reconsolidator", mode = "original_only" } },
  { name = "merge_only", image = "trial", system = { kind = "reconsolidator", mode = "merge_only" } },
]
tasks = [
  { id = "development", cases = "v1/development.json" },
  { id = "holdout", cases = "v1/holdout.json" },
]
"""
Points = dict[str, list[dict[str, Any]]]
"""By collection, in the order of ids from 1."""


@dataclass
class Memories:
    """What the sidecars of one test hold, and how their trials fill them."""

    outside: Surroundings
    change: Callable[[dict[str, Any], Points], None] = lambda *_: None
    """May change what a trial that was launched so leaves in its store."""
    _stores: dict[str, Points] = field(default_factory=dict)
    """By the sidecar's container."""

    def __post_init__(self) -> None:
        """Sidecars print their stores, trials fill them."""
        self.outside.pods.roles |= {"sidecar": self._sidecar, "trial": self._trial}

    @property
    def world(self) -> World:
        """The outside with the sources of this program."""
        return replace(self.outside.world, sources=package_sources, versions=installed_versions)

    def study(self, text: str = STUDY) -> Path:
        """The study and its corpus are there."""
        path = self.outside.study(text)
        for file in CORPUS.iterdir():
            self.outside.files.put(path.parent / "v1" / file.name, file.read_text("utf-8"))
        return path

    def _sidecar(self, box: Box) -> Script:
        assert box.spec.command == ("--dump", "16777216")
        box.tell("ready", port=6333)
        while (yield Hang()) != "SIGTERM":
            pass
        points = self._stores.get(box.container.identity, {})
        printed = b"".join(
            lines({"event": "point", "collection": collection, "id": number, "payload": payload})
            for collection in sorted(points)
            for number, payload in enumerate(points[collection], 1)
        )
        box.say(printed)
        digest = f"sha256:{hashlib.sha256(printed).hexdigest()}"
        box.tell("dumped", points=len(printed.splitlines()), left_out=0, sha256=digest)
        return 0

    def _trial(self, box: Box) -> int:
        """Every live seed is kept, and each probe answered with the first one."""
        launch = json.loads(box.read("/in/reconsolidation.json"))
        points = stored(launch)
        self.change(launch, points)
        neighbour = box.neighbour()
        assert neighbour is not None
        self._stores[neighbour.container.identity] = points
        for collection, payloads in points.items():
            for request in (_search(collection, len(payloads)), _write(collection)):
                neighbour.say(lines(request))
        leave(box, said(launch))
        return 0


def stored(launch: Mapping[str, Any]) -> Points:
    """What a memory keeps that changes nothing, and answers with the first seed."""
    found: Points = {}
    for case in launch["cases"]:
        facts = [
            {"kind": "fact", "members": [seed["id"]], "statement": seed["statement"], "status": "live"}
            for seed in case["seeds"]
            if seed["status"] == "live"
        ]
        answers = [
            {"kind": "answer", "probe": probe["id"], "answer": facts[0]["statement"], "recalled": [1]}
            for probe in case["probes"]
        ]
        found[f"case-{case['case']}"] = [*facts, *answers]
    return found


def said(launch: Mapping[str, Any]) -> bytes:
    """The output of a program that asked no model."""
    cases = len(launch["cases"])
    head = {"type": "start", "format": "pairbench/reconsolidation-events", "version": 1, "client": "1", "model": ""}
    end = {"type": "end", "outcome": "completed", "cases": cases, "turns": 0, "error": None, "usage": []}
    return lines(head, *({"type": "case", "case": case["case"]} for case in launch["cases"]), end)


def failing() -> Behaviour:
    """A trial whose client ends with an error."""

    def run(box: Box) -> int:
        leave(box, b"", b"no room\n", exit_code=1)
        return 0

    return run


def _search(collection: str, points: int) -> dict[str, Any]:
    return _request("POST", f"/collections/{collection}/points/query") | {"returned": list(range(1, points + 1))}


def _write(collection: str) -> dict[str, Any]:
    return _request("PUT", f"/collections/{collection}/points")


def _request(method: str, path: str) -> dict[str, Any]:
    return {
        "event": "request",
        "seq": 1,
        "method": method,
        "path": path,
        "status": 200,
        "received_ns": 2_000_000_000,
        "duration_us": 60,
    }
