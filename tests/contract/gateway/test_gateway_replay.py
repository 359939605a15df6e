"""What a gateway recorded, another one plays: byte for byte, once for each time, and nothing that wasn't recorded."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from runner.core.bodies import read_bodies
from runner.core.cassette import entries_of
from runner.core.evidence import Exchange
from runner.core.masks import MASKS
from runner.core.model_script import parse_model_script
from tests.contract.gateway.conftest import RunningGateway, start
from tests.fakes.orders import planned

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["start"]

HEADERS = {"x-api-key": "client-token"}
MASK_DOCUMENTS = [mask.model_dump(mode="json") for mask in MASKS]


def request(text: str, **more: Any) -> dict[str, Any]:
    reminder = f"<system-reminder>\nToday's date is {more.pop('date', '2026-11-29')}.\n</system-reminder>"
    kernel = more.pop("kernel", "6.1.0")
    content = [{"type": "text", "text": reminder}, {"type": "text", "text": text}]
    return {
        "model": "claude-sonnet-4-5",
        "max_tokens": 500,
        "system": [{"type": "text", "text": f" - Platform: linux\n - OS Version: Linux {kernel}\n - more"}],
        "metadata": {"user_id": f'{{"session_id":"{more.pop("session", "s1")}"}}'},
        "messages": [{"role": "user", "content": content}],
    } | more


def ask(gateway: RunningGateway, body: dict[str, Any], owner: str = "client") -> tuple[int, list[bytes]]:
    with (
        httpx.Client(base_url=gateway.url) as client,
        client.stream("POST", "/v1/messages?beta=true", json=body, headers={"x-api-key": f"{owner}-token"}) as response,
    ):
        return response.status_code, list(response.iter_raw())


@pytest.fixture
def recorded(start: Callable[..., RunningGateway]) -> Callable[..., Callable[..., RunningGateway]]:
    """Records requests to a scripted gateway, and returns what starts gateways that play them."""

    def record(*bodies: dict[str, Any], **script: Any) -> Callable[..., RunningGateway]:
        gateway = start(recording=True, masks=MASK_DOCUMENTS, **script)
        for body in bodies:
            ask(gateway, body)
        gateway.end()
        folder = gateway.folder / "gateway"
        exchanges = [Exchange.model_validate_json(json.dumps(line)) for line in gateway.exchanges()]
        bodies_kept = read_bodies((folder / "bodies.jsonl.zst").read_bytes(), exchanges)
        entries = entries_of(planned(), (folder / "recording.jsonl").read_bytes(), bodies_kept)

        def play(
            *, without: int | None = None, edit: tuple[bytes, bytes] = (b"", b""), **changes: object
        ) -> RunningGateway:
            path: Path = gateway.folder / "cassette.jsonl"
            kept = b"".join(line for number, line in enumerate(entries, 1) if number != without)
            path.write_bytes(kept.replace(*edit))
            return start(mode="replay", policy=None, cassette=str(path), masks=MASK_DOCUMENTS, **changes)

        return play

    return record


def test_a_stream_is_played_in_the_same_chunks(
    recorded: Callable[..., Callable[..., RunningGateway]], start: Callable[..., RunningGateway]
) -> None:
    """Body, boundaries and evidence are those of the recording."""
    body = request("What does `send_failed` do?", stream=True)
    original = ask(start(), body)
    player = recorded(body)()
    assert ask(player, body) == original
    (line,) = player.exchanges()
    assert (line["model_resolved"], line["stop_reason"], line["streamed"]) == (
        "scripted-policy (fixture)",
        "end_turn",
        True,
    )
    assert line["usage"]["output_tokens"] > 0


def test_what_is_volatile_is_not_compared(recorded: Callable[..., Callable[..., RunningGateway]]) -> None:
    """Another day, another kernel, another session: the same request."""
    player = recorded(request("a"))()
    assert ask(player, request("a", date="2031-01-02", kernel="9.9.9-other", session="s2"))[0] == 200


def test_an_answer_is_played_once_for_each_time_that_it_was_recorded(
    recorded: Callable[..., Callable[..., RunningGateway]],
) -> None:
    """A re-send finds its own recording; one more than recorded finds none."""
    player = recorded(request("a"), request("a"))()
    assert [ask(player, request("a"))[0] for _ in range(3)] == [200, 200, 402]
    assert player.exchanges()[-1]["difference"] == ["asked more often than recorded"]


def test_conversations_are_played_in_any_order(recorded: Callable[..., Callable[..., RunningGateway]]) -> None:
    """What two sub-agents ask at once may come in another order: each gets its own answer."""
    player = recorded(request("first"), request("second"))()
    assert [ask(player, request(text))[0] for text in ("second", "first")] == [200, 200]


@pytest.mark.parametrize(
    ("changed", "difference"),
    [
        (request("other"), ["messages[0]"]),
        (request("a", model="claude-opus-4-5"), ["model"]),
        (request("a", tools=[{"name": "t", "input_schema": {}}]), ["tools[0]", "tools.length"]),
        (request("a", max_tokens=7), ["max_tokens"]),
    ],
    ids=["message", "model", "tool", "limit"],
)
def test_what_the_cassette_does_not_hold_is_refused_and_named(
    recorded: Callable[..., Callable[..., RunningGateway]], changed: dict[str, Any], difference: list[str]
) -> None:
    """The client gets a final error in the provider's shape; the evidence says which part of the request moved."""
    player = recorded(request("a"))()
    answer = httpx.post(f"{player.url}/v1/messages", json=changed, headers=HEADERS)
    assert (answer.status_code, answer.json()["error"]["type"]) == (402, "billing_error")
    assert answer.headers["x-should-retry"] == "false"
    assert difference[0] in answer.json()["error"]["message"]
    (line,) = player.exchanges()
    assert (line["refused"], line["difference"]) == ("not_recorded", difference)


