"""A sentence of a corpus is said in other words, or made wrong in one place; both by rule.

A rule knows no meaning. What it may touch is chosen so narrowly that a sentence surely means the same afterwards, or
surely doesn't.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core.reconsolidation.texts import folded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.core.reconsolidation.corpus import ReconsolidationCorpus

FILLERS: Final = (
    "briefly",
    "in short",
    "all in all",
    "to put it briefly",
    "to say it in short",
    "to put it in other words",
    "to say it once in other words",
)
"""They assert nothing, and have one word more each."""
_BECAUSE: Final = " because "
_LINKS: Final = (
    *(_BECAUSE, " until ", " before ", " whenever ", " since "),
    *(" on days on which ", " on the day after ", " after each "),
)
_NAMED: Final = re.compile(r"^(?P<name>[A-Z][\w-]*) (?P<verb>[a-z]+)(?P<rest> .+)$")
_HOLDS_BACK: Final = frozenset(
    {"not", "only", "just", "even", "and", "or", "partly", "mainly", "long", "shortly", "also"}
)
"""After one of these a clause can't go to the front without saying something else."""
_NUMBERS: Final = (
    *("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen"),
)
_NUMBER: Final = re.compile(rf"(?<![\w.,:-])(?:[0-9]+|{'|'.join(_NUMBERS[:-1])})(?![\w:-]|[.,][0-9])")
_POLARITY: Final = re.compile(r"\b(?:can't|cannot|(?:is|are|was|were|can|will|does|should)(?: not)?)\b")
_WORD: Final = re.compile(r"[^\W\d_][\w'-]*")


@dataclass(frozen=True)
class Names:
    """What is called by a name in the texts of a split."""

    people: frozenset[str]
    projects: frozenset[str]
    others: frozenset[str]
    """Whatever has a capital letter within a sentence."""

    def __contains__(self, word: str) -> bool:
        return word in self.people or word in self.projects or word in self.others


def names_of(corpus: ReconsolidationCorpus) -> Names:
    """The names in a split: people are whom something is attributed to, projects what something holds within."""
    seeds = [seed for case in corpus.cases for seed in case.seeds]
    texts = [seed.statement for seed in seeds]
    texts += [reference.meaning for case in corpus.cases for reference in case.hypotheses]
    written = {word.removesuffix("'s") for text in texts for word in _WORD.findall(text) if word[0].isupper()}
    people = {seed.attribution.casefold() for seed in seeds}
    projects = {seed.scope.partition(":")[2].casefold() for seed in seeds if seed.scope.startswith("project:")}
    within = {word.removesuffix("'s") for text in texts for word in _WORD.findall(text)[1:] if word[0].isupper()}
    return Names(
        people=frozenset(word for word in written if word.casefold() in people),
        projects=frozenset(word for word in written if word.casefold() in projects),
        others=frozenset(within),
    )


def rewordings(text: str, names: Names) -> tuple[str, ...]:
    """`text` in other words, once with each of the fillers, in their order; nothing where no rule fits it.

    A clause at its end goes to the front, or the name at its beginning is set apart: either way no long part of it
    stays as it was.
    """
    if rest := _turned(text, names):
        return tuple(f"{filler[0].upper()}{filler[1:]}, {rest}" for filler in FILLERS)
    named = _NAMED.match(text)
    if named and named["name"] in names and named["verb"] not in _HOLDS_BACK:
        return tuple(f"{named['name']}, {filler}, {named['verb']}{named['rest']}" for filler in FILLERS)
    return ()


def _turned(text: str, names: Names) -> str:
    """`text` with the clause at its end before the rest; "" where it isn't sure what belongs to what."""
    links = [link for link in _LINKS for _ in range(text.count(link))]
    link = _BECAUSE if links.count(_BECAUSE) == 1 else links[0] if len(links) == 1 else ""
    said, _, clause = text.removesuffix(".").partition(link) if link else ("", "", "")
    if not clause or said.split(" ")[-1].casefold() in _HOLDS_BACK:
        return ""
    return f"{link.lstrip()}{clause}, {_lowered(said, names)}."


def contradictions(text: str, names: Names) -> tuple[str, ...]:
    """`text` with another number, with the opposite polarity, with somebody else's name: each where there is one."""
    found = [*_other_number(text), *_other_polarity(text)]
    found += [other for kind in (names.people, names.projects) for other in _other_name(text, kind)]
    return tuple(other for other in found if folded(other).casefold() != folded(text).casefold())


def _other_number(text: str) -> Iterator[str]:
    for held in list(_NUMBER.finditer(text))[:1]:
        told = held[0]
        other = str(int(told) + 1) if told.isdigit() else _NUMBERS[_NUMBERS.index(told) + 1]
        yield f"{text[: held.start()]}{other}{text[held.end() :]}"


def _other_polarity(text: str) -> Iterator[str]:
    for held in list(_POLARITY.finditer(text))[:1]:
        told = held[0]
        is_denied = told in ("can't", "cannot") or told.endswith(" not")
        other = ("can" if told[:3] == "can" else told.removesuffix(" not")) if is_denied else f"{told} not"
        yield f"{text[: held.start()]}{other}{text[held.end() :]}"


def _other_name(text: str, kind: frozenset[str]) -> Iterator[str]:
    held = sorted(name for name in kind if re.search(rf"\b{re.escape(name)}\b", text))
    others = sorted(kind - set(held))
    if held and others:
        yield re.sub(rf"\b{re.escape(held[0])}\b", others[0], text)


def _lowered(text: str, names: Names) -> str:
    """`text` as it stands within a sentence."""
    word = _WORD.match(text)
    is_name = word is None or word[0].removesuffix("'s") in names or not word[0][1:].islower()
    return text if is_name and word is not None and len(word[0]) > 1 else text[:1].lower() + text[1:]
