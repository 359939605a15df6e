"""How is text that somebody else wrote shown, so that it can neither act on what shows it nor hide in it?

A study, a model, a client or a damaged file may have written it. It is shown on terminals and on pages alike.
"""

from __future__ import annotations

import itertools
import unicodedata
from typing import Final

_SPACES: Final = frozenset({"\N{NO-BREAK SPACE}", "\N{NARROW NO-BREAK SPACE}"})
_MOST_MARKS: Final = 3
"""More marks than this on one letter paint over the lines above and below it."""

# Letters and marks without ink, which Python calls printable: Default_Ignorable_Code_Point of Unicode's
# DerivedCoreProperties.txt beyond the category of formats, and the blank Braille pattern.
_UNSEEN: Final = frozenset(
    chr(code)
    for code in (
        0x034F,
        *range(0x115F, 0x1161),
        *range(0x17B4, 0x17B6),
        *range(0x180B, 0x1810),
        0x2800,
        0x3164,
        *range(0xFE00, 0xFE10),
        0xFFA0,
        *range(0xE0100, 0xE01F0),
    )
)


def visible(text: str) -> str:
    r"""`text` on one line, with all that acts or can't be seen spelled out: `\x1b`, `\n`, `\u202e`, `\u200b`.

    Letters of every script stay as they are, and so do no-break spaces.
    """
    return "".join(
        _spelled(char) if marks > _MOST_MARKS or not _is_seen(char) else char
        for char, marks in zip(text, _marks(text), strict=True)
    )


def _is_seen(char: str) -> bool:
    return char in _SPACES or (char.isprintable() and char not in _UNSEEN)


def _marks(text: str) -> itertools.accumulate[int]:
    """For each character, how many combining marks end with it."""
    are_marks = (unicodedata.category(char) in {"Mn", "Me"} for char in text)
    return itertools.accumulate(are_marks, lambda run, is_mark: run + 1 if is_mark else 0)


def _spelled(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
