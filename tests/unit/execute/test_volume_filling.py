"""Workspaces and indexes are filled through the engine, and read back before anybody relies on them."""

from __future__ import annotations

import pytest

from runner.core.canonical import Digest
from runner.core.errors import EngineError, EvidenceError
from runner.core.passages import tree_digest
from runner.core.tars import TreeFile
from runner.execute.volumes import Filler
from runner.ports.engine import ImageFacts
from tests.fakes.engine import Box, FakeEngine, Hang, Script
from tests.fakes.pods import Pods

FILES = {"notes/plan.md": TreeFile(b"We move.\n"), "run": TreeFile(b"#!\n", executable=True)}
DIGEST = tree_digest({name: file.data for name, file in FILES.items()})


def desk() -> tuple[Filler, FakeEngine, Pods]:
    pods = Pods()
    engine = FakeEngine(pods, images={"sidecar": ImageFacts("sha256:s", (), "amd64")})
    return Filler(engine, "sidecar", {"pairbench.run": "demo-1"}), engine, pods


def test_a_workspace_holds_its_files_and_its_filler_is_gone() -> None:
    """The volume stays for the trials of the run, with its labels."""
    filler, engine, _ = desk()
    filler.fill_workspace("w", FILES, DIGEST)
    assert {name: node.data for name, node in engine.volumes["w"].nodes.items() if node.kind == "file"} == {
        "notes/plan.md": b"We move.\n",
        "run": b"#!\n",
    }
    assert [(item.kind, item.labels["pairbench.role"]) for item in engine.owned()] == [("volume", "workspace")]


def test_a_workspace_that_comes_back_different_is_refused() -> None:
    """An engine that lost a file, or somebody who wrote into the volume."""
    filler, engine, _ = desk()
    with pytest.raises(EvidenceError, match="the engine gave back another tree than was put in"):
        filler.fill_workspace("w", FILES, Digest("sha256:" + "0" * 64))
    assert engine.containers == {}


def test_an_index_is_laid_out_and_its_archive_is_gone() -> None:
    """What is left is the index alone."""
    filler, engine, _ = desk()
    filler.fill_index("i", b"an index")
    assert {name: node.data for name, node in engine.volumes["i"].nodes.items()} == {"index": b"an index"}
    assert sorted(engine.volumes) == ["i"]
    assert engine.containers == {}


def refuses(box: Box) -> int:
    box.complain(b"not an archive\n")
    return 2


def hangs(box: Box) -> Script:
    box.complain(b"unpacking\n")
    yield Hang()
    return 0


@pytest.mark.parametrize(
    ("behaviour", "message"), [(refuses, r"\(exit 2\): not an archive"), (hangs, r"\(exit None\): unpacking")]
)
def test_an_index_that_cannot_be_laid_out_is_told(behaviour: object, message: str) -> None:
    """With the words of the program; after two minutes it is given up."""
    filler, engine, pods = desk()
    pods.roles["index-filler"] = behaviour  # type: ignore[assignment]
    with pytest.raises(EngineError, match=message) as caught:
        filler.fill_index("i", b"an index")
    assert caught.value.problems[0].document == "volume i"
    assert engine.containers == {}
    assert sorted(engine.volumes) == ["i"]
    assert engine.clock.monotonic_ms() in {0, 120_000}


def test_fillers_are_walled_in() -> None:
    """They have no network either, and end with the run if all else fails."""
    filler, engine, _ = desk()
    filler.fill_workspace("w", FILES, DIGEST)
    filler.fill_index("i", b"an index")
    for spec in engine.specs.values():
        assert spec.network_of is None
        assert spec.capabilities == ()
        assert spec.labels["pairbench.run"] == "demo-1"
