"""Which sources of a program run, where some of them do? Those that these import when they run, and so on.

What is imported for type checkers alone doesn't run, and isn't followed.
"""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_SUFFIX: Final = ".py"
_PACKAGE: Final = "/__init__.py"


def closure(roots: Iterable[str], sources: Mapping[str, bytes]) -> frozenset[str]:
    """The paths of `roots` and of every source that they import, directly or not, packages on the way included."""
    paths = {_module(path): path for path in sources if path.endswith(_SUFFIX)}
    waiting, found = [root for root in roots if root in sources], set[str]()
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        if path.endswith(_SUFFIX):
            names = {name for imported in _imports(sources[path]) for name in _with_packages(imported)}
            waiting += [paths[name] for name in names if name in paths]
    return frozenset(found)


def _module(path: str) -> str:
    stem = path.removesuffix(_PACKAGE) if path.endswith(_PACKAGE) else path.removesuffix(_SUFFIX)
    return stem.replace("/", ".")


def _with_packages(name: str) -> Iterator[str]:
    """`name` and every package that is imported on the way to it."""
    while name:
        yield name
        name = name.rpartition(".")[0]


# A program has some hundred sources, and asks for them again after every arm of a run.
@lru_cache(maxsize=2048)
def _imports(source: bytes) -> frozenset[str]:
    """Every module that `source` imports when it runs, and everything that it takes from one, by absolute names.

    A source that can't be read imports nothing: it can't run either.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return frozenset()
    found = _Imports()
    found.visit(tree)
    return frozenset(found.names)


class _Imports(ast.NodeVisitor):
    """The names that a tree imports."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def visit_If(self, node: ast.If) -> None:
        """What stands below `if TYPE_CHECKING:` never runs."""
        is_for_types = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for child in node.orelse if is_for_types else (*node.body, *node.orelse):
            self.visit(child)

    def visit_Import(self, node: ast.Import) -> None:
        """`import a.b`."""
        self.names |= {alias.name for alias in node.names}

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """`from a import b`: `b` may be a module too. No source of the program imports by a relative name."""
        if node.module:
            self.names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
