"""Entries whose answer is known, made of references of the corpus: they tell whether somebody reads what they decide.

Half of them say in other words what a reference says. The others say, in the same other words, something that is wrong
in one place. Neither stands anywhere word for word, so that no comparison of texts finds or answers them. Whoever has
this source can find them all the same: they are against haste, and not against somebody who cheats with a program.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from runner.adjudicate.naming import keyed
from runner.adjudicate.rewording import contradictions, names_of, rewordings
from runner.core.reconsolidation.texts import folded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runner.core.reconsolidation.corpus import Case, ReconsolidationCorpus, Reference


_LEAST_FILLER: Final = 3
"""Words that a filler adds to a reference that isn't changed; a changed one differs by fewer, and makes up for it."""
_WORDS: Final = re.compile(r"\w+")


@dataclass(frozen=True)
class Check:
    """An entry whose answer is known."""

    kind: Literal["positive", "negative"]
    split: str
    case: str
    reference: Reference
    candidate: str


def checks_of(corpora: Mapping[str, ReconsolidationCorpus], secret: str, count: int) -> tuple[Check, ...]:
    """`count` checks, or as many as the references allow; which ones, and in which words, follows from the secret."""
    names = {split: names_of(corpus) for split, corpus in corpora.items()}
    pairs = sorted(
        (
            (keyed(secret, "a", case.id, reference.id), split, case, reference)
            for split, corpus in corpora.items()
            for case in corpus.cases
            for reference in case.hypotheses
        ),
        key=lambda pair: pair[0],
    )
    found: list[Check] = []
    for _, split, case, reference in pairs:
        if len(found) == count:
            break
        is_positive = len(found) % 2 == 0
        said = (
            [reference.meaning]
            if is_positive
            else [*_wrong(case, reference, contradictions(reference.meaning, names[split]))]
        )
        if said:
            place = secret, case.id, reference.id
            sentence = _drawn("sentence", place, said)
            words = rewordings(sentence, names[split])
            # A wrong sentence has a word or two more or less than its reference, and gets as many fewer in its filler:
            # by how much a candidate differs from a reference doesn't say of which kind it is.
            changed = _changed(reference.meaning, sentence)
            lengths = [str(number) for number in range(_LEAST_FILLER, len(words) + 1)]
            if words:
                kind: Literal["positive", "negative"] = "positive" if is_positive else "negative"
                told = words[int(_drawn("words", place, lengths)) - changed - 1]
                found.append(Check(kind, split, case.id, reference, told))
    return tuple(found)


def _changed(one: str, other: str) -> int:
    """How many words only one of two texts has."""
    first, second = (Counter(_WORDS.findall(text.casefold())) for text in (one, other))
    return sum(((first - second) + (second - first)).values())


def _wrong(case: Case, reference: Reference, sentences: Sequence[str]) -> Iterator[str]:
    """Those that say what no reference and no statement of the case does."""
    said = [*(reference.meaning for reference in case.hypotheses), *(seed.statement for seed in case.seeds)]
    known = {folded(text).casefold() for text in said}
    for sentence in sentences:
        if folded(sentence).casefold() not in known and 0 < _changed(reference.meaning, sentence) < _LEAST_FILLER:
            yield sentence


def _drawn(what: str, place: tuple[str, str, str], choices: Sequence[str]) -> str:
    secret, case, reference = place
    return min(choices, key=lambda one: keyed(secret, "a", what, case, reference, one))
