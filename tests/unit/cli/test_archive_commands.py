"""What a user types to make, load and verify archives, and what comes back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click
import pytest

from runner.archives.writing import write_archive
from runner.cli.archives import Size
from runner.cli.program import program
from runner.core.errors import StudyError
from tests.fakes.archives import contents, image

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "found"),
    [
        *(("2GB", 2_000_000_000), ("700MiB", 734_003_200), ("1024", 1024), ("64 GiB", 68_719_476_736)),
        *(("5kb", 5000), ("1TB", 10**12), ("1B", 1)),
    ],
)
def test_a_size_is_read_as_people_write_it(text: str, found: int) -> None:
    """Powers of ten and of two have their own units."""
    assert Size().convert(text, None, None) == found


@pytest.mark.parametrize("text", ["", "GB", "-1", "1.5GB", "2 parsecs", "1e9", "9" * 16, "\u0661MB"])
def test_what_is_no_size_is_refused(text: str) -> None:
    """With two that are."""
    with pytest.raises(click.BadParameter, match="is no size; 2GB and 700MiB are"):
        Size().convert(text, None, None)


def run(*arguments: str) -> int:
    with pytest.raises((SystemExit, click.exceptions.Exit)) as ended:
        program.main(list(arguments), standalone_mode=False)
    code = getattr(ended.value, "code", None)
    return int(code if code is not None else getattr(ended.value, "exit_code", 0))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with an archive of one image and a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PAIRBENCH_CACHE", str(tmp_path / "cache"))
    write_archive(contents({}, [image("trial", b"layer")]), tmp_path / "a.pairbench", cache=tmp_path / "c")
    return tmp_path


def test_an_archive_is_verified_like_a_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is whole, and says under which name it is cited, and which images it holds."""
    assert run("verify", "a.pairbench") == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("a.pairbench is whole: sha256:")
    assert second == f"image trial {image('trial', b'layer').pin.config_digest}"


def test_what_a_verification_found_is_to_be_had_as_json(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One document on standard output."""
    assert run("verify", "a.pairbench", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["archive"], found["holds"], found["runs"]) == ("a.pairbench", True, [])
    assert [(one["name"], one["role"]) for one in found["images"]] == [("trial", "pod")]


def test_parts_are_too_small_to_be_meant(here: Path) -> None:
    """A slip of the unit would fill a folder."""
    with pytest.raises(click.UsageError, match="--split is 1000000 bytes or more"):
        program.main(["images", "archive", "--split", "2"], standalone_mode=False)


@pytest.mark.parametrize("names", [("gateway", "a.pairbench"), ("a.pairbench", "a.pairbench")])
def test_an_archive_is_pushed_alone(here: Path, names: tuple[str, ...]) -> None:
    """Names and an archive don't mix: which images of which would be sent?"""
    with pytest.raises(click.UsageError, match=r"an archive is sent alone: a\.pairbench is a file"):
        program.main(["images", "push", *names, "--to", "localhost:5000/team"], standalone_mode=False)


@pytest.mark.parametrize("name", ["/dev/null", "absent/a.pairbench", "./cache", "/"])
def test_what_is_no_archive_is_not_pushed(here: Path, name: str) -> None:
    """A path is no image's name."""
    with pytest.raises(StudyError, match=f"^{name}: .*archive"):
        program.main(["images", "push", name, "--to", "localhost:5000/team"], standalone_mode=False)
