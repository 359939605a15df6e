"""What does the memory answer? The statement that it recalls best: nothing is made up, and nothing put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconsolidator.store import Recalled

HYPOTHESIS = "hypothesis"


def best_answer(question: str, recalled: Sequence[Recalled]) -> str:
    """The first statement recalled; to a question that asks why, the first hypothesis, where there is any.

    Why something is so is seldom said by whoever observed it: the statement that is most like such a question mostly
    repeats it. "" where nothing was recalled.
    """
    if asks_why(question):
        recalled = [found for found in recalled if found.kind == HYPOTHESIS] or recalled
    return recalled[0].statement if recalled else ""


def asks_why(question: str) -> bool:
    """Whether the question begins with "why"."""
    return question.casefold().split(maxsplit=1)[:1] == ["why"]
