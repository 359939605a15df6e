"""Bodies are read line by line, and never more than their exchanges declare."""

from __future__ import annotations

import json
import tracemalloc

import pytest
import zstandard

from runner.core.bodies import Bodies, read_bodies
from runner.core.errors import EvidenceError
from runner.core.evidence import Exchange
from tests.fakes.attempts import exchange
from tests.fakes.bodies import packed


def declared(*sizes: tuple[int, int]) -> list[Exchange]:
    """Exchanges 1, 2, … with bodies of those sizes."""
    lines = (
        exchange(seq, request_bytes=asked, response_bytes=answered) for seq, (asked, answered) in enumerate(sizes, 1)
    )
    return [Exchange.model_validate_json(json.dumps(line)) for line in lines]


def test_frames_behind_one_another_are_one_file() -> None:
    """In their own order, which is that in which exchanges ended."""
    data = packed(
        {"seq": 2, "request": "a", "response": {"base64": "AA=="}}, {"seq": 1, "request": "b", "response": ""}
    )
    found = list(read_bodies(data, declared((1, 0), (1, 1))))
    assert found == [Bodies(2, "a", {"base64": "AA=="}), Bodies(1, "b", "")]
    assert list(read_bodies(b"", ())) == []


def test_a_line_longer_than_a_piece_is_whole() -> None:
    """However the reader cuts it."""
    text = "x" * 1_000_000
    data = packed({"seq": 1, "request": "", "response": text}, {"seq": 2, "request": text, "response": ""})
    assert [
        (len(str(one.request)), len(str(one.response))) for one in read_bodies(data, declared((0, 10**6), (10**6, 0)))
    ] == [
        (0, 1_000_000),
        (1_000_000, 0),
    ]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"plain", "not what a gateway packed"),
        (packed("no JSON"), "not JSON"),
        (packed("[]"), "a line isn't that of an exchange"),
        (packed({"seq": True, "request": "", "response": ""}), "a line isn't that of an exchange"),
        (packed({"seq": 1, "request": ""}), "a line isn't that of an exchange"),
        (packed({"seq": 3, "request": "", "response": ""}), "exchange 3 has a line that it can't have"),
        (packed(*[{"seq": 1, "request": "", "response": ""}] * 2), "exchange 1 has a line that it can't have"),
        (packed({"seq": 1, "request": "x" * 200, "response": ""}), "exchange 1 has a line that it can't have"),
        (zstandard.compress(b'{"seq":1,'), "ends within a line"),
    ],
    ids=["plain", "text", "list", "flag", "half", "unknown", "twice", "longer", "torn"],
)
def test_damage_is_told(data: bytes, reason: str) -> None:
    """A file that no gateway wrote is refused, and so is one that doesn't fit to its exchanges."""
    with pytest.raises(EvidenceError, match=reason):
        list(read_bodies(data, declared((2, 2), (10_000, 2))))


def test_a_bomb_takes_no_memory() -> None:
    """What a few kilobytes unpack to is given up as soon as it is more than was declared."""
    bomb = zstandard.compress(b"x" * 200_000_000)
    assert len(bomb) < 20_000
    exchanges = declared((100, 100))
    tracemalloc.start()
    try:
        with pytest.raises(EvidenceError, match="holds more than its exchanges declare"):
            list(read_bodies(bomb, exchanges))
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()


def test_a_frame_may_not_ask_for_a_large_window() -> None:
    """Memory is for the line, not for what a frame would like to look back on."""
    parameters = zstandard.ZstdCompressionParameters(window_log=27, enable_ldm=True)
    packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    data = packer.compress(b'{"seq":1,"request":"","response":""}\n') + packer.flush()
    with pytest.raises(EvidenceError, match="not what a gateway packed"):
        list(read_bodies(data, declared((10, 10))))
