"""Claude Code against a provider over TLS that cuts, substitutes and keeps silent: the same findings as in scripted runs."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from tests.docker.test_live_run import keyed, live, provider, records
from tests.fakes.provider import Provider, Reply, Seen, agent

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from tests.docker.conftest import Program

pytestmark = pytest.mark.docker

__all__ = ["keyed", "provider"]

STUDY = """format = "pairbench/study"
version = 1
name = "parting"
seed = "parting 1"
repetitions = 1
control = "plain"

[corpora]
notes = "../{corpora}/notes/corpus.toml"

[client]
kind = "claude-code"
model = "claude-sonnet-4-5"

[model]
{model}
[limits]
wall_s = 60

[schedule]
slots = 2
attempts = 1

[[arms]]
name = "plain"

[[arms]]
name = "guided"
env = {{ GUIDE = "yes" }}
"""
TASK = """
[[tasks]]
id = "{id}"
corpus = "notes"
prompt = "To what was `max_incomplete_event_size` raised, and where? {word}"
"""
# What a prompt ends with, and the findings of its trials.
PARTINGS = {
    "one": ("Quote it.", []),
    "two": (
        "Name the file.",
        ["client_retries", "cut_stream", "cut_stream_counted", "resent_requests", "usage_missing"],
    ),
    "three": ("Name the line.", ["model_substituted"]),
    "four": ("Say when.", ["usage_missing", "usage_missing"]),
}
FIRST_PIECES = 4


def parting(honest: str = "claude-haiku-4-5") -> object:
    """The behaviour: cuts the first answer of each session of `two`, answers `three` with another model, `four` silently."""
    plays, substitutes = agent(), agent(lambda _: honest)
    begun: set[bytes] = set()

    async def behave(seen: Seen, number: int) -> Reply:
        word = next((name for name, (end, _) in PARTINGS.items() if end.encode() in seen.body), "one")
        reply = await (substitutes if word == "three" else plays)(seen, number)
        session = seen.header(b"x-claude-code-session-id") or b""
        assert not isinstance(reply.pieces, (bytes, str))
        pieces = list(reply.pieces)  # type: ignore[arg-type]
        if word == "four":
            return Reply(reply.status, reply.headers, [silent(piece) for piece in pieces], whole=False)
        if word == "two" and session not in begun:
            begun.add(session)
            return Reply(reply.status, reply.headers, paced(pieces[:FIRST_PIECES]), breaks=True)
        return reply

    return behave


async def paced(pieces: Sequence[bytes]) -> AsyncIterator[bytes]:
    """Slowly enough for a client to have read each piece before the next."""
    for piece in pieces:
        yield piece
        await asyncio.sleep(0.1)


def silent(event: bytes) -> bytes:
    """The event, or the whole answer, without any usage."""
    head, mark, data = event.partition(b"data: ")
    if not mark:
        head, data = b"", event
    document = json.loads(data)
    document.pop("usage", None)
    if isinstance(document.get("message"), dict):
        document["message"].pop("usage", None)
    return head + mark + json.dumps(document).encode() + (b"\n\n" if mark else b"")


def test_a_provider_s_partings_are_found(keyed: Program, corpora: str, provider: Provider) -> None:
    """Each kind in its trials, none in those where all is well; the summary counts them."""
    study = keyed.folder / "study" / "parting.toml"
    tasks = "".join(TASK.format(id=name, word=end) for name, (end, _) in PARTINGS.items())
    study.write_text(STUDY.format(corpora=corpora, model=live(provider)) + tasks, "utf-8")
    behaviour, provider.behaviour = provider.behaviour, parting()  # type: ignore[assignment]
    try:
        done = keyed("run", study, "--json")
    finally:
        provider.behaviour = behaviour
    assert done.returncode == 0, done.stderr
    found = {(record["task"], record["arm"]): record for record in records(keyed.run)}
    for name, (_, kinds) in PARTINGS.items():
        for arm in ("plain", "guided"):
            record = found[name, arm]
            assert record["outcome"] == "completed"
            assert sorted(item["kind"] for item in record["findings"]) == kinds, (name, arm, record["findings"])
    (substituted,) = found["three", "plain"]["findings"]
    assert substituted["detail"].startswith("claude-sonnet-4-5 -> claude-haiku-4-5: exchange 1")
    assert {usage["model"] for usage in found["three", "plain"]["observed"]} == {"claude-haiku-4-5"}
    groups = {group["kind"]: group["count"] for group in json.loads(done.stdout)["findings"]}
    assert {kind: groups[kind] for kind in ("cut_stream_counted", "model_substituted", "usage_missing")} == {
        "cut_stream_counted": 2,
        "model_substituted": 2,
        "usage_missing": 6,
    }
