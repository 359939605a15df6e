"""Terms of texts, their numbers and weights: expectations are worked out by hand."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from retrieval.bm25 import Corpus, Words, index_of, passage_vector, query_vector

WORDS = Words(lambda word: word)


def _terms(text: str) -> list[str]:
    return list(WORDS.terms(text))


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The cat, the CAT!", ["the", "cat", "the", "cat"]),
        ("user_name", ["user", "name", "user_name"]),
        ("getUserName", ["get", "user", "name", "getusername"]),
        ("HTTPServer", ["http", "server", "httpserver"]),
        ("parseURL2", ["parse", "url2", "parseurl2"]),
        ("__init__", ["init"]),
        ("SHA256 h11 2026", ["sha256", "h11", "2026"]),
        ("sha256sum", ["sha256", "sum", "sha256sum"]),
        ("pkg/mod.py", ["pkg", "mod", "py"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("ünïcode ÜNÏCODE", ["ünïcode", "ünïcode"]),
        ("cafe\u0301", ["café"]),
        ("\ufb01le", ["file"]),
        ("東京タワー", ["東京", "京タ", "タワ", "ワー"]),
        ("雨 x", ["雨", "x"]),
        ("v2東京", ["v2", "東京"]),
        ("größe_ÄÖ", ["grösse", "äö", "grösse_äö"]),
        ("___ -- ", []),
        ("", []),
    ],
)
def test_terms_are_words_and_the_parts_of_identifiers(text: str, terms: list[str]) -> None:
    """Case is folded; an identifier of several parts gives them and itself; unspaced scripts give pairs."""
    assert _terms(text) == terms


def test_only_short_words_of_ascii_are_stemmed() -> None:
    """A stemmer for English is asked for no other script, and for nothing that is as long as data."""
    words = Words(lambda word: word + "*")
    assert list(words.terms("cat café " + "a" * 40 + " " + "a" * 41)) == ["cat*", "café", "a" * 40 + "*", "a" * 41]


def test_a_word_longer_than_the_cache_takes_is_read_as_any_other() -> None:
    """A megabyte without a blank is one term, of any length."""
    assert _terms("x" * 1_000_000) == ["x" * 1_000_000]


def test_a_terms_number_is_the_beginning_of_its_digest() -> None:
    """Known digests: sha256("") = e3b0c442…, sha256("abc") = ba7816bf…; half a surrogate pair has a number too."""
    assert index_of("") == 0xE3B0C442
    assert index_of("abc") == 0xBA7816BF
    assert index_of("\ud800") == 0x91A681B9


def test_weights_are_those_of_bm25() -> None:
    """Four terms where the mean is two: tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * 2)), in float32."""
    vector = passage_vector(Counter({9: 3, 7: 1}), average=2.0)
    assert vector.indices == [7, 9]
    assert vector.values == [0.7096773982048035, 1.2941176891326904]


def test_a_text_of_mean_length_weighs_a_single_term_as_one() -> None:
    """tf = 1 at the mean length: 2.2 / (1 + 1.2) = 1."""
    assert passage_vector(Counter({1: 1, 2: 1}), average=2.0).values == [1.0, 1.0]


def test_a_text_without_terms_has_an_empty_vector() -> None:
    """Nothing is divided by nothing, in a corpus without a term either."""
    assert passage_vector(Counter(), average=2.0) == ([], [])
    corpus = Corpus(WORDS)
    corpus.see("")
    assert corpus.average == 1.0
    assert Corpus(WORDS).average == 1.0


def test_each_term_of_a_query_counts_once() -> None:
    """Repeating a word in a query changes nothing."""
    assert query_vector(WORDS, "cat the cat") == query_vector(WORDS, "the cat")
    assert query_vector(WORDS, "abc") == ([0xBA7816BF], [1.0])


def test_a_corpus_knows_its_mean_length() -> None:
    """Six terms in three texts, one of which is empty."""
    corpus = Corpus(WORDS)
    for text in ("a b c", "", "a b d"):
        corpus.see(text)
    assert (corpus.texts, corpus.terms, corpus.average, corpus.vocabulary) == (3, 6, 2.0, 4)
    assert corpus.collisions == []


def test_terms_that_share_a_number_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """They count as one term, and the corpus says which they are."""
    numbers = itertools.cycle([5])
    monkeypatch.setattr("retrieval.bm25.index_of", lambda term: next(numbers) if term in {"cat", "dog"} else 6)
    corpus = Corpus(WORDS)
    corpus.see("dog cat bird dog")
    assert corpus.collisions == [("cat", "dog")]
    assert corpus.count("dog cat bird") == {5: 2, 6: 1}
