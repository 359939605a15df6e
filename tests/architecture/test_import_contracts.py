"""What may import what: the map of the packages, enforced."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINTER = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"


def test_every_contract_is_kept() -> None:
    """Stages don't know one another, adapters are known to one file, what is pure can't reach the outside."""
    done = subprocess.run([sys.executable, "-c", LINTER], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_programs_inside_containers_import_nothing_of_the_runner() -> None:
    """What runs in a pod learns what it must know from the data in /in, never from the host's code."""
    importing = [
        str(file.relative_to(ROOT))
        for file in sorted((ROOT / "images").rglob("*.py"))
        if any(name.split(".")[0] == "runner" for name in imported(file))
    ]
    assert importing == []


def test_no_import_hides_in_a_function() -> None:
    """An import inside a function survives a cycle instead of removing it; costly foreign packages may be put off."""
    hidden = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file in sorted((ROOT / "runner").rglob("*.py"))
        for function in ast.walk(ast.parse(file.read_bytes()))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom) and any(name.startswith("runner") for name in names_of(node))
    ]
    assert hidden == []


def imported(file: Path) -> list[str]:
    return [
        name
        for node in ast.walk(ast.parse(file.read_bytes()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in names_of(node)
    ]


def names_of(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return [alias.name for alias in node.names]
