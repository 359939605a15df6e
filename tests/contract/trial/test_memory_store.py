"""What is asked of Qdrant over HTTP, and what each of its answers means."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest
from memory.passages import PassageError
from memory.store import Store, StoreError

from tests.fakes.qdrant_http import FakeQdrant, serving

if TYPE_CHECKING:
    from collections.abc import Iterator


def payload(text: str) -> dict[str, object]:
    return {"source": f"{text}.md", "start": 0, "end": len(text), "title": text, "text": text}


@pytest.fixture
def fake() -> Iterator[FakeQdrant]:
    points = {1: ([1.0, 0.0], payload("one")), 2: ([0.0, 1.0], payload("two")), 9: ([1.0, 0.0], payload("nine"))}
    with serving(FakeQdrant(points)) as running:
        yield running


def test_a_search_is_exact_and_asks_for_payloads(fake: FakeQdrant) -> None:
    """The request is the one that the sidecar and the official server know."""
    Store(fake.url, "memory").search([1.0, 0.0], 2)
    body = {"query": [1.0, 0.0], "limit": 2, "params": {"exact": True}, "with_payload": True}
    assert fake.requests == [("POST", "/collections/memory/points/query", body)]


def test_passages_come_best_first_and_ties_by_number(fake: FakeQdrant) -> None:
    """Scores that are equal to five decimals don't order by chance."""
    fake.points = {
        9: ([1.0, 0.0], payload("nine")),
        2: ([0.5, 1.0], payload("two")),
        1: ([0.9999999, 0.0], payload("one")),
    }
    found = Store(fake.url, "memory").search([1.0, 0.0], 3)
    assert [passage.id for passage in found] == [1, 9, 2]


def test_a_passage_is_read_by_its_number(fake: FakeQdrant) -> None:
    """And one that isn't there is None, not an error."""
    store = Store(fake.url, "memory")
    found = store.get(2)
    assert found is not None
    assert found.text == "two"
    assert store.get(5) is None
    body = {"ids": [5], "with_payload": True}
    assert fake.requests[-1] == ("POST", "/collections/memory/points", body)


def test_a_collection_that_is_not_there_is_no_missing_passage(fake: FakeQdrant) -> None:
    """A wrong index must not look like an empty one."""
    store = Store(fake.url, "other")
    message = f"the memory at {fake.url} answered 404: Not found: Collection `other` doesn't exist!"
    with pytest.raises(StoreError) as caught:
        store.get(2)
    assert str(caught.value) == message
    with pytest.raises(StoreError) as caught:
        store.search([1.0], 1)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ((500, b'{"status":{"error":"panic"}}'), "answered 500: panic"),
        ((400, b"<html>"), "answered 400: "),
        ((200, b"<html>"), "answered something that is not Qdrant's"),
        ((200, b"[]"), "answered something that is not Qdrant's"),
        ((200, b'{"status":"ok"}'), "answered something that is not Qdrant's"),
        ((200, b'{"result":{"hits":[]}}'), "answered a search without points"),
        ((200, b'{"result":{"points":[{"id":1}]}}'), "answered a search without points"),
        ((200, b'{"result":{"points":[{"id":1,"score":"high"}]}}'), "answered a search without points"),
        ((200, b'{"result":null}'), "answered a search without points"),
    ],
)
def test_answers_without_sense_are_named(fake: FakeQdrant, reply: tuple[int, bytes], message: str) -> None:
    """The address and what came back."""
    fake.reply = reply
    with pytest.raises(StoreError) as caught:
        Store(fake.url, "memory").search([1.0, 0.0], 1)
    assert message in str(caught.value)


def test_a_look_up_without_a_list_is_named(fake: FakeQdrant) -> None:
    """A missing passage is an empty list, and nothing else is."""
    fake.reply = (200, b'{"result":null}')
    with pytest.raises(StoreError, match="answered a look-up without points"):
        Store(fake.url, "memory").get(1)


def test_a_point_without_a_passage_is_named(fake: FakeQdrant) -> None:
    """Nothing is shown in its place."""
    fake.reply = (200, b'{"result":{"points":[{"id":1,"score":0.5,"payload":{}}]}}')
    with pytest.raises(PassageError):
        Store(fake.url, "memory").search([1.0, 0.0], 1)


def test_a_server_that_is_away_is_named() -> None:
    """The address and the system's word."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with pytest.raises(StoreError) as caught:
        Store(f"http://127.0.0.1:{port}", "memory").get(1)
    assert str(caught.value) == (
        f"the memory at http://127.0.0.1:{port} is not reachable: [Errno 111] Connection refused"
    )


@pytest.mark.parametrize("url", ["https://127.0.0.1:6333", "127.0.0.1:6333", "http://", "http://127.0.0.1:6333/x"])
def test_an_address_of_another_kind_is_refused(url: str) -> None:
    """Before anything is asked."""
    with pytest.raises(ValueError, match="expected http://host:port"):
        Store(url, "memory")


def test_a_collection_with_odd_signs_stays_inside_its_path(fake: FakeQdrant) -> None:
    """A name can't lead elsewhere."""
    with pytest.raises(StoreError):
        Store(fake.url, "../a b?").get(1)
    assert fake.requests == [("POST", "/collections/..%2Fa%20b%3F/points", {"ids": [1], "with_payload": True})]
