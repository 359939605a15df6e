"""The usage rule byte-quarter-1 and the prompt cache on its logical clock."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from gateway.messages_request import parse_request
from gateway.prompt_cache import InputTokens, PromptCache, check_breakpoints
from gateway.provider_errors import RefusedError
from gateway.usage import Segment, canonical, output_tokens, request_segments, tokens


def segment(name: str, size: int, ttl: Literal["5m", "1h"] | None = None) -> Segment:
    return Segment(name.encode(), size, ttl)


def segments_of(**changes: Any) -> tuple[Segment, ...]:
    document = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]} | changes
    return request_segments(parse_request(json.dumps(document).encode(), counting=False))


@pytest.mark.parametrize(("size", "expected"), [(0, 0), (1, 1), (4, 1), (5, 2), (4096, 1024)])
def test_a_token_is_a_quarter_of_the_bytes_rounded_up(size: int, expected: int) -> None:
    """Four bytes make a token, and a begun one counts."""
    assert tokens(b"x" * size) == expected


def test_characters_count_by_their_utf8_bytes() -> None:
    """A text outside of ASCII isn't escaped before it is counted."""
    assert canonical({"b": "ü", "a": 1}) == b'{"a":1,"b":"\xc3\xbc"}'


def test_long_texts_have_the_same_canonical_bytes() -> None:
    """They are written in pieces, which shows nowhere."""
    long = 'a"ü\U0001f600\n' * 300_000
    value = {"b": [long, {"k": None, "a": [1, True, "x"]}], long: 2, "a": long}
    written = canonical(value)
    assert written == json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def test_segments_stand_in_the_order_of_the_prompt() -> None:
    """Tools come first, then the system prompt, then the messages."""
    found = segments_of(tools=[{"name": "Grep"}], system="S", messages=[{"role": "user", "content": "hi"}])
    assert [part.canonical for part in found] == [
        b'["tool",{"name":"Grep"}]',
        b'["system",{"text":"S","type":"text"}]',
        b'["user",{"text":"hi","type":"text"}]',
    ]
    assert [part.tokens for part in found] == [6, 10, 9]


def test_a_breakpoint_does_not_change_what_it_stands_behind() -> None:
    """A client that moves its breakpoint keeps its cached prefix."""
    block = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "x"}]}
    marked = block | {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    use = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "n", "input": {}}]}
    start = {"role": "user", "content": "hi"}
    plain = segments_of(messages=[start, use, {"role": "user", "content": [block]}])
    cached = segments_of(messages=[start, use, {"role": "user", "content": [marked]}])
    assert [part.canonical for part in plain] == [part.canonical for part in cached]
    assert [part.ttl for part in cached] == [None, None, "1h"]


def test_a_breakpoint_inside_of_a_tool_result_counts() -> None:
    """Some clients mark the text within a tool's result."""
    inner = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
    use = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "n", "input": {}}]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [inner]}]}
    found = segments_of(messages=[{"role": "user", "content": "hi"}, use, result])
    assert found[-1].ttl == "5m"
    assert b"cache_control" not in found[-1].canonical


def test_a_breakpoint_of_the_whole_request_stands_behind_its_last_block() -> None:
    """Automatic caching marks the end of the prompt."""
    assert segments_of(system="S", cache_control={"type": "ephemeral"})[-1].ttl == "5m"


def test_metadata_is_not_counted() -> None:
    """Device and session identifiers vary between machines and move no token."""
    assert segments_of(metadata={"user_id": "a"}) == segments_of(metadata={"user_id": "a much longer one"})


def test_an_answer_counts_its_blocks() -> None:
    """Text and tool calls are counted as they stand in the message."""
    assert output_tokens([{"type": "text", "text": "x"}, {"type": "text", "text": "yy"}]) == 7 + 7


def test_nothing_is_cached_without_a_breakpoint() -> None:
    """All of such a prompt is plain input, however often it is sent."""
    cache = PromptCache()
    parts = [segment("a", 5000)]
    assert cache.charge("m", parts) == InputTokens(5000, 0, 0, 0)
    assert cache.charge("m", parts) == InputTokens(5000, 0, 0, 0)


