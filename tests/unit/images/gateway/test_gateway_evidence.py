"""Evidence: whole lines, within a cap."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from typing import TYPE_CHECKING

import pytest
from gateway.evidence import Evidence, EvidenceError
from gateway.exchange import (
    Answer,
    Exchange,
    Observation,
    Recording,
    Request,
    Usage,
    exchange_document,
    retry_count,
)
from gateway.imprint import STRETCH_BYTES

from tests.fakes.bodies import lines_of

if TYPE_CHECKING:
    from pathlib import Path


def exchange(seq: int = 1, body: bytes = b"{}", headers: tuple[tuple[str, str], ...] = ()) -> Exchange:
    made = Exchange(seq, 100, Request("POST", "/v1/messages?beta=true", headers, body))
    made.status, made.first_byte_ns, made.last_byte_ns = 200, 150, 200
    made.take(b"answer")
    return made


def lines(directory: Path, name: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (directory / name).read_text().splitlines()]


def bodies(directory: Path) -> list[dict[str, object]]:
    return lines_of((directory / "bodies.jsonl.zst").read_bytes())


def test_the_directory_is_closed_to_others(tmp_path: Path) -> None:
    """Only the gateway's user may read what was said."""
    Evidence(str(tmp_path / "gateway"), 10_000)
    assert stat.S_IMODE(os.stat(tmp_path / "gateway").st_mode) == 0o700


def test_evidence_is_never_overwritten(tmp_path: Path) -> None:
    """A directory that holds evidence already is refused."""
    Evidence(str(tmp_path), 10_000)
    with pytest.raises(EvidenceError):
        Evidence(str(tmp_path), 10_000)


def test_an_exchange_and_its_bodies_are_written(tmp_path: Path) -> None:
    """Both files hold a line of it; the digests are of the bytes."""
    evidence = Evidence(str(tmp_path), 100_000)
    made = exchange()
    evidence.record(made, evidence.reserve(made.request, 6))
    assert bodies(tmp_path) == [{"seq": 1, "request": "{}", "response": "answer"}]
    (written,) = lines(tmp_path, "exchanges.jsonl")
    assert written["request_sha256"] == "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert (written["request_bytes"], written["response_bytes"]) == (2, 6)


def test_a_body_that_is_no_text_is_kept_in_base64(tmp_path: Path) -> None:
    """No byte of a body is lost, so its digest can be checked."""
    evidence = Evidence(str(tmp_path), 100_000)
    made = exchange(body=b"\xff\x00")
    evidence.record(made, evidence.reserve(made.request, 6))
    assert bodies(tmp_path)[0]["request"] == {"base64": "/wA="}


def test_the_cap_is_never_passed(tmp_path: Path) -> None:
    """What doesn't fit is refused for good; lines of refusals fill what is left, and the rest is counted."""
    evidence = Evidence(str(tmp_path), 20_000)
    reserved = evidence.reserve(exchange(1, b"x" * 8000).request, 1000)
    assert reserved is not None
    assert evidence.reserve(exchange(1, b"x" * 8000).request, 1000) is None
    assert evidence.reserve(exchange(1, b"").request, 0) is None
    evidence.record(exchange(1, b"x" * 8000), reserved)
    for seq in range(2, 60):
        evidence.record(exchange(seq), None)
    written = lines(tmp_path, "exchanges.jsonl")
    assert len(written) + evidence.unrecorded == 59
    assert evidence.unrecorded > 0
    assert sum(os.path.getsize(tmp_path / name) for name in ("exchanges.jsonl", "bodies.jsonl.zst")) <= 20_000


def test_room_that_was_released_is_free(tmp_path: Path) -> None:
    """An exchange that ends without a body takes nothing away from later ones."""
    evidence = Evidence(str(tmp_path), 20_000)
    for _ in range(10):
        reserved = evidence.reserve(exchange(1, b"x" * 8000).request, 1000)
        assert reserved is not None
        evidence.release(reserved)


