"""What runs where a source runs: followed by what sources import, and never by what they import for types alone."""

from __future__ import annotations

import ast

from runner.adapters.harness import package_sources
from runner.adjudicate.closure import closure

SOURCES = {
    "p/__init__.py": b"",
    "p/a.py": b"from p.b import thing\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.types import T\n",
    "p/b.py": b"import p.sub.c\n",
    "p/types.py": b"",
    "p/sub/__init__.py": b"from p import d\n",
    "p/sub/c.py": b"def f():\n    import p.late\n",
    "p/d.py": b"import os\nif TYPE_CHECKING:\n    import p.types\nelse:\n    import p.other\n",
    "p/late.py": b"import p.a\n",
    "p/other.py": b"this is no Python\n",
    "p/unasked.py": b"",
    "p/page.html": b"<p>",
}


def test_everything_that_runs_is_found() -> None:
    """Directly, through packages, in functions, in circles, and in the other branch; a page is a root like any other."""
    assert closure(["p/a.py", "p/page.html", "p/gone.py"], SOURCES) == {
        *("p/__init__.py", "p/a.py", "p/b.py", "p/sub/__init__.py", "p/sub/c.py", "p/d.py", "p/late.py"),
        *("p/other.py", "p/page.html"),
    }


def test_no_source_of_the_program_imports_by_a_relative_name() -> None:
    """Such a name would not be followed."""
    relative = [
        path
        for path, source in package_sources().items()
        if path.endswith(".py")
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert relative == []