def test_without_one_exchange_only_that_one_is_missing(recorded: Callable[..., Callable[..., RunningGateway]]) -> None:
    """The others are played as before."""
    player = recorded(request("a"), request("b"))(without=1)
    assert [ask(player, request(text))[0] for text in ("a", "b")] == [402, 200]


def test_what_nobody_asked_for_is_told_at_the_end(recorded: Callable[..., Callable[..., RunningGateway]]) -> None:
    """By the numbers that the exchanges had when they were recorded, also when nothing at all was asked."""
    play = recorded(request("a"), request("b"), request("a"), request("c"))
    asking, silent = play(), play()
    ask(asking, request("a"))
    ask(asking, request("c"))
    told = []
    for player in (asking, silent):
        player.end()
        (line,) = player.lines("replayed.json")
        told.append((line["entries"], line["unasked"], line["first_unasked"]))
    assert told == [(4, 2, [2, 3]), (4, 4, [1, 2, 3, 4])]


def test_a_replay_without_bodies_answers_alike(recorded: Callable[..., Callable[..., RunningGateway]]) -> None:
    """They are left out of the evidence alone; digests and what was said stay."""
    play = recorded(request("a"))
    kept, left_out = play(), play(bodies="left_out")
    (status, pieces), (other_status, others) = (ask(player, request("a")) for player in (kept, left_out))
    assert (status, b"".join(pieces)) == (other_status, b"".join(others))
    kept.end()
    left_out.end()
    assert sorted(path.name for path in (left_out.folder / "gateway").iterdir()) == ["exchanges.jsonl", "replayed.json"]
    times = ("received_ns", "first_byte_ns", "last_byte_ns")
    (mine,), (theirs,) = ([{**line, **dict.fromkeys(times)} for line in one.exchanges()] for one in (kept, left_out))
    assert mine == theirs
    assert mine["texts_sha256"]


def test_a_damaged_cassette_is_refused_at_the_start(start: Callable[..., RunningGateway], tmp_path: Path) -> None:
    """A gateway with half of a recording doesn't start."""
    cassette = tmp_path / "cassette.jsonl"
    cassette.write_text(json.dumps({"key": "sha256:0"}) + "\n")
    gateway = start(mode="replay", policy=None, cassette=str(cassette))
    assert gateway.ready["event"] == "refused"
    assert "line 1 is no entry" in gateway.ready["problems"][0]


@pytest.mark.parametrize(
    "edit", [(b"I found nothing", b"I found plenty!"), (b'"output_tokens":', b'"output_tokens":1')]
)
def test_an_edited_cassette_is_refused_at_the_start(
    recorded: Callable[..., Callable[..., RunningGateway]], edit: tuple[bytes, bytes]
) -> None:
    """Nobody plays an answer, or a usage, that was never seen; the exchange is named."""
    gateway = recorded(request("a"))(edit=edit)
    assert gateway.ready["event"] == "refused"
    assert "exchange 1 isn't what was recorded" in gateway.ready["problems"][0]


def test_an_entry_belongs_to_whoever_asked(recorded: Callable[..., Callable[..., RunningGateway]]) -> None:
    """The memory gets nothing of what the client recorded, though it asks the same."""
    player = recorded(request("a"))()
    assert [ask(player, request("a"), owner)[0] for owner in ("memory", "client")] == [402, 200]
    assert player.exchanges()[0]["difference"] == ["owner"]


def test_ends_of_lines_within_a_text_end_no_entry(recorded: Callable[..., Callable[..., RunningGateway]]) -> None:
    """U+2028, U+2029 and U+0085 stand in an answer as they are."""
    said = "one\u2028two\u2029three\u0085four"
    rules = f"  - respond: {{text: {json.dumps(said)}}}"
    text = f"format: pairbench/model-script\nversion: 1\nrules:\n{rules}\n"
    script = parse_model_script(text.encode(), "script.yaml").json_value()
    play = recorded(request("a"), policy={"name": "script", "version": 1}, script=script)
    status, pieces = ask(play(), request("a"))
    assert status == 200
    assert json.loads(b"".join(pieces))["content"][0]["text"] == said