def test_a_full_disk_leaves_only_whole_lines(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A line that was cut short is taken back, the loss is remembered, and nothing more is admitted."""
    evidence = Evidence(str(tmp_path), 100_000)
    evidence.record(exchange(1), evidence.reserve(exchange().request, 6))
    write = os.write

    def fails_half_way(file: int, data: bytes) -> int:
        if len(data) > 10:
            return write(file, data[:10])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda file, data: fails_half_way(file, data[:20]))
        reserved = evidence.reserve(exchange().request, 6)
        with pytest.raises(EvidenceError, match="No space left"):
            evidence.record(exchange(2), reserved)
    assert [line["seq"] for line in bodies(tmp_path)] == [1]
    assert evidence.broken
    assert evidence.reserve(exchange(1, b"").request, 0) is None


def test_a_long_answer_is_looked_at_while_it_is_sent(tmp_path: Path) -> None:
    """Its line and digest are those of the whole, and so is what counts against the cap."""
    evidence = Evidence(str(tmp_path), 100_000_000)
    made, piece = exchange(), b'data: {"x": "\xc3\xbc"}\n\n' * 10_000
    for _ in range(20):
        made.take(piece)
        evidence.look_ahead(made)
        assert made.held_bytes < STRETCH_BYTES
    evidence.record(made, evidence.reserve(made.request, len(piece) * 20))
    assert bodies(tmp_path) == [{"seq": 1, "request": "{}", "response": "answer" + piece.decode() * 20}]
    (written,) = lines(tmp_path, "exchanges.jsonl")
    assert written["response_sha256"] == "sha256:" + hashlib.sha256(b"answer" + piece * 20).hexdigest()
    assert written["response_bytes"] == 6 + len(piece) * 20


def test_an_answer_that_finds_no_room_on_its_way_has_its_digest(tmp_path: Path) -> None:
    """What was packed of it until then is given up."""
    evidence = Evidence(str(tmp_path), 100_000_000)
    made = exchange()
    made.take(b"x" * 300_000)
    evidence.look_ahead(made)
    made.keeps_bodies = False
    made.take(b"y" * 300_000)
    evidence.look_ahead(made)
    evidence.record(made, evidence.reserve(made.request, 0))
    assert bodies(tmp_path) == []
    expected = hashlib.sha256(b"answer" + b"x" * 300_000 + b"y" * 300_000).hexdigest()
    assert lines(tmp_path, "exchanges.jsonl")[0]["response_sha256"] == "sha256:" + expected


def test_bodies_may_be_left_out(tmp_path: Path) -> None:
    """Their digests and sizes stay; they take no room."""
    evidence = Evidence(str(tmp_path), 20_000, bodies=False)
    made = exchange(body=b"x" * 100_000)
    made.take(b"y" * 300_000)
    evidence.look_ahead(made)
    reserved = evidence.reserve(made.request, 300_006)
    assert reserved == evidence.reserve(exchange().request, 0)
    evidence.record(made, reserved)
    assert [path.name for path in tmp_path.iterdir()] == ["exchanges.jsonl"]
    (written,) = lines(tmp_path, "exchanges.jsonl")
    assert (written["request_bytes"], written["response_bytes"]) == (100_000, 300_006)
    assert written["response_sha256"] == "sha256:" + hashlib.sha256(b"answer" + b"y" * 300_000).hexdigest()


@pytest.mark.parametrize(
    ("status", "header", "kept"),
    [
        (429, ("Retry-After", "7"), "7"),
        (529, ("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT"), "Wed, 21 Oct 2026 07:28:00 GMT"),
        (503, ("retry-after", "9" * 100), "9" * 64),
        (200, ("retry-after", "7"), None),
        (429, ("x-other", "7"), None),
    ],
)
def test_how_long_a_provider_asks_to_wait_is_kept(status: int, header: tuple[str, str], kept: str | None) -> None:
    """In its own words, where it has no room now."""
    made = exchange()
    made.note_answer(
        Answer(status, (header,), b"", 0, lambda: Observation(None, None, None, False, Usage(1, 2, 3, 4, 5)))
    )
    assert exchange_document(made).get("retry_after") == kept


def test_usage_is_measured_or_a_reason() -> None:
    """A missing usage is never a zero."""
    made = exchange()
    assert exchange_document(made)["usage"] == {"unavailable": "no answer was made"}
    made.observation = Observation("asked", "resolved", "end_turn", True, Usage(1, 2, 3, 4, 5))
    assert exchange_document(made)["usage"] == {
        "input_tokens": 1,
        "output_tokens": 2,
        "cache_read_input_tokens": 3,
        "cache_write_5m_input_tokens": 4,
        "cache_write_1h_input_tokens": 5,
    }


@pytest.mark.parametrize(
    ("text", "count"), [("0", 0), ("3", 3), ("-1", None), ("x", None), ("", None), ("9" * 99, None)]
)
def test_the_client_s_own_count_of_attempts_is_read(text: str, count: int | None) -> None:
    """What isn't a count is no count."""
    assert retry_count(exchange(headers=(("x-stainless-retry-count", text),)).request) == count
    assert retry_count(exchange().request) is None


def test_what_a_provider_says_beyond_unicode_is_written_down(tmp_path: Path) -> None:
    """Half of a surrogate pair in a model's name, a stop reason or a detail costs nobody the exchange's line."""
    evidence = Evidence(str(tmp_path), 100_000, recording=True)
    made = exchange()
    usage = Usage(1, 2, 0, 0, 0)
    made.observation = Observation("m", "x\ud800y", "\udfff", True, usage, details={"service_tier": "\ud83d"})
    made.recording = Recording("sha256:0", {})
    evidence.record(made, evidence.reserve(made.request, 6))
    (written,) = lines(tmp_path, "exchanges.jsonl")
    assert (written["model_resolved"], written["stop_reason"]) == ("x?y", "?")
    assert written["details"] == {"service_tier": "?"}
    (recorded,) = lines(tmp_path, "recording.jsonl")
    assert recorded["seq"] == 1
