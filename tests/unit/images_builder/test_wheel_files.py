"""A wheel's files go where an installer would put them, and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from runner.core.errors import EvidenceError
from runner.images.tree import FileEntry
from runner.images.wheel import wheel_member, wheel_tree
from tests.fakes.image_tools import wheel

if TYPE_CHECKING:
    from pathlib import Path

SITE = "/usr/local/lib/python3.11/dist-packages"


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    path = tmp_path / "alpha-1.0-py3-none-any.whl"
    path.write_bytes(
        wheel(
            {
                "alpha/__init__.py": b"A = 1\n",
                "alpha/tests/test_a.py": b"T = 1\n",
                "alpha-1.0.data/purelib/pure.py": b"P = 1\n",
                "alpha-1.0.data/data/share/alpha.txt": b"text",
                "alpha-1.0.data/scripts/alpha": b"#!python\n",
                "alpha-1.0.dist-info/METADATA": b"Name: alpha\n",
            }
        )
    )
    return path


def test_files_are_placed(packed: Path) -> None:
    """Code and metadata go to the site folder, data below /usr/local, scripts nowhere, and what is dropped nowhere."""
    tree = wheel_tree(packed, SITE, ["*/tests/*"])
    assert {path: entry.data() for path, entry in tree.entries.items() if isinstance(entry, FileEntry)} == {
        f"{SITE}/alpha/__init__.py": b"A = 1\n",
        f"{SITE}/pure.py": b"P = 1\n",
        "/usr/local/share/alpha.txt": b"text",
        f"{SITE}/alpha-1.0.dist-info/METADATA": b"Name: alpha\n",
    }


def test_one_file_of_a_wheel_is_taken(packed: Path) -> None:
    """A single member comes with the mode that was asked for."""
    entry = wheel_member(packed, "alpha/__init__.py", 0o755)
    assert (entry.data(), entry.mode) == (b"A = 1\n", 0o755)


def test_a_missing_member_is_named(packed: Path) -> None:
    """Asking for a file that the wheel hasn't got says which."""
    with pytest.raises(EvidenceError, match=r"alpha-1\.0-py3-none-any\.whl: holds no alpha/model"):
        wheel_member(packed, "alpha/model", 0o644)


def test_a_path_out_of_the_wheel_is_refused(tmp_path: Path) -> None:
    """A member that would climb out of the site folder ends the build."""
    path = tmp_path / "evil.whl"
    path.write_bytes(wheel({"../../etc/passwd": b"evil"}))
    with pytest.raises(EvidenceError, match="no path of a file system"):
        wheel_tree(path, SITE)


def test_a_damaged_wheel_is_refused(packed: Path) -> None:
    """A wheel that isn't a zip archive any more is an error."""
    packed.write_bytes(packed.read_bytes()[:-30])
    with pytest.raises(EvidenceError, match="not a wheel"):
        wheel_tree(packed, SITE)
