"""Which terms does a text have, and what does each weigh? The rule `words-1` and BM25.

An index built elsewhere is searched with terms from here: the rule is fixed (`docs/reference/retrieval-trial.md`). What
a term is worth by its rareness (IDF) isn't in the weights: Qdrant multiplies it in when it searches.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import re
import unicodedata
from array import array
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Stem = Callable[[str], str]

RULE = "words-1"
# Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009); the values of Lucene.
K1 = 1.2
B = 0.75

# Longer words are data rather than language (digests, encoded bytes): a stemmer has nothing to say of them.
_STEMMED_CHARACTERS = 40
_CACHED_WORDS = 1 << 16
_CACHED_CHARACTERS = 64

_WORD = re.compile(r"\w+")
# HTTPServer -> HTTP, Server; parseURL2 -> parse, URL2; sha256sum -> sha256, sum.
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+[0-9]*|[A-Z]+[0-9]*|[0-9]+")
# Scripts that are written without blanks: Thai, Lao, Khmer, kana, Han.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]+")


class Sparse(NamedTuple):
    """A sparse vector: distinct indices that rise, and as many weights, each a float32."""

    indices: list[int]
    values: list[float]


class Words:
    """The rule `words-1`, with a stemmer for words of the Latin alphabet."""

    def __init__(self, stem: Stem) -> None:
        self._stem = stem
        self._cached = functools.lru_cache(maxsize=_CACHED_WORDS)(self._terms)

    def terms(self, text: str) -> Iterator[str]:
        """The terms of `text` in their order, repeated ones included."""
        for found in _WORD.finditer(unicodedata.normalize("NFKC", text)):
            word = found[0]
            yield from self._cached(word) if len(word) <= _CACHED_CHARACTERS else self._terms(word)

    def _terms(self, word: str) -> tuple[str, ...]:
        """The parts of an identifier, and then the whole of it; of any other word, itself."""
        whole = word.strip("_")
        # Where capitals begin a part is a habit of identifiers, and those are ASCII: ÜNÏCODE is one word.
        parts = _PART.findall(whole) if whole.isascii() else [part for part in whole.split("_") if part]
        pieces = parts if len(parts) <= 1 else [*parts, whole]
        return tuple(term for piece in pieces for term in self._piece(piece.casefold()))

    def _piece(self, word: str) -> Iterator[str]:
        if _UNSPACED.search(word) is None:
            yield self._stem(word) if word.isascii() and len(word) <= _STEMMED_CHARACTERS else word
            return
        end = 0
        for run in _UNSPACED.finditer(word):
            if run.start() > end:
                yield from self._piece(word[end : run.start()])
            yield from pairs(run[0])
            end = run.end()
        if end < len(word):
            yield from self._piece(word[end:])


def pairs(run: str) -> Iterator[str]:
    """Every two neighbours of `run`; a single character is itself."""
    if len(run) == 1:
        yield run
    for at in range(len(run) - 1):
        yield run[at : at + 2]


def english() -> Stem:
    """The English stemmer of the Snowball project, in Python.

    Raises:
        ImportError: the package isn't there.
    """
    # By its module: the package's front door would rather have a compiled stemmer of another version, if there is one.
    module = importlib.import_module("snowballstemmer.english_stemmer")
    stem: Stem = module.EnglishStemmer().stemWord
    return stem


def index_of(term: str) -> int:
    """The number of a term: the first four bytes of its SHA-256, as an unsigned number, most significant byte first."""
    return int.from_bytes(hashlib.sha256(term.encode("utf-8", "surrogatepass")).digest()[:4], "big")


def passage_vector(counts: Mapping[int, int], average: float) -> Sparse:
    """The BM25 weights of a text whose terms have these numbers, so many times each, without IDF.

    `average` is the mean number of terms of the corpus's texts.
    """
    length = sum(counts.values())
    room = K1 * (1 - B + B * length / average) if length else 0.0
    indices = sorted(counts)
    return Sparse(indices, float32(counts[index] * (K1 + 1) / (counts[index] + room) for index in indices))


def query_vector(words: Words, text: str) -> Sparse:
    """The terms of a query; each counts once, however often it stands there."""
    indices = sorted({index_of(term) for term in words.terms(text)})
    return Sparse(indices, [1.0] * len(indices))


def float32(numbers: Iterator[float]) -> list[float]:
    """`numbers`, each rounded to the nearest float32."""
    return array("f", numbers).tolist()


class Corpus:
    """What the weights of a text depend on besides the text: the corpus, gone through once before."""

    def __init__(self, words: Words) -> None:
        """No text has been seen."""
        self._words = words
        self._numbers: dict[int, str] = {}
        self._clashes: dict[int, set[str]] = {}
        self.texts = 0
        self.terms = 0

    def count(self, text: str) -> Counter[int]:
        """How often `text` has which term, by its number."""
        return Counter(index_of(term) for term in self._words.terms(text))

    def see(self, text: str) -> None:
        """`text` is part of the corpus."""
        self.texts += 1
        for term in self._words.terms(text):
            self.terms += 1
            index = index_of(term)
            known = self._numbers.setdefault(index, term)
            if known != term:
                self._clashes.setdefault(index, {known}).add(term)

    @property
    def average(self) -> float:
        """Mean number of terms of a text; 1 when no text has any, where it weighs nothing."""
        return self.terms / self.texts if self.terms else 1.0

    @property
    def vocabulary(self) -> int:
        """How many numbers the corpus's terms have."""
        return len(self._numbers)

    @property
    def collisions(self) -> Sequence[tuple[str, ...]]:
        """Different terms that have the same number, and so count as one: each such set, in the order of its terms."""
        return sorted(tuple(sorted(terms)) for terms in self._clashes.values())
