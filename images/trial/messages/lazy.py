"""How are the SDKs imported in less time? Their packages' initializers import all that they have; here they wait.

`anthropic` alone has two thousand modules of types, of which a conversation needs a few. A package below one of the
named roots is put in place without running its initializer: what that would import by name is imported when the name is
first asked for. Modules themselves are the SDK's own, unchanged. A test holds both ways against each other.
"""

from __future__ import annotations

import importlib.machinery
import re
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

# `from .module import (A, B as C)`, at the beginning of a line, as the initializers of these SDKs are written.
_IMPORT = re.compile(r"^from (\.*[\w.]*) import (?:\(([^)]*)\)|([^(\n]+))", re.MULTILINE)
_NAME = re.compile(r"(\w+)(?:\s+as\s+(\w+))?")
_COMMENT = re.compile(r"#[^\n]*")


def make_lazy(*roots: str) -> None:
    """Packages of the named roots don't run their initializers from now on; call it before any of them is imported."""
    sys.meta_path.insert(0, _Finder(frozenset(roots)))  # type: ignore[arg-type]


# Neither class derives from `importlib.abc`, whose own imports cost a tenth of what is saved here.
class _Finder:
    def __init__(self, roots: frozenset[str]) -> None:
        self._roots = roots

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] not in self._roots:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.submodule_search_locations is not None and spec.origin is not None:
            spec.loader = _Loader(spec.origin)  # type: ignore[assignment]
        return spec


class _Loader:
    def __init__(self, source: str) -> None:
        self._source = source

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """The usual module."""

    def exec_module(self, module: ModuleType) -> None:
        module.__getattr__ = _attributes(module, self._source)  # type: ignore[method-assign]


def _attributes(package: ModuleType, source: str) -> Callable[[str], Any]:
    """What stands in for the package's initializer: finds a name where the initializer would have imported it from."""
    places: dict[str, tuple[str, str]] | None = None

    def find(name: str) -> Any:
        nonlocal places
        if places is None:
            places = _places(source)
        if name not in places:
            raise AttributeError(f"module {package.__name__!r} has no attribute {name!r}")
        module, original = places[name]
        if module.strip("."):
            value = getattr(import_module(module, package.__name__), original)
        else:
            value = import_module(f"{module}{original}", package.__name__)
        setattr(package, name, value)
        return value

    return find


def _places(source: str) -> dict[str, tuple[str, str]]:
    with open(source, encoding="utf-8") as file:
        text = _COMMENT.sub("", file.read())
    return {
        alias or name: (module, name)
        for module, many, one in _IMPORT.findall(text)
        for name, alias in _NAME.findall(many or one)
    }
