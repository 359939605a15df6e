"""What git may hold: small text of the project, and nothing of the machine that it was written on."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIMIT_BYTES = 1_000_000
BINARY_NAMES = re.compile(r"\.(onnx|whl|tar|gz|zst|zip|deb|so|pyc|npy|pt|safetensors|png|jpe?g|pdf)$")
MACHINE_PATHS = re.compile(
    rb"(?<![\w.-])/(?:root|home/(?!agent\b)[a-z][\w-]*|Users/[\w-]+)/|" + re.escape(bytes(ROOT)) + rb"\b"
)
# Hosts below the reserved name `example` stand for any.
PACKAGE_HOSTS = re.compile(
    rb"https?://(?![^\s/:]*\.example[/:\s])[^\s/\"'<>]*(?:artifactory|artifactregistry|nexus|mirror|pkg\.dev|devpi|proxy)[^\s\"'<>]*"
    rb"|--(?:(?:extra-)?index-url|find-links|trusted-host)[= ][^\s(|)]"
)


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return [ROOT / name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()]


def violations(pattern: re.Pattern[bytes]) -> list[str]:
    return [
        f"{file.relative_to(ROOT)}: {match.group().decode(errors='replace')}"
        for file in tracked()
        for match in pattern.finditer(file.read_bytes())
    ]


def test_no_tracked_file_is_large() -> None:
    """Models, wheels and images are named by digest and fetched; they don't belong into history."""
    assert [str(file) for file in tracked() if file.stat().st_size >= LIMIT_BYTES] == []


def test_no_tracked_file_is_an_archive_or_a_model() -> None:
    """A binary can't be reviewed."""
    assert [str(file) for file in tracked() if BINARY_NAMES.search(file.name)] == []


def test_no_path_of_one_machine_is_tracked() -> None:
    """A path of someone's home works nowhere else and says where it was written."""
    assert violations(MACHINE_PATHS) == []


def test_no_package_host_is_tracked() -> None:
    """Requirements are pinned by hash; where they come from is the machine's configuration."""
    assert violations(PACKAGE_HOSTS) == []


@pytest.mark.parametrize(
    "text",
    [b"see /ro" + b"ot/x/y", b"'/ho" + b"me/me/x'", b"--index" + b"-url x", b"https://mirr" + b"or.example.org/simple"],
)
def test_the_patterns_find_what_they_are_for(text: bytes) -> None:
    """A pattern that matches nothing would keep these tests green for ever."""
    assert MACHINE_PATHS.search(text) or PACKAGE_HOSTS.search(text)


def test_the_agents_home_is_no_path_of_a_machine() -> None:
    """HOME inside a trial container is part of the contract."""
    assert MACHINE_PATHS.search(b"HOME=/home/agent/") is None


def test_every_shell_script_stops_at_an_error() -> None:
    """A step that failed in silence would be measured."""
    scripts = [file for file in tracked() if file.suffix == ".sh" or file.name == "run"]
    lax = [
        str(file.relative_to(ROOT))
        for file in scripts
        if file.read_bytes().startswith(b"#!") and b"\nset -euo pipefail\n" not in file.read_bytes()
    ]
    assert lax == []
    assert len(scripts) > 5
