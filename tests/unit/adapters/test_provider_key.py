"""The provider's key comes from a file or a descriptor, and from nowhere else; what holds it shows nothing of it."""

from __future__ import annotations

import os
import traceback
from typing import TYPE_CHECKING

import pytest

from runner.adapters.provider_key import provider_key
from runner.core.errors import EnvironmentNotReady

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_holds_it(tmp_path: Path) -> None:
    """White space around it is none of it."""
    (tmp_path / "key").write_text("  sk-a-key\n")
    assert provider_key({"PAIRBENCH_PROVIDER_KEY_FILE": str(tmp_path / "key")}).text == "sk-a-key"


def test_a_descriptor_holds_it_once() -> None:
    """It is read and closed, before any file is looked at."""
    ours, theirs = os.pipe()
    os.write(theirs, b"sk-piped\n")
    os.close(theirs)
    environment = {"PAIRBENCH_PROVIDER_KEY_FD": str(ours), "PAIRBENCH_PROVIDER_KEY_FILE": "/nowhere"}
    assert provider_key(environment).text == "sk-piped"
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(ours)


def test_it_shows_in_no_text(tmp_path: Path) -> None:
    """Neither printed nor in a representation."""
    (tmp_path / "key").write_text("sk-a-key")
    key = provider_key({"PAIRBENCH_PROVIDER_KEY_FILE": str(tmp_path / "key")})
    assert "sk-a-key" not in f"{key} {key!r} {[key]}"


@pytest.mark.parametrize("data", [b"", b" \n", b"two\nlines", b"\xff\xfe", b"k" * 20_000])
def test_what_can_be_no_key_is_refused_without_being_shown(tmp_path: Path, data: bytes) -> None:
    """The error names the variable that led to it, not what is in the file."""
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(EnvironmentNotReady) as caught:
        provider_key({"PAIRBENCH_PROVIDER_KEY_FILE": str(path)})
    assert caught.value.diagnostics() == (
        "environment: PAIRBENCH_PROVIDER_KEY_FILE: must lead to one line of printable ASCII, the key: what it leads to "
        "is none (the key alone, without a name before it or quotes around it)"
    )


FILE, DESCRIPTOR = "PAIRBENCH_PROVIDER_KEY_FILE", "PAIRBENCH_PROVIDER_KEY_FD"


@pytest.mark.parametrize(
    ("variable", "value", "why"),
    [
        (FILE, "sk-secret", "No such file or directory"),
        (FILE, "sk-sec\0ret", "what it holds is none"),
        (FILE, "sk-secret" * 1000, "File name too long"),
        (DESCRIPTOR, "sk-secret", "what it holds is none"),
        (DESCRIPTOR, "", "what it holds is none"),
        (DESCRIPTOR, "-1", "what it holds is none"),
        (DESCRIPTOR, "98765", "Bad file descriptor"),
        (DESCRIPTOR, "9" * 30, "what it holds is none"),
        (DESCRIPTOR, "9" * 5000, "what it holds is none"),
    ],
)
def test_a_key_in_the_wrong_place_is_not_printed(variable: str, value: str, why: str) -> None:
    """The error says which variable it is and what that must hold; no traceback has the value either."""
    with pytest.raises(EnvironmentNotReady) as caught:
        provider_key({variable: value})
    must = "the path of a file that can be read" if variable == FILE else "the number of an open file descriptor"
    problem = caught.value.problems[0]
    assert (problem.document, problem.key) == ("environment", variable)
    assert problem.message == f"must hold {must}: {why}"
    assert problem.hint
    told = "".join(traceback.format_exception(caught.value))
    assert not value or value not in told


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    """It can be opened, not read."""
    with pytest.raises(EnvironmentNotReady, match="must hold the path of a file that can be read: Is a directory"):
        provider_key({FILE: str(tmp_path)})


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"ANTHROPIC_API_KEY": "sk-variable", "OPENAI_API_KEY": "sk-variable"},
        {"PAIRBENCH_PROVIDER_KEY_FILE": "/nowhere/key"},
        {"PAIRBENCH_PROVIDER_KEY_FD": "none"},
        {"PAIRBENCH_PROVIDER_KEY_FD": "987654"},
    ],
    ids=["nothing", "a variable with a key", "no such file", "no number", "no such descriptor"],
)
def test_nothing_else_is_a_source(environment: dict[str, str]) -> None:
    """A key in a variable is not taken."""
    with pytest.raises(EnvironmentNotReady):
        provider_key(environment)
