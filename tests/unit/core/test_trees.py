"""Which files make up a workspace."""

from __future__ import annotations

import pytest

from runner.core.trees import placed, selected, tree_problems

PATHS = ("a.py", "pkg/a.py", "pkg/sub/a.py", "pkg/a.pyc", "x-1.0.dist-info/RECORD", "Pkg/b.py")


@pytest.mark.parametrize(
    ("include", "exclude", "expected"),
    [
        (["**"], [], PATHS),
        (["*.py"], [], ("a.py",)),
        (["**/*.py"], [], ("a.py", "pkg/a.py", "pkg/sub/a.py", "Pkg/b.py")),
        (["pkg/**"], [], ("pkg/a.py", "pkg/sub/a.py", "pkg/a.pyc")),
        (["pkg/*.py"], [], ("pkg/a.py",)),
        (["**/a.p?"], [], ("a.py", "pkg/a.py", "pkg/sub/a.py")),
        (["**"], ["*.dist-info/*", "**/*.pyc", "Pkg/**"], ("a.py", "pkg/a.py", "pkg/sub/a.py")),
        (["[ab].py", "x-1.0.*"], [], ()),
        ([], [], ()),
    ],
)
def test_globs_choose_files(include: list[str], exclude: list[str], expected: tuple[str, ...]) -> None:
    """Stars stay within a folder, double stars don't, and nothing else is special."""
    assert selected(PATHS, include, exclude) == expected


@pytest.mark.parametrize(("into", "expected"), [(".", "a/b"), ("notes", "notes/a/b"), ("notes/", "notes/a/b")])
def test_a_part_is_placed_below_its_folder(into: str, expected: str) -> None:
    """A dot is the workspace itself."""
    assert placed(into, "a/b") == expected


def test_an_ordinary_tree_has_no_problems() -> None:
    """Names may begin alike."""
    assert tree_problems(["a", "a.py", "b/c", "b/d/e", "b.c"], "corpus.toml") == ()


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["/etc/passwd"], "c: /etc/passwd: a path is absolute"),
        (["a/../b"], "c: a/../b: a path has an empty part, . or .."),
        (["./a"], "c: ./a: a path has an empty part, . or .."),
        (["a//b"], "c: a//b: a path has an empty part, . or .."),
        (["a\\b"], "c: a\\b: a path holds a control character or a backslash"),
        (["a\nb"], "c: a\\nb: a path holds a control character or a backslash"),
        (["\udc80"], "c: \\udc80: a path isn't UTF-8"),
        (["a", "a"], "c: a: two parts give this file (leave one of them out with exclude)"),
        (["a", "A"], "c: A: differs from a in case only (leave one of them out with exclude)"),
        (["a", "a/b"], "c: a: is a file, and the folder of a/b (leave one of them out with exclude)"),
        ([], "c: parts: the corpus has no files (look at include and exclude)"),
    ],
)
def test_a_tree_that_cannot_be_laid_down_alike_everywhere_is_refused(paths: list[str], expected: str) -> None:
    """Paths must mean the same file on every system, and none outside of the workspace."""
    assert [str(problem) for problem in tree_problems(paths, "c")] == [expected]


def test_all_problems_are_named_at_once() -> None:
    """One look at the message is enough."""
    assert [problem.key for problem in tree_problems(["/a", "b", "../c", "b"], "c")] == ["/a", "../c", "b"]
