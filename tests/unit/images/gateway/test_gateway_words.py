"""The question's terms, and how they match."""

from __future__ import annotations

import pytest
from gateway.policy.words import Term, coverage, stem_pattern, terms_of, weighed


def texts(question: str) -> list[str]:
    return [term.text for term in terms_of(question)]


def test_identifiers_come_before_names_and_names_before_words() -> None:
    """What is spelt like code is looked for first; a capital within a sentence marks a name."""
    assert texts("Why does max_retries stop Marta's downloads in utf8 mode?") == [
        "max_retries",
        "Marta",
        "utf8",
        "downloads",
        "stop",
        "mode",
    ]


def test_a_dotted_name_is_looked_for_by_its_last_part() -> None:
    """Code seldom spells `Class.method` out; a file's name is kept whole."""
    assert texts("`Connection.send_failed()`") == ["send_failed", "Connection"]
    assert texts("`setup.py`") == ["setup.py"]


def test_quoted_phrases_versions_and_headers_are_exact() -> None:
    """Such spellings stand in the text as they are."""
    question = 'Who raises "Too little data" in 26.1.0 for Content-Length?'
    assert {term.text for term in terms_of(question) if term.exact} == {"Too little data", "26.1.0", "Content-Length"}


def test_stopwords_and_short_words_are_left_out() -> None:
    """Words that stand in every question find nothing."""
    assert texts("What does the file do and where is it used?") == []


def test_a_question_has_at_most_twelve_terms() -> None:
    """A long question doesn't make a long search."""
    assert len(terms_of(" ".join(f"alpha_{number}" for number in range(50)))) == 12


def test_the_same_question_gives_the_same_terms() -> None:
    """Nothing depends on hashing or on an earlier question."""
    question = "How are broken uploads, stalled uploads and retries of Marta's parser handled?"
    assert terms_of(question) == terms_of(question)


@pytest.mark.parametrize(
    ("word", "pattern"),
    [
        ("retries", "retr[iy]"),
        ("retry", "retr[iy]"),
        ("parsing", "pars"),
        ("states", "state"),
        ("classes", "class"),
        ("class", "class"),
        ("does", "does"),
    ],
)
def test_common_endings_are_cut(word: str, pattern: str) -> None:
    """Forms of one word find one another; a short word stays as it is."""
    assert stem_pattern(word) == pattern


@pytest.mark.parametrize(
    ("text", "found"),
    [("the retry", True), ("max_retries", True), ("Retries", True), ("portrays", False)],
)
def test_a_word_is_found_at_the_start_of_words_and_name_parts(text: str, found: bool) -> None:  # noqa: FBT001
    """A word inside of another one isn't found."""
    (term,) = terms_of("retries")
    assert term.occurs_in(text) is found


def test_an_identifier_is_found_whole_and_in_its_case_only() -> None:
    """`send` isn't `resend`, and `Send` is another name."""
    (term,) = terms_of("`send`")
    assert [term.occurs_in(text) for text in ("x.send()", "resend()", "Send")] == [True, False, False]


@pytest.mark.parametrize(
    ("line", "defined"),
    [
        ("    def send(self):", True),
        ("async def send():", True),
        ("send: int = 3", True),
        ("send = 3", True),
        ("send == 3", False),
        ("    self.send()", False),
    ],
)
def test_definitions_are_recognized(line: str, defined: bool) -> None:  # noqa: FBT001
    """A definition tells more than a use."""
    (term,) = terms_of("`send`")
    assert term.is_defined_in(line) is defined


def test_special_characters_of_patterns_are_escaped() -> None:
    """A question can't smuggle a pattern into the search."""
    (term,) = terms_of("`a.*(b+`")
    assert term.pattern == r"\ba\.\*\(b\+"
    assert [term.occurs_in(text) for text in ("a.*(b+", "axx(b")] == [True, False]


def test_common_terms_become_light() -> None:
    """What stands in forty hits tells little about where the answer stands."""
    rare, common = Term("rare", "rare", 6, exact=True), Term("common", "common", 6, exact=True)
    hits = ["common"] * 40 + ["rare"] * 39
    assert [term.weight for term in weighed((rare, common), hits)] == [6, 1]


def test_each_term_counts_once() -> None:
    """Repetition isn't relevance."""
    assert coverage("send send send", terms_of("`send` and `close`")) == 6
