"""Every error of the one tree has an exit code, and nothing raises outside it on purpose."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

from runner.core.errors import ExitCode, PairbenchError

ROOT = Path(__file__).resolve().parents[2]


def every_error() -> list[type[PairbenchError]]:
    """Each class of the tree, after importing every module that defines an exception."""
    for file in sorted((ROOT / "runner").rglob("*.py")):
        if defines_an_exception(file):
            importlib.import_module(".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    found: list[type[PairbenchError]] = [PairbenchError]
    for error in found:
        found.extend(error.__subclasses__())
    return found


def defines_an_exception(file: Path) -> bool:
    return any(
        isinstance(node, ast.ClassDef) and any(ast.unparse(base).endswith(("Error", "NotReady")) for base in node.bases)
        for node in ast.walk(ast.parse(file.read_bytes()))
    )


def test_every_error_has_an_exit_code() -> None:
    """Whoever calls the program can tell what kind of thing went wrong."""
    wrong = [error.__name__ for error in every_error() if type(error.exit_code) is not ExitCode]
    assert wrong == []


def test_no_error_ends_as_success() -> None:
    """Exit code 0 says that everything was done."""
    assert [error.__name__ for error in every_error() if error.exit_code is ExitCode.DONE] == []


def test_every_error_says_what_it_means() -> None:
    """The docstring of an error is what a person reads when the message isn't enough."""
    assert [error.__name__ for error in every_error() if not error.__dict__.get("__doc__")] == []


def test_the_exit_codes_are_a_contract() -> None:
    """Scripts depend on these numbers."""
    assert {code.name: code.value for code in ExitCode} == {
        "DONE": 0,
        "FINDING": 1,
        "USAGE": 2,
        "NOT_READY": 3,
        "DOES_NOT_VERIFY": 4,
    }
