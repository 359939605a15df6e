"""The reference of the commands is the program's own help, and the program has help for everything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runner.cli.program import program

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]


def every_command(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from every_command(below, f"{path} {name}")


def test_the_pages_are_fresh() -> None:
    """docs/reference/cli.md and the README's table say what `--help` says today."""
    done = subprocess.run(
        [sys.executable, "scripts/cli_reference.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_every_command_and_option_has_help() -> None:
    """Nothing can be typed that nobody explains."""
    mute = [
        f"{path} {name}".strip()
        for path, command in every_command(program, "pairbench")
        for name, text in [
            ("", command.help),
            *((option.name or "", option.help) for option in command.params if isinstance(option, click.Option)),
        ]
        if not text
    ]
    assert mute == []


def test_every_command_that_prints_a_table_takes_json() -> None:
    """What a person reads as a table, a program reads as JSON."""
    takes_json = {
        path
        for path, command in every_command(program, "pairbench")
        if any("--json" in option.opts for option in command.params)
    }
    assert {"pairbench doctor", "pairbench images list", "pairbench plan", "pairbench status"} <= takes_json
