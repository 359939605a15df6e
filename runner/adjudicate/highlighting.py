"""Which parts of a text are numbers, negations and names? Marked in every text by the same rules, whoever wrote it.

What is a name is learned once from all texts of a packet, so that a word is marked in all of them or in none. A name
that only ever begins a sentence, and that nobody is called, can't be told from any other word, and isn't marked.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Kind: TypeAlias = Literal["", "number", "negation", "name"]

_LETTERS: Final = "(?:[^\\W\\d_][\u0300-\u036f]*)+"
# What was spelled out because it acts or can't be seen is no word, nor a part of one.
_WORD: Final = re.compile(
    r"(?P<spelled>\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|[nrt]))"
    r"|(?P<number>(?:(?<![\w.,:/-])[-\u2212])?\d+(?:[.,:/-]\d+)*%?|[\u00bc-\u00be\u2150-\u215e])"
    r"|(?i:no[ -]one\b)"
    r"|(?i:(?P<tens>twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)[ -]"
    r"(?P<ones>one|two|three|four|five|six|seven|eight|nine)\b)"
    rf"|{_LETTERS}(?:['\u2019]{_LETTERS})*"
)
_THOUSANDS: Final = re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?%?")
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
        *("no", "not", "never", "none", "nobody", "nothing", "neither", "nor", "nowhere", "no one", "no-one"),
        *("cannot", "without", "hardly", "barely", "scarcely", "rarely", "seldom"),
    }
)
_SHORT_NOT: Final = ("n't", "n\u2019t")
_DAYS: Final = frozenset({"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"})
_MONTHS: Final = frozenset(
    {
        *("january", "february", "april", "june", "july", "august"),
        *("september", "october", "november", "december"),
    }
)
_MONTHS_AND_WORDS: Final = frozenset({"march", "may"})
_SENTENCE_ENDS: Final = ".!?:"


@dataclass(frozen=True)
class Segment:
    """A part of a text; `key` is alike for parts that say the same: `9` and `nine`, `not` and `never`."""

    text: str
    kind: Kind = ""
    key: str = ""


@dataclass(frozen=True)
class Names:
    """Which words are names, all of them as `_base` has them."""

    everywhere: frozenset[str] = _DAYS | _MONTHS
    """However they are written."""
    capitalized: frozenset[str] = frozenset()
    """Wherever they have a capital, at the beginning of a sentence too."""
    common: frozenset[str] = frozenset()
    """Nowhere, though somebody gives them a capital."""


def names_of(given: Iterable[str], candidates: Iterable[str] = (), people: Iterable[str] = ()) -> Names:
    """The names in a packet whose sources and references are `given`, and whose sources were said by `people`."""
    held, lower = _capitals_and_others(given)
    proposed, lower_too = _capitals_and_others(candidates)
    words = [[_base(word[0]) for word in _WORD.finditer(person)] for person in people]
    called = {person[0] for person in words if len(person) == 1}
    # Of "the release bot" only what is nothing else, and only with a capital.
    titles = {word for person in words if len(person) > 1 for word in person} - lower - lower_too
    calendar = _DAYS | _MONTHS
    return Names(
        everywhere=frozenset((held - lower_too | called) - lower | calendar),
        capitalized=frozenset(called | titles | (held | proposed - lower_too) - lower),
        common=frozenset(lower - held - called - calendar - _MONTHS_AND_WORDS | {"i"}),
    )


def segments(text: str, names: Names) -> tuple[Segment, ...]:
    """The parts of `text`, in order, which is spelled out where it must be."""
    return tuple(_segments(text, names))


def _segments(text: str, names: Names) -> Iterator[Segment]:
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


def _kind(text: str, match: re.Match[str], names: Names) -> tuple[Kind, str]:
    if match["spelled"]:
        return "", ""
    if match["number"]:
        return "number", _number(match[0])
    if match["tens"]:
        tens, ones = (_NUMBER_WORDS[match[part].casefold()] for part in ("tens", "ones"))
        return "number", tens[0] + ones
    word = _folded(match[0])
    if word in _NUMBER_WORDS:
        return "number", _NUMBER_WORDS[word]
    if word in _NEGATIONS or word.endswith(_SHORT_NOT):
        return "negation", "not"
    base = _base(match[0])
    return ("name", base) if _is_name(text, match, base, names) else ("", "")


def _is_name(text: str, match: re.Match[str], base: str, names: Names) -> bool:
    if base in names.everywhere:
        return True
    if not match[0][0].isupper() or base in names.common:
        return match[0][0].isupper() and base in names.capitalized
    return base in names.capitalized or _is_within(text, match) or any(char.isupper() for char in match[0][1:])


def _capitals_and_others(texts: Iterable[str]) -> tuple[set[str], set[str]]:
    """The words that have a capital within a sentence, and those that have none."""
    capitals: set[str] = set()
    others: set[str] = set()
    for text in texts:
        for match in _WORD.finditer(text):
            if match["spelled"] or match["number"]:
                continue
            if not match[0][0].isupper():
                others.add(_base(match[0]))
            elif _is_within(text, match):
                capitals.add(_base(match[0]))
    return {word for word in capitals if word not in _NEGATIONS | _NUMBER_WORDS.keys() | {"i"}}, others


def _is_within(text: str, match: re.Match[str]) -> bool:
    """Whether a sentence has begun before the word, so that its capital means something."""
    before = text[: match.start()].rstrip(" \"'(\u201c\u2018")
    return bool(before) and before[-1] not in _SENTENCE_ENDS and not before.endswith(("\\n", "\\r"))


def _folded(word: str) -> str:
    return unicodedata.normalize("NFKC", word).casefold()


def _base(word: str) -> str:
    """The word without case and possession; a day without its plural."""
    base = re.sub("['\u2019]s?$", "", _folded(word))
    return base.removesuffix("s") if base.removesuffix("s") in _DAYS else base


def _number(told: str) -> str:
    """The number in digits that everybody knows, without marks between thousands."""
    plain = unicodedata.normalize("NFKC", told).replace("\N{MINUS SIGN}", "-").replace("\N{FRACTION SLASH}", "/")
    digits = "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in plain)
    return digits.replace(",", "") if _THOUSANDS.fullmatch(digits) else digits
