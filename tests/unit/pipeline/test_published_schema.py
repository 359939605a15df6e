"""The summary of a whole run, as it lies in its folder, fits the published schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema  # type: ignore[import-untyped]

from runner.core import layout
from runner.pipeline.concluding import conclude
from runner.pipeline.executing import run_study
from tests.fakes.pods import asking_client
from tests.fakes.surroundings import CLAUDE_STUDY

if TYPE_CHECKING:
    from tests.fakes.surroundings import Surroundings

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "summary.schema.json"


def test_the_summary_of_a_run_fits(outside: Surroundings) -> None:
    """From study to sealed bytes, with a gate in the lock."""
    gate = '[[gates]]\nname = "cheaper"\nmeasure = "cost_microusd"\narm = "memory"\nend = "high"\nat_most = "1"\n'
    outside.pods.roles["trial"] = asking_client
    ran = run_study(outside.world, outside.study(f"{CLAUDE_STUDY}\n{gate}"))
    conclude(outside.files, ran.folder)
    summary = json.loads(outside.files.held[ran.folder / layout.SUMMARY])
    errors = jsonschema.Draft202012Validator(json.loads(PAGE.read_bytes())).iter_errors(summary)
    assert [f"{error.json_path}: {error.message}" for error in errors] == []
    assert [gate["verdict"] for gate in summary["gates"]] == ["not_judged"]
