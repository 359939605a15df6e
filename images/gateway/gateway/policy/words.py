"""Which words of a question are worth looking for? Identifiers and quoted phrases, then names, then long words."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from gateway.policy.stopwords import STOPWORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAXIMUM_TERMS = 12
# How much a term tells, by what it is: what is spelt like code or quoted is rarest, a short word is commonest.
IDENTIFIER_WEIGHT = 6
NAME_WEIGHT = 4
LONG_WORD_WEIGHT = 3
WORD_WEIGHT = 2
LONG_WORD_CHARACTERS = 8
SHORTEST_WORD_CHARACTERS = 4
# A term in so many hits tells little about where the answer stands.
COMMON_HITS = 40

BACKTICKED = re.compile(r"`([^`\n]{2,80})`")
QUOTED = re.compile(r"[\"“]([^\"”\n]{3,60})[\"”]")
TOKEN = re.compile(r"[A-Za-z0-9_]+(?:[-.:][A-Za-z0-9_]+)*")
CODE_LIKE = re.compile(
    r".*(?:_|[a-z0-9][A-Z]|[A-Za-z]\d|\d[A-Za-z]|\w[.:]\w).*|[A-Z]{2,}|\d{2,}|[A-Z][\w]*(?:-[A-Z][\w]*)+"
)
# A name with a digit, like `utf8`: often a project's own, and then in every file.
SHORT_NAME = re.compile(r"[a-z]{1,8}\d{1,4}")
# Endings that are cut off before a word is looked for, and what stands for them.
ENDINGS = (
    ("ies", "[iy]"),
    ("ied", "[iy]"),
    ("y", "[iy]"),
    ("sses", "ss"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("xes", "x"),
    ("ing", ""),
    ("ed", ""),
    ("s", ""),
)
# Where a word may begin: at a word's start, or after an underscore in a name.
WORD_START = r"(?:\b|_)"
# Names joined by dots, but no file name.
DOTTED_NAME = re.compile(
    r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\.(?!(?:cfg|ini|json|md|py|pyi|rst|sh|toml|txt|ya?ml)\Z)[A-Za-z_]\w*"
)


@dataclass(frozen=True)
class Term:
    """A word to look for; `pattern` reads alike for ripgrep and Python, and a light term is looked for last."""

    text: str
    pattern: str
    weight: int
    exact: bool
    light: bool = False

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        return re.compile(self.pattern, 0 if self.exact else re.IGNORECASE)

    def occurs_in(self, text: str) -> bool:
        """The text holds the term."""
        return self._regex.search(text) is not None

    @cached_property
    def _definition(self) -> re.Pattern[str]:
        name = re.escape(self.text)
        return re.compile(rf"^\s*(?:(?:async\s+)?def|class)\s+{name}\b|^\s*{name}\s*(?::[^=]*)?=(?!=)")

    def is_defined_in(self, line: str) -> bool:
        """The line looks like the definition of what the term names."""
        return self.exact and self._definition.search(line) is not None


def terms_of(question: str) -> tuple[Term, ...]:
    """The question's terms, the most telling first; the same question gives the same terms."""
    found: dict[str, Term] = {}
    exact = [*_quoted_terms(question), *_code_terms(question), *_names(question)]
    for term in [*sorted(exact, key=lambda term: (-term.weight, -len(term.text))), *_words(question)]:
        found.setdefault(term.text.lower(), term)
    return tuple(found.values())[:MAXIMUM_TERMS]


def weighed(terms: Sequence[Term], hits: Sequence[str]) -> tuple[Term, ...]:
    """The terms, those that turned out to be common in the workspace made light."""
    return tuple(
        replace(term, weight=1) if sum(term.occurs_in(hit) for hit in hits) >= COMMON_HITS else term for term in terms
    )


def coverage(text: str, terms: Iterable[Term]) -> int:
    """The weights of the terms that the text holds, each counted once."""
    return sum(term.weight for term in terms if term.occurs_in(text))


def _exact(text: str, weight: int) -> Term:
    start = r"\b" if re.match(r"\w", text) else ""
    end = r"\b" if re.search(r"\w\Z", text) else ""
    return Term(text, start + _escaped(text) + end, weight, exact=True)


def _escaped(text: str) -> str:
    """`text` as a pattern; only what both engines take as special is escaped."""
    return re.sub(r"([\\.^$*+?{}\[\]|()])", r"\\\1", text)


def _quoted_terms(question: str) -> Iterable[Term]:
    for span in BACKTICKED.findall(question):
        yield from _identifier_terms(span.strip().removesuffix("()"))
    for phrase in QUOTED.findall(BACKTICKED.sub(" ", question)):
        if phrase.strip():
            yield _exact(phrase.strip(), IDENTIFIER_WEIGHT)


def _code_terms(question: str) -> Iterable[Term]:
    for token in TOKEN.findall(BACKTICKED.sub(" ", question)):
        if SHORT_NAME.fullmatch(token):
            yield replace(_exact(token, WORD_WEIGHT), light=True)
        elif CODE_LIKE.fullmatch(token):
            yield from _identifier_terms(token)


def _identifier_terms(identifier: str) -> Iterable[Term]:
    """The identifier; of a dotted one the last name, then the others: code seldom spells `Class.method` out."""
    if DOTTED_NAME.fullmatch(identifier):
        *others, last = identifier.split(".")
        yield _exact(last, IDENTIFIER_WEIGHT)
        for part in reversed(others):
            if len(part) >= SHORTEST_WORD_CHARACTERS and part.lower() not in STOPWORDS:
                yield _exact(part, NAME_WEIGHT)
    elif identifier:
        yield _exact(identifier, IDENTIFIER_WEIGHT)


def _names(question: str) -> Iterable[Term]:
    """Words with a capital that don't begin a sentence."""
    for match in re.finditer(r"[^.!?:\s] ([A-Z][a-z]{2,})(?![\w.:-])", BACKTICKED.sub(" ", question)):
        if match.group(1).lower() not in STOPWORDS:
            yield _exact(match.group(1), NAME_WEIGHT)


def _words(question: str) -> Iterable[Term]:
    tokens = [token for token in TOKEN.findall(BACKTICKED.sub(" ", question)) if not CODE_LIKE.fullmatch(token)]
    words = [word.lower() for token in tokens for word in re.findall(r"[A-Za-z]+", token)]
    kept = [word for word in words if len(word) >= SHORTEST_WORD_CHARACTERS and word not in STOPWORDS]
    by_stem = {stem_pattern(word): word for word in reversed(kept)}
    for pattern, word in sorted(by_stem.items(), key=lambda item: (-len(item[1]), kept.index(item[1]))):
        weight = LONG_WORD_WEIGHT if len(word) >= LONG_WORD_CHARACTERS else WORD_WEIGHT
        yield Term(word, WORD_START + pattern, weight, exact=False)


def stem_pattern(word: str) -> str:
    """A pattern for the word and its common endings: `retries` and `retry` give the same."""
    for ending, rest in ENDINGS:
        kept_characters = len(word) - len(ending) + min(len(rest), 2)
        if word.endswith(ending) and kept_characters >= SHORTEST_WORD_CHARACTERS and not word.endswith("ss"):
            return word[: -len(ending)] + rest
    return word