def test_a_prefix_is_written_once_and_then_read() -> None:
    """The second request reads what the first wrote, writes what was added, and pays the rest as input."""
    cache = PromptCache()
    first = [segment("tools", 900), segment("system", 600, "5m"), segment("question", 50)]
    assert cache.charge("m", first) == InputTokens(50, 0, 1500, 0)
    second = [*first, segment("call", 20), segment("result", 400, "5m"), segment("more", 7)]
    assert cache.charge("m", second) == InputTokens(7, 1500, 470, 0)


def test_a_change_in_the_prefix_loses_the_cache() -> None:
    """A prefix that differs in one segment is another one, and another model has a cache of its own."""
    cache = PromptCache()
    cache.charge("m", [segment("a", 2000, "5m")])
    assert cache.charge("m", [segment("b", 2000, "5m")]) == InputTokens(0, 0, 2000, 0)
    assert cache.charge("other", [segment("a", 2000, "5m")]) == InputTokens(0, 0, 2000, 0)


def test_a_short_prefix_is_not_cached() -> None:
    """Below 1024 tokens a breakpoint does nothing."""
    cache = PromptCache()
    short = [segment("a", 1023, "5m")]
    cache.charge("m", short)
    assert cache.charge("m", short) == InputTokens(1023, 0, 0, 0)
    exact = [segment("a", 1024, "5m")]
    cache.charge("m", exact)
    assert cache.charge("m", exact) == InputTokens(0, 1024, 0, 0)


def test_a_prefix_expires_after_its_time_on_the_logical_clock() -> None:
    """Each request moves the clock by 5 s; five minutes without a read are 60 requests."""
    kept, lost = PromptCache(), PromptCache()
    prefix = [segment("a", 2000, "5m")]
    for cache, between in ((kept, 58), (lost, 59)):
        cache.charge("m", prefix)
        for _ in range(between):
            cache.charge("m", [segment("other", 10)])
    assert kept.charge("m", prefix) == InputTokens(0, 2000, 0, 0)
    assert lost.charge("m", prefix) == InputTokens(0, 0, 2000, 0)


def test_reading_keeps_a_prefix_alive() -> None:
    """A prefix read every four minutes lives on, the shorter ones below a longer one included."""
    cache = PromptCache()
    prefix = [segment("a", 2000, "5m")]
    cache.charge("m", prefix)
    for _ in range(3):
        for _ in range(47):
            cache.charge("m", [segment("other", 10)])
        assert cache.charge("m", prefix) == InputTokens(0, 2000, 0, 0)


def test_an_hour_s_prefix_outlives_five_minutes() -> None:
    """Writes of the two lifetimes are classes of their own, and an hour lasts an hour."""
    cache = PromptCache()
    parts = [segment("a", 2000, "1h"), segment("b", 300, "5m")]
    assert cache.charge("m", parts) == InputTokens(0, 0, 300, 2000)
    for _ in range(100):
        cache.charge("m", [segment("other", 10)])
    assert cache.charge("m", parts) == InputTokens(0, 2000, 300, 0)


def test_a_prefix_is_searched_for_twenty_blocks_back_and_no_further() -> None:
    """A request that adds more blocks than the look-back finds nothing, as at the provider."""
    near, far = PromptCache(), PromptCache()
    for cache, added, read in ((near, 20, 2000), (far, 21, 0)):
        cache.charge("m", [segment("a", 2000, "5m")])
        grown = [segment("a", 2000), *(segment(f"b{i}", 1) for i in range(added - 1)), segment("end", 1, "5m")]
        assert cache.charge("m", grown).cache_read == read


@pytest.mark.parametrize(
    ("ttls", "message"),
    [
        (["5m"] * 5, "A maximum of 4 blocks with cache_control may be provided. Found 5."),
        (["5m", "1h"], "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block."),
    ],
)
def test_breakpoints_that_the_provider_refuses_are_refused(ttls: list[Literal["5m", "1h"]], message: str) -> None:
    """At most four, and the longer life first."""
    with pytest.raises(RefusedError) as caught:
        check_breakpoints([segment("a", 1, ttl) for ttl in ttls])
    assert caught.value.message == message


@pytest.mark.parametrize(
    "control", [{"type": "forever"}, {"type": "ephemeral", "ttl": "2h"}, "ephemeral", {"type": "ephemeral", "ttl": []}]
)
def test_an_unknown_breakpoint_is_refused(control: object) -> None:
    """A lifetime that has no price isn't guessed."""
    block = {"type": "text", "text": "x", "cache_control": control}
    with pytest.raises(RefusedError):
        segments_of(messages=[{"role": "user", "content": [block]}])
