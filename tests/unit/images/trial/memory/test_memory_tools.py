"""The two tools, without a protocol: what is asked of the store, and what the model hears when it errs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from memory.passages import Passage
from memory.store import Store, StoreError
from memory.tools import Answer, Memory

if TYPE_CHECKING:
    from collections.abc import Sequence

PASSAGE = Passage(3, "a.md", 0, 4, "A", "text")


class FixedEmbedder:
    """Remembers the texts, and gives each the same vector."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, text: str) -> Sequence[float]:
        self.texts.append(text)
        return [0.5, 0.25]


class FixedStore(Store):
    """Remembers the questions, and holds one passage."""

    def __init__(self, failure: Exception | None = None) -> None:
        super().__init__("http://127.0.0.1:1", "memory")
        self.failure = failure
        self.asked: list[Any] = []

    def search(self, vector: Sequence[float], limit: int) -> list[Passage]:
        self.asked.append((vector, limit))
        if self.failure is not None:
            raise self.failure
        return [PASSAGE]

    def get(self, number: int) -> Passage | None:
        self.asked.append(number)
        return PASSAGE if number == 3 else None


def call(name: str, arguments: dict[str, Any], store: FixedStore | None = None) -> Answer:
    embedder = FixedEmbedder()
    return Memory(lambda: embedder, store or FixedStore()).call(name, arguments)


def test_a_search_embeds_the_query_as_it_is() -> None:
    """No trimming, no prefix: the host embeds passages in the same way."""
    embedder, store = FixedEmbedder(), FixedStore()
    answer = Memory(lambda: embedder, store).call("memory_search", {"query": " where?\n"})
    assert embedder.texts == [" where?\n"]
    assert store.asked == [([0.5, 0.25], 5)]
    assert answer == Answer("[1] id=3 source=a.md bytes=0-4 title=A\ntext", failed=False)


@pytest.mark.parametrize(
    ("asked", "count"), [(1, 1), (20, 20), (21, 20), (10**30, 20), (0, 1), (-5, 1), (7.0, 7), (None, 5)]
)
def test_the_number_of_passages_is_kept_between_one_and_twenty(asked: object, count: int) -> None:
    """A model that asks for too many gets what there is to get."""
    store = FixedStore()
    call("memory_search", {"query": "x", "k": asked}, store)
    assert store.asked == [([0.5, 0.25], count)]


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("memory_search", {}, "memory_search: query: expected some words to look for"),
        ("memory_search", {"query": " \n"}, "memory_search: query: expected some words to look for"),
        ("memory_search", {"query": 5}, "memory_search: query: expected some words to look for"),
        (
            "memory_search",
            {"query": "x" * 20_001},
            "memory_search: query: expected at most 20000 characters, found 20001",
        ),
        ("memory_search", {"query": "x", "k": "5"}, "memory_search: k: expected a whole number, found '5'"),
        ("memory_search", {"query": "x", "k": 2.5}, "memory_search: k: expected a whole number, found 2.5"),
        ("memory_search", {"query": "x", "k": True}, "memory_search: k: expected a whole number, found True"),
        ("memory_search", {"query": "x", "k": float("inf")}, "memory_search: k: expected a whole number, found inf"),
        ("memory_search", {"query": "x", "n": 1}, "memory_search: unknown arguments ['n']; known are ['k', 'query']"),
        ("memory_get", {}, "memory_get: id: expected a whole number, found None"),
        ("memory_get", {"id": "3"}, "memory_get: id: expected a whole number, found '3'"),
        ("memory_get", {"id": 4}, "memory_get: id: there is no passage 4; use an id that memory_search returned"),
        ("memory_forget", {}, "There is no tool 'memory_forget'; there are memory_search and memory_get."),
    ],
)
def test_a_wrong_call_is_answered_with_what_would_be_right(name: str, arguments: dict[str, Any], message: str) -> None:
    """Every mistake is an answer that is marked as an error."""
    assert call(name, arguments) == Answer(message, failed=True)


@pytest.mark.parametrize("number", [-1, 2**64])
def test_numbers_that_no_point_can_have_are_not_asked_for(number: int) -> None:
    """They are unknown, whatever the store would say."""
    store = FixedStore()
    assert call("memory_get", {"id": number}, store).failed
    assert store.asked == []


def test_a_passage_is_returned_by_its_number() -> None:
    """Without a rank."""
    assert call("memory_get", {"id": 3}) == Answer("id=3 source=a.md bytes=0-4 title=A\ntext", failed=False)


def test_a_store_that_fails_is_an_answer() -> None:
    """The text names the tool and the fault."""
    answer = call("memory_search", {"query": "x"}, FixedStore(StoreError("the memory is not reachable")))
    assert answer == Answer("memory_search: the memory is not reachable", failed=True)


def test_a_model_that_does_not_load_is_an_answer_and_passages_go_on() -> None:
    """Only what needs the model fails."""

    def load() -> FixedEmbedder:
        raise OSError("no such model")

    memory = Memory(load, FixedStore())
    assert memory.call("memory_search", {"query": "x"}) == Answer(
        "memory_search: unexpected OSError: no such model", failed=True
    )
    assert memory.call("memory_get", {"id": 3}).failed is False


def test_half_a_surrogate_pair_in_a_query_does_no_harm() -> None:
    """JSON can hold what no tokenizer takes."""
    embedder = FixedEmbedder()
    Memory(lambda: embedder, FixedStore()).call("memory_search", {"query": "a\ud800"})
    assert embedder.texts == ["a?"]
