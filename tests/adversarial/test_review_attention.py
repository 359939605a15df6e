"""Threat: a reviewer reads nothing, and lets a program that compares texts find or answer the entries that are known.

The program sees what a reviewer sees. Whoever gives it the rules of this source can find every such entry: against that
nothing is claimed.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

import pytest

from runner.adjudicate.attention import checks_of
from runner.adjudicate.blinding import Bound, blind
from runner.adjudicate.rewording import contradictions, names_of, rewordings
from runner.core.reconsolidation.identity import RunIdentity
from tests.fakes.reviews import corpus

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.core.reconsolidation.key import Key
    from runner.core.reconsolidation.packet import Entry, Packet

RUN = RunIdentity(name="one", lock_sha256="", ledger_head="", summary_sha256="")
SECRETS = tuple(f"secret {number}" for number in range(25))
CHECKS = 4


@cache
def blinded(secret: str) -> tuple[Packet, Key]:
    """A packet of nothing but entries whose answer is known."""
    return blind((), corpus().splits, Bound(secret, RUN, "", ""), CHECKS)


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text.casefold()))


def distance(entry: Entry) -> int:
    """How many words a candidate has more or less than the reference that is nearest."""
    own = words(entry.candidate)
    return min(sum(((own - words(one.meaning)) + (words(one.meaning) - own)).values()) for one in entry.references)


FINDS: dict[str, Callable[[Entry], bool]] = {
    "the text of a reference": lambda entry: entry.candidate in {one.meaning for one in entry.references},
    "the text of a source": lambda entry: entry.candidate in {one.statement for one in entry.sources},
    "the words of a reference": lambda entry: distance(entry) == 0,
    "a reference within it": lambda entry: any(
        one.meaning[:-1].casefold() in entry.candidate.casefold() for one in entry.references
    ),
    "a source within it that no reference holds": lambda entry: any(
        one.statement[:-1].casefold() in entry.candidate.casefold()
        and not any(one.statement[:-1].casefold() in other.meaning.casefold() for other in entry.references)
        for one in entry.sources
    ),
}


@pytest.mark.parametrize("name", FINDS)
def test_no_comparison_finds_one(name: str) -> None:
    """Of a hundred."""
    found = [entry for secret in SECRETS for entry in blinded(secret)[0].entries if FINDS[name](entry)]
    assert found == []


@pytest.mark.parametrize("most", range(12))
def test_no_distance_answers_them(most: int) -> None:
    """Who calls everything equivalent that is so near to a reference knows no more of them than a contract asks for."""
    right = 0
    passed = 0
    for secret in SECRETS:
        packet, key = blinded(secret)
        known = {entry.entry: entry.attention for entry in key.entries}
        answers = [(distance(entry) <= most) == (known[entry.entry] == "positive") for entry in packet.entries]
        right += sum(answers)
        passed += sum(answers) >= 3
    assert right <= 60
    assert passed <= 10


def test_half_of_them_are_right() -> None:
    """And which ones follows from the secret: another one gives others."""
    kinds = [entry.attention for secret in SECRETS for entry in blinded(secret)[1].entries]
    assert Counter(kinds) == {"positive": 50, "negative": 50}
    made = {checks_of(corpus().splits, secret, CHECKS) for secret in SECRETS}
    assert len(made) == len(SECRETS)
    assert checks_of(corpus().splits, "one", CHECKS) == checks_of(corpus().splits, "one", CHECKS)


REWORDED = {
    "The search index is rebuilt after each release of Kestrel.": (
        "In short, after each release of Kestrel, the search index is rebuilt."
    ),
    "Deployments take longer since 2 February because the image lost its cache.": (
        "In short, because the image lost its cache, deployments take longer since 2 February."
    ),
    "Ben turns down large pull requests and accepts small ones.": (
        "Ben, in short, turns down large pull requests and accepts small ones."
    ),
    "Test customers are charged twice in staging because the payment service retries failed calls there.": (
        "In short, because the payment service retries failed calls there, test customers are charged twice in staging."
    ),
}


@pytest.mark.parametrize("text", REWORDED)
def test_other_words_say_the_same(text: str) -> None:
    """A clause goes to the front; names keep their capital letter, and nothing else does."""
    names = names_of(corpus().splits["development"])
    assert rewordings(text, names)[1] == REWORDED[text]
    assert len(set(rewordings(text, names))) == 7


@pytest.mark.parametrize(
    "text",
    [
        "The cache is cold not because of Kestrel.",
        "The cache is cold.",
        "The cache is cold since March until it is warm.",
        "Ben and Ana review.",
        "Tests fail.",
        "Ben.",
    ],
)
def test_what_no_rule_fits_is_left_alone(text: str) -> None:
    """It would say something else, or stay what it was but for its beginning."""
    assert rewordings(text, names_of(corpus().splits["development"])) == ()


WRONG = {
    "Kestrel is written in three languages.": (
        "Kestrel is written in four languages.",
        "Kestrel is not written in three languages.",
        "Harrier is written in three languages.",
    ),
    "Deployments take longer since 2 February.": ("Deployments take longer since 3 February.",),
    "The app can't connect to port 9400.": ("The app can't connect to port 9401.", "The app can connect to port 9400."),
    "The service does not retry.": ("The service does retry.",),
    "Ben turns down large requests.": ("Ana turns down large requests.",),
    "Python 3.11 reads UTF-8 in release-2.": (),
}


@pytest.mark.parametrize("text", WRONG)
def test_a_contradiction_changes_a_number_a_polarity_or_a_name(text: str) -> None:
    """One of them, once; what only looks like a number stays."""
    assert contradictions(text, names_of(corpus().splits["development"])) == WRONG[text]


def test_what_can_t_be_made_wrong_is_no_negative() -> None:
    """However many checks are asked for: there are as many as references allow, and none says what its case says."""
    made = checks_of(corpus().splits, "one", 20)
    assert len(made) <= 18
    said = {folded for _, case in corpus().cases() for folded in (one.statement for one in case.seeds)}
    meanings = {reference.meaning for _, case in corpus().cases() for reference in case.hypotheses}
    assert not {check.candidate for check in made} & (said | meanings)
    for check in made:
        names = names_of(corpus().splits[check.split])
        assert (check.candidate in rewordings(check.reference.meaning, names)) is (check.kind == "positive")
