"""Write docs/reference/cli.md and the README's table of commands from the program's own help.

With `--check` nothing is written: it ends 1 when one of them isn't up to date.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runner.cli.program import program
from runner.core.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "cli.md"
README = ROOT / "README.md"
BEGIN, END = "<!-- commands: made by `make docs` -->\n", "<!-- end of commands -->\n"
WIDTH = 100
HEAD = """# Commands

Made by `make docs` from the program's own help. Results go to standard output, talk and progress to standard error.

| exit code | meaning |
|---|---|
"""
MEANINGS = {
    ExitCode.DONE: "done",
    ExitCode.FINDING: "a finding: a gate or a trial failed",
    ExitCode.USAGE: "the command, the study or a file that it names is wrong",
    ExitCode.NOT_READY: "this machine lacks something; `pairbench doctor` says what",
    ExitCode.DOES_NOT_VERIFY: "evidence, or something computed from it, isn't what its digests say",
}


def page() -> str:
    """The whole page."""
    codes = "".join(f"| {code.value} | {MEANINGS[code]} |\n" for code in ExitCode)
    return HEAD + codes + "".join(section(context) for context in commands(root()))


def readme() -> str:
    """The README with the table of commands as the program has them now."""
    before, rest = README.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    rows = "".join(
        f"| `{context.command_path}` | {context.command.get_short_help_str(limit=WIDTH * 2)} |\n"
        for context in commands(root())
        if not isinstance(context.command, click.Group)
    )
    return f"{before}{BEGIN}\n| command | does |\n|---|---|\n{rows}\n{END}{after}"


def root() -> click.Context:
    """The program's own context, as wide on every terminal."""
    return below(program, None, "pairbench")


def below(command: click.Command, parent: click.Context | None, name: str) -> click.Context:
    """The context in which `command` prints its help, as the program itself makes it but for the width."""
    settings = {**command.context_settings, "terminal_width": WIDTH, "max_content_width": WIDTH}
    return click.Context(command, parent, info_name=name, **settings)


def commands(context: click.Context) -> Iterator[click.Context]:
    """The command of `context` and every one below it, in the order of their names."""
    yield context
    if isinstance(context.command, click.Group):
        for name, command in sorted(context.command.commands.items()):
            yield from commands(below(command, context, name))


def section(context: click.Context) -> str:
    """One command: its path as the title, its help as it prints it."""
    level = "#" * (2 + max(0, context.command_path.count(" ") - 1))
    return f"\n{level} `{context.command_path}`\n\n```text\n{context.get_help()}\n```\n"


def main(arguments: list[str]) -> int:
    """Both are written, or, with `--check`, compared: 1 when one differs."""
    stale = [file for file, text in ((PAGE, page()), (README, readme())) if not _is(file, text)]
    if arguments == ["--check"]:
        for file in stale:
            print(f"{file.relative_to(ROOT)} isn't what the program's help says: run `make docs`", file=sys.stderr)
        return int(bool(stale))
    for file, text in ((PAGE, page()), (README, readme())):
        file.write_text(text, encoding="utf-8")
    return 0


def _is(file: Path, text: str) -> bool:
    return file.is_file() and file.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
