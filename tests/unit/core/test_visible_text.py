"""What is shown to a person can't act on what shows it, and nothing hides in it."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from runner.core.errors import PairbenchError
from runner.core.visible import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, naïve 漢字", "plain text, naïve 漢字"),
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("\x9b2Jgone", "\\x9b2Jgone"),
        ("one\ntwo\ttab", "one\\ntwo\\ttab"),
        ("\u202eright to left", "\\u202eright to left"),
        ("\u2066isolated\u2069", "\\u2066isolated\\u2069"),
        ("pay\u200bpal\ufeff\u00ad", "pay\\u200bpal\\ufeff\\xad"),
        ("\u3164\u2800", "\\u3164\\u2800"),
        ("a\U000e0041\U000e01ef", "a\\U000e0041\\U000e01ef"),
        ("\udc80", "\\udc80"),
        ("5\u202f%\u00a0of", "5\u202f%\u00a0of"),
    ],
)
def test_what_acts_or_hides_is_spelled_out(text: str, shown: str) -> None:
    """Letters of any script stay; whatever moves a cursor, colours, turns the writing or has no ink is spelled."""
    assert visible(text) == shown


def test_accents_stay_and_towers_of_them_do_not() -> None:
    """The fourth mark on one letter is spelled, and all that follow it."""
    assert visible("e\u0301\u0323") == "e\u0301\u0323"
    assert visible("e" + 5 * "\u0301" + "x\u0301") == "e" + 3 * "\u0301" + 2 * "\\u0301" + "x\u0301"


def test_no_control_and_no_format_character_of_unicode_is_left() -> None:
    """Whatever the Python at hand knows of."""
    unsafe = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    characters = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in unsafe]
    assert [char for char in characters if char in visible(char)] == []


def test_a_problem_is_one_line_whatever_it_names() -> None:
    """A key with a line end can't forge a second message."""
    error = PairbenchError("unknown key", document="study.toml", key="a\npairbench: all is well", hint="\x1b[0m")
    assert error.diagnostics() == "study.toml: a\\npairbench: all is well: unknown key (\\x1b[0m)"
