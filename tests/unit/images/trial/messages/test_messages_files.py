"""The agent loop's tools: what they show of the workspace, and that they show nothing else."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from messages.files import FileTools

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with three texts, a file that is none, and links that lead out of it."""
    root = tmp_path / "workspace"
    (root / "pkg" / "deep").mkdir(parents=True)
    (root / "a.md").write_text("# Limits\nThe limit is 8 KB.\n")
    (root / "pkg" / "m.py").write_text("LIMIT = 8\n\n\ndef limit():\n    return LIMIT\n")
    (root / "pkg" / "deep" / "n.py").write_text("limit = 9")
    (root / "pkg" / "blob.bin").write_bytes(b"limit\0limit\n")
    (tmp_path / "secret.txt").write_text("limit secret\n")
    (tmp_path / "workspace-2").mkdir()
    (tmp_path / "workspace-2" / "b.txt").write_text("limit secret\n")
    (root / "out").symlink_to(tmp_path / "secret.txt")
    (root / "up").symlink_to(tmp_path)
    (root / "within").symlink_to(root / "a.md")
    os.mkfifo(root / "pipe")
    return root


def answer(root: Path, name: str, **arguments: Any) -> tuple[str, bool]:
    """What a call gives, and whether it failed."""
    found = FileTools(str(root)).call(name, arguments)
    return found.text, found.failed


def test_a_file_is_read_with_numbered_lines(root: Path) -> None:
    """From any line, relative or absolute, through links that stay inside."""
    assert answer(root, "read_file", path="a.md") == ("     1\t# Limits\n     2\tThe limit is 8 KB.", False)
    assert answer(root, "read_file", path=f"{root}/a.md", offset=2) == ("     2\tThe limit is 8 KB.", False)
    assert answer(root, "read_file", path="pkg/m.py", offset=4, limit=1) == ("     4\tdef limit():", False)
    assert answer(root, "read_file", path="within", limit=1) == ("     1\t# Limits", False)


@pytest.mark.parametrize(
    "path",
    ["out", "up/secret.txt", "../secret.txt", "/etc/passwd", "pkg/../../secret.txt", "../workspace-2/b.txt", "up"],
)
@pytest.mark.parametrize(("tool", "more"), [("read_file", {}), ("grep", {"pattern": "limit"})])
def test_nothing_outside_the_workspace_is_opened(root: Path, tool: str, more: dict[str, str], path: str) -> None:
    """Whatever path or link leads there, and also where a name only begins like the workspace's."""
    assert answer(root, tool, path=path, **more) == (f"{tool}: path: {path} is outside the workspace", True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "path: expected a string"),
        ({"path": 3}, "path: expected a string"),
        ({"path": "nothing"}, "path: there is no nothing"),
        ({"path": "pkg"}, "path: pkg is not a file"),
        ({"path": "pipe"}, "path: pipe is not a file"),
        ({"path": "pkg/blob.bin"}, "path: pkg/blob.bin is not a text file"),
        ({"path": "a\0b"}, "path: holds a NUL character"),
        ({"path": "\ud800"}, "path: is not Unicode text"),
        ({"path": "a.md", "offset": 3}, "offset: the file has 2 lines"),
        ({"path": "a.md", "offset": 0}, "offset: expected a whole number from 1"),
        ({"path": "a.md", "limit": True}, "limit: expected a whole number from 1"),
        ({"path": "a.md", "lines": 1}, "unknown arguments ['lines']; known are ['limit', 'offset', 'path']"),
    ],
)
def test_a_wrong_call_of_read_file_is_told_how_to_do_better(
    root: Path, arguments: dict[str, Any], message: str
) -> None:
    """The model can go on."""
    assert answer(root, "read_file", **arguments) == (f"read_file: {message}", True)


def test_lines_are_found_in_texts_in_the_order_of_their_names(root: Path) -> None:
    """No binary file, no link, no pipe; hits as path, line and text."""
    assert answer(root, "grep", pattern="limit") == (
        "a.md:2:The limit is 8 KB.\npkg/m.py:4:def limit():\npkg/deep/n.py:1:limit = 9",
        False,
    )


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            {"ignore_case": True, "path": "pkg/m.py"},
            "pkg/m.py:1:LIMIT = 8\npkg/m.py:4:def limit():\npkg/m.py:5:    return LIMIT",
        ),
        ({"glob": "*.md"}, "a.md:2:The limit is 8 KB."),
        ({"glob": "pkg/*.py"}, "pkg/m.py:4:def limit():"),
        ({"glob": "pkg/**/*.py"}, "pkg/m.py:4:def limit():\npkg/deep/n.py:1:limit = 9"),
        ({"limit": 1}, "a.md:2:The limit is 8 KB."),
        ({"path": "pkg/deep"}, "pkg/deep/n.py:1:limit = 9"),
        ({"glob": "*.rs"}, "No matches."),
    ],
)
def test_a_search_can_be_narrowed(root: Path, arguments: dict[str, Any], text: str) -> None:
    """By case, file, folder, glob and number."""
    assert answer(root, "grep", pattern="limit", **arguments) == (text, False)


def test_a_pattern_that_is_none_is_told(root: Path) -> None:
    """With what is wrong about it."""
    text, failed = answer(root, "grep", pattern="(")
    assert (text.startswith("grep: pattern: missing )"), failed) == (True, True)


def test_a_pattern_without_end_is_ended(root: Path) -> None:
    """Backtracking can't hold up the client."""
    (root / "a.md").write_text("a" * 1000 + "\n")
    found = FileTools(str(root), search_seconds=0.2).call("grep", {"pattern": "(a+)+$b"})
    assert found == ("grep: the search took longer than 0.2 s; try a simpler pattern", True)


def test_files_are_listed_by_a_glob(root: Path) -> None:
    """Links and pipes aren't files."""
    assert answer(root, "glob", pattern="**/*.py") == ("pkg/m.py\npkg/deep/n.py", False)
    assert answer(root, "glob", pattern="*") == ("a.md\npkg/blob.bin\npkg/m.py\npkg/deep/n.py", False)
    assert answer(root, "glob", pattern="[") == ("No files.", False)


def test_a_long_answer_is_cut(root: Path) -> None:
    """A model isn't drowned, and neither is a pipe."""
    (root / "long.txt").write_text(("x" * 1999 + "\n") * 200)
    text, failed = answer(root, "read_file", path="long.txt")
    assert (len(text), text.endswith("\n[cut]"), failed) == (200_006, True, False)


def test_a_tool_that_isn_t_there_is_told(root: Path) -> None:
    """By name."""
    assert answer(root, "write_file", path="a.md") == ("There is no tool 'write_file'.", True)
