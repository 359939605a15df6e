"""What is shown to a person can't act on their terminal."""

from __future__ import annotations

import pytest

from runner.core.errors import PairbenchError, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, naïve 漢字", "plain text, naïve 漢字"),
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("one\ntwo", "one\\ntwo"),
        ("\u202eright to left", "\\u202eright to left"),
        ("\udc80", "\\udc80"),
    ],
)
def test_control_characters_are_spelled_out(text: str, shown: str) -> None:
    """Letters of any script stay; whatever moves a cursor, colours, or turns the writing is spelled."""
    assert visible(text) == shown


def test_a_problem_is_one_line_whatever_it_names() -> None:
    """A key with a line end can't forge a second message."""
    error = PairbenchError("unknown key", document="study.toml", key="a\npairbench: all is well", hint="\x1b[0m")
    assert error.diagnostics() == "study.toml: a\\npairbench: all is well: unknown key (\\x1b[0m)"
