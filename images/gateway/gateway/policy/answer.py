"""How does an answer read, and what does it cite? Quotes the lines that hold most of the question's terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateway.policy.words import Term, coverage

if TYPE_CHECKING:
    from collections.abc import Sequence

QUOTED_LINES = 16
# Lines quoted before the first one that holds a term, unless that one is a definition.
LEADING_LINES = 3
QUOTE_CHARACTERS = 240
# A second excerpt is quoted when it is nearly as good as the first.
SECOND_EXCERPT_PERCENT = 60


@dataclass(frozen=True)
class Excerpt:
    """Lines worth quoting, with the citation that leads back to them; `bonus` is what its finder thinks of it."""

    where: str
    citation: str
    lines: tuple[str, ...]
    bonus: int = 0

    @property
    def text(self) -> str:
        """The lines as one text."""
        return "\n".join(self.lines)


def best_block(lines: Sequence[str], terms: Sequence[Term], size: int = QUOTED_LINES) -> range:
    """Positions of the `size` lines that hold most, definitions and early places first; empty when none does."""
    per_line = [{index for index, term in enumerate(terms) if term.occurs_in(line)} for line in lines]
    defined = [{index for index, term in enumerate(terms) if term.is_defined_in(line)} for line in lines]
    best, best_score = range(0), 0
    for start, held in enumerate(per_line):
        if not held:
            continue
        if not defined[start]:
            start = max(0, start - LEADING_LINES)  # noqa: PLW2901 - the block begins earlier than its first match
        end = min(len(lines), start + size)
        inside = set().union(*per_line[start:end])
        definitions = set().union(*defined[start:end])
        score = 100 * sum(terms[index].weight * (2 if index in definitions else 1) for index in inside)
        score += sum(1 for line in per_line[start:end] if line)
        if score > best_score:
            best, best_score = range(start, end), score
    while best and not lines[best[-1]].strip():
        best = best[:-1]
    while best and not lines[best[0]].strip():
        best = best[1:]
    return best


def chosen(excerpts: Sequence[Excerpt], terms: Sequence[Term]) -> list[Excerpt]:
    """The best excerpt, and the next one when it is nearly as good or adds a term; none without any term."""
    ranked = sorted(excerpts, key=lambda excerpt: -coverage(excerpt.text, terms) - excerpt.bonus)
    ranked = [excerpt for excerpt in ranked if coverage(excerpt.text, terms)]
    if len(ranked) < 2:
        return ranked
    first, second = coverage(ranked[0].text, terms), coverage(ranked[1].text, terms)
    together = coverage(ranked[0].text + "\n" + ranked[1].text, terms)
    near = second * 100 >= first * SECOND_EXCERPT_PERCENT
    return ranked[:2] if near or together > first else ranked[:1]


def answer_text(excerpts: Sequence[Excerpt], terms: Sequence[Term]) -> str:
    """The final answer: a plain sentence, the quotes, and the list of sources."""
    if not excerpts:
        return "I found nothing that answers the question."
    held = [term.text for term in terms if any(term.occurs_in(excerpt.text) for excerpt in excerpts)]
    total = sum(term.weight for term in terms)
    found = sum(term.weight for term in terms if term.text in held)
    names = ", ".join(held[:5])
    where = " and ".join(dict.fromkeys(excerpt.where for excerpt in excerpts))
    opening = (
        f"The answer is in {where}; of the question's words these stand there: {names}."
        if 2 * found >= total
        else f"The closest that I found is in {where}; of the question's words only these stand there: {names}."
    )
    parts = [opening]
    for excerpt in excerpts:
        quote = "\n".join(f"> {line[:QUOTE_CHARACTERS]}".rstrip() for line in excerpt.lines)
        parts.append(f"{excerpt.where} says:\n\n{quote}")
    sources = dict.fromkeys(f"- {excerpt.citation}" for excerpt in excerpts)
    parts.append("Sources:\n" + "\n".join(sources))
    return "\n\n".join(parts)
