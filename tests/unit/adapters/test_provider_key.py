"""The provider's key comes from a file or a descriptor, and from nowhere else; what holds it shows nothing of it."""

from __future__ import annotations

import os
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
    """The error names the file, not what is in it."""
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(EnvironmentNotReady) as caught:
        provider_key({"PAIRBENCH_PROVIDER_KEY_FILE": str(path)})
    assert str(path) in str(caught.value.diagnostics())
    assert "kkkk" not in str(caught.value.diagnostics())


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
