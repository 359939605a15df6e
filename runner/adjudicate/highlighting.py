"""Which parts of a text are numbers, negations and names? Marked in every text by the same rules, whoever wrote it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Kind: TypeAlias = Literal["", "number", "negation", "name"]

_WORD: Final = re.compile(r"\d+(?:[.,:/-]\d+)*%?|[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_NUMBER_WORDS: Final = {
    "zero": "0",
    "one": "1",
    "two": "2",
    "three": "3",
    "four": "4",
    "five": "5",
    "six": "6",
    "seven": "7",
    "eight": "8",
    "nine": "9",
    "ten": "10",
    "eleven": "11",
    "twelve": "12",
    "dozen": "12",
    "thirteen": "13",
    "fourteen": "14",
    "fifteen": "15",
    "sixteen": "16",
    "seventeen": "17",
    "eighteen": "18",
    "nineteen": "19",
    "twenty": "20",
    "thirty": "30",
    "forty": "40",
    "fifty": "50",
    "sixty": "60",
    "seventy": "70",
    "eighty": "80",
    "ninety": "90",
    "hundred": "100",
    "thousand": "1000",
    "half": "1/2",
    "once": "1 time",
    "twice": "2 times",
    "thrice": "3 times",
}
_NEGATIONS: Final = frozenset(
    {
        *("no", "not", "never", "none", "nobody", "nothing", "neither", "nor", "nowhere"),
        *("cannot", "without", "hardly", "rarely", "seldom"),
    }
)
_SHORT_NOT: Final = ("n't", "n\u2019t")
_SENTENCE_ENDS: Final = ".!?:"


@dataclass(frozen=True)
class Segment:
    """A part of a text; `key` is alike for parts that say the same: `9` and `nine`, `not` and `never`."""

    text: str
    kind: Kind = ""
    key: str = ""


def names_in(texts: Iterable[str]) -> frozenset[str]:
    """The words that are written with a capital within a sentence of one of `texts`, in lower case."""
    return frozenset(
        match[0].casefold() for text in texts for match in _WORD.finditer(text) if _is_capital_within(text, match)
    )


def segments(text: str, names: frozenset[str]) -> tuple[Segment, ...]:
    """The parts of `text`, in order; `names` are words that are names also where a sentence begins with them."""
    return tuple(_segments(text, names))


def _segments(text: str, names: frozenset[str]) -> Iterator[Segment]:
    done = 0
    for match in _WORD.finditer(text):
        kind, key = _kind(text, match, names)
        if kind:
            if done < match.start():
                yield Segment(text[done : match.start()])
            yield Segment(match[0], kind, key)
            done = match.end()
    if done < len(text):
        yield Segment(text[done:])


def _kind(text: str, match: re.Match[str], names: frozenset[str]) -> tuple[Kind, str]:
    word = match[0].casefold()
    if word[0].isdecimal():
        return "number", word
    if word in _NUMBER_WORDS:
        return "number", _NUMBER_WORDS[word]
    if word in _NEGATIONS or word.endswith(_SHORT_NOT):
        return "negation", "not"
    base = re.sub("['\u2019]s$", "", word)
    if match[0][0].isupper() and (base in names or word in names or _is_capital_within(text, match)):
        return "name", base
    return "", ""


def _is_capital_within(text: str, match: re.Match[str]) -> bool:
    before = text[: match.start()].rstrip(" \"'(\u201c\u2018")
    return match[0][0].isupper() and bool(before) and before[-1] not in _SENTENCE_ENDS
