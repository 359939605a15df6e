"""Images that moved fail the check while every locked input is to be had; a distribution that moved on doesn't."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from spdx_tools.spdx.parser.jsonlikedict.json_like_dict_parser import JsonLikeDictParser
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

from runner import cli, wiring
from runner.core.errors import EnvironmentNotReady, EvidenceError
from runner.images.digests import digests_path
from runner.pipeline import provenance
from tests.fakes.image_tools import deb

if TYPE_CHECKING:
    from runner.pipeline.world import World as Outside
    from tests.fakes.surroundings import Surroundings
    from tests.unit.images_builder.conftest import World


@pytest.fixture
def here(world: World, outside: Surroundings) -> Outside:
    """An outside whose images are those of `world`."""
    return replace(outside.world, build=world.build())


def drift(world: World) -> None:
    world.archive.packages["libc6"] = ("2.36-10", (), deb({"lib/x86_64-linux-gnu/libc.so.6": b"newer"}))


def change(world: World) -> None:
    (world.images / "tool/tool/main.py").write_text("import inner  # changed\n", "utf-8")


def said(here: Outside, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str) -> str:
    """What the command prints; it must have ended well."""
    monkeypatch.setattr(wiring, "make_world", lambda _: here)
    monkeypatch.setattr("sys.argv", ["pairbench", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    shown = capsys.readouterr()
    assert ended.value.code == 0, shown.err
    return shown.out


def test_images_are_as_recorded(here: Outside) -> None:
    """All of them were built on the locked base, and held against what version control has."""
    standing = provenance.standing_of(here)
    assert ([image.name for image in standing.images], standing.base, standing.compared) == (["tool"], "locked", True)


def test_an_image_that_moved_from_locked_inputs_fails(world: World, here: Outside) -> None:
    """With both digests, the file, and what to do."""
    before = provenance.standing_of(here).images[0].config_digest
    change(world)
    with pytest.raises(EvidenceError) as caught:
        provenance.standing_of(here)
    (problem,) = caught.value.problems
    assert problem.message.startswith(f"tool: recorded {before}, and it is sha256:")
    assert (problem.document, problem.key) == (str(world.images / "locks/images.amd64.json"), "images.tool")
    assert "images relock --layers-only" in problem.hint


def test_a_base_that_moved_on_is_told_and_does_not_fail(world: World, here: Outside) -> None:
    """Nothing was compared then, which is said; a program that changed too can't be seen."""
    drift(world)
    change(world)
    standing = provenance.standing_of(here)
    assert (standing.base, standing.compared, standing.recorded) == ("drifted: libc6=2.36-10", False, True)


def test_an_input_that_is_gone_otherwise_fails(world: World, here: Outside) -> None:
    """A wheel that no index has any more is no drift of the distribution."""
    del world.index.wheels["alpha"]
    for path in (here.build.store.folder / "downloads").rglob("*.whl"):
        path.unlink()
    with pytest.raises(EnvironmentNotReady):
        provenance.standing_of(here)


def test_the_command_says_what_it_compared(
    world: World, here: Outside, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As recorded; on another base; where nothing is recorded."""
    digest = provenance.standing_of(here).images[0].config_digest
    assert said(here, capsys, monkeypatch, "images", "check") == f"base: locked\ntool: {digest}, as recorded\n"
    found = json.loads(said(here, capsys, monkeypatch, "images", "check", "--json"))
    assert found == {"base": "locked", "compared": True, "images": {"tool": digest}}
    path = digests_path("amd64", world.images)
    text = path.read_bytes()
    path.unlink()
    assert said(here, capsys, monkeypatch, "images", "check") == (
        "base: locked\nnothing is recorded for amd64: nothing was held against it\n"
    )
    path.write_bytes(text)
    drift(world)
    elsewhere = replace(here, build=world.build("elsewhere"))
    assert said(elsewhere, capsys, monkeypatch, "images", "check") == (
        "base: drifted: libc6=2.36-10\nnothing was held against images/locks: these images stand on another base\n"
    )


def test_an_image_is_shown_with_what_it_is_made_of(
    world: World, here: Outside, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Layers with their packages on the terminal; every file where it is asked for; all of it as JSON."""
    shown = said(here, capsys, monkeypatch, "images", "show", "tool")
    image = provenance.standing_of(here).images[0]
    lines = shown.splitlines()
    assert lines[:2] == [image.tag, "amd64, base: locked"]
    digest = world.archive.package("libc6", "amd64").sha256.removeprefix("sha256:")
    place = lines.index("debian libc6 2.36-9: 2 files, 4 bytes")
    assert lines[place + 1] == f"    sha256 {digest}"
    files = said(here, capsys, monkeypatch, "images", "show", "tool", "--files").splitlines()
    compiled = [line for line in files if line.startswith("/usr/lib/python3.11/__pycache__/os.cpython-311.pyc ")]
    assert [line.partition(" 15 ")[2] for line in compiled] == ["compiled from debian python3 3.11.2-1"]
    assert "/usr/lib64/ld.so -> /lib/ld debian libc6 2.36-9" in files
    found = json.loads(said(here, capsys, monkeypatch, "images", "show", "tool", "--json", "--files"))
    assert [layer["name"] for layer in found["layers"]] == ["base", "wheels", "model", "programs"]
    model = found["layers"][2]
    assert [file["path"] for file in model["files"]] == ["/opt/model/model.onnx"]
    assert model["packages"][0]["file"] == "gamma-3.0-py3-none-any.whl"


def test_the_bill_of_materials_is_printed(
    here: Outside, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A valid SPDX document on standard output, and nothing else."""
    document = json.loads(said(here, capsys, monkeypatch, "images", "show", "tool", "--spdx"))
    parser = JsonLikeDictParser()  # type: ignore[no-untyped-call]
    assert validate_full_spdx_document(parser.parse(document)) == []


def test_a_bill_has_no_other_form(
    here: Outside, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two documents at once would be none."""
    monkeypatch.setattr(wiring, "make_world", lambda _: here)
    monkeypatch.setattr("sys.argv", ["pairbench", "images", "show", "tool", "--spdx", "--json"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert (ended.value.code, "--spdx prints a document of its own" in capsys.readouterr().err) == (2, True)
