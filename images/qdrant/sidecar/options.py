"""Reads a command line of `--name value` pairs; `argparse` would cost every start ten times what this does."""

from __future__ import annotations

from sidecar.refusal import FatalError


class Option:
    """One option of a command."""

    __slots__ = ("default", "meaning", "name")

    def __init__(self, name: str, meaning: str, default: str | None = None) -> None:
        """Hold an option; without `default` it is required."""
        self.name = name
        self.meaning = meaning
        self.default = default


def usage(command: str, options: list[Option]) -> str:
    """Return what the command takes, one option a line."""
    lines = [f"usage: main.py {command} [--option value ...]"]
    for option in options:
        note = "required" if option.default is None else f"default: {option.default or 'none'}"
        lines.append(f"  --{option.name:<14} {option.meaning} ({note})")
    return "\n".join(lines)


def read_options(command: str, options: list[Option], arguments: list[str]) -> dict[str, str]:
    """Return the value of every option.

    Raises:
        FatalError: naming what is unknown, given twice, without value or missing.
    """
    known = {option.name: option for option in options}
    given: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or name not in known:
            raise FatalError(f"{command}: unknown argument {word!r}\n{usage(command, options)}")
        if name in given:
            raise FatalError(f"{command}: --{name} is given twice")
        if not equals and not rest:
            raise FatalError(f"{command}: --{name} needs a value")
        given[name] = value if equals else rest.pop(0)
    for option in options:
        if option.name not in given:
            if option.default is None:
                raise FatalError(f"{command}: --{option.name} is missing\n{usage(command, options)}")
            given[option.name] = option.default
    return given


def whole(command: str, name: str, text: str, least: int, most: int) -> int:
    """Return the whole number that an option has.

    Raises:
        FatalError: when it has none, or one out of range.
    """
    if not (text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) <= most):
        raise FatalError(f"{command}: --{name} must be a whole number from {least} to {most}, not {text[:40]!r}")
    return int(text)
