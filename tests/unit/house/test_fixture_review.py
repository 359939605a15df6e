"""The fixture that reviews where there is no person decides by a list, and every sentence of the list can come up."""

from __future__ import annotations

import json
import runpy
import tomllib
from pathlib import Path

from runner.pipeline.reviewing import Scoring, prepare, score
from tests.fakes.files import MemoryFiles
from tests.fakes.reviews import REGISTER, RUN, Made, changed, world_of, write_run

ROOT = Path(__file__).resolve().parents[3]
CORPUS = ROOT / "corpora" / "reconsolidation"
LIST = tomllib.loads((CORPUS / "fixture-reviewer.toml").read_text("utf-8"))["equivalent"]


def test_every_sentence_is_one_that_a_scripted_model_says() -> None:
    """A list that fits other scripts would accept nothing, unseen."""
    said = "".join((CORPUS / "scripts" / name).read_text("utf-8") for name in ("first.yaml", "second.yaml"))
    assert [sentence for sentence in LIST if sentence not in said] == []


def test_its_decisions_can_be_scored_and_pass_nothing() -> None:
    """Whole, of the packet, and by a fixture that the contract names."""
    script = runpy.run_path(str(ROOT / "scripts" / "fixture_review.py"))
    reviewers = [{"name": script["REVIEWER"], "kind": "fixture", "ssh_public_key": ""}]
    files = MemoryFiles()
    write_run(files, changed(Made(), reviewers=tuple(reviewers)))
    prepare(world_of(files), RUN, Path("/review"))
    packet = json.loads(files.read(Path("/review/public/packet.json")) or b"")
    empty = json.loads(files.read(Path("/review/public/decisions.json")) or b"")
    accepted = {entry["candidate"] for entry in packet["entries"] if entry["candidate"].startswith("The cache server")}
    told = script["decided"](packet, empty, accepted)
    files.write(Path("/told.json"), json.dumps(told).encode())
    found, _ = score(world_of(files), Scoring(Path("/review"), (Path("/told.json"),), Path("/out"), REGISTER))
    assert not found.passed
    assert found.reviews[0].positives_right == 2
    # One case of the development split, in three repeats of two arms.
    assert sum(arm.matched for arm in found.arms) == 6
