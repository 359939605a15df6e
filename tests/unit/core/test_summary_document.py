import pytest

from runner.core.canonical import Json, sha256_digest
from runner.core.errors import EvidenceError
from runner.core.summary import Summary
from runner.summarize.seal import open_sealed, seal
from runner.summarize.summary import summarize
from tests.fakes.records import RunSpec, make_run

RUN = make_run(RunSpec(tasks=("a", "b"), repetitions=1))
SUMMARY = summarize(RUN.context, RUN.plan, RUN.records, RUN.scores)


def test_a_summary_reads_back_as_itself() -> None:
    """Bytes, document, bytes: nothing is lost."""
    data = SUMMARY.to_bytes()
    assert Summary.from_bytes(data, "summary.json") == SUMMARY
    assert Summary.from_bytes(data, "summary.json").to_bytes() == data


def test_a_summary_holds_no_float_and_no_null() -> None:
    """Missing is said with a reason, figures are integers."""

    def walk(value: Json) -> None:
        assert not isinstance(value, float)
        assert value is not None
        if isinstance(value, dict):
            for item in value.values():
                walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)

    walk(SUMMARY.json_value())


def test_a_summary_names_everything_that_it_was_computed_from() -> None:
    """Plan and price table are digested here; the rest comes from the context."""
    assert SUMMARY.inputs.plan == RUN.plan.digest()
    assert SUMMARY.inputs.price_table == RUN.context.prices.digest()
    assert SUMMARY.inputs.records == RUN.context.sources.records
    assert (SUMMARY.evidence, SUMMARY.model.shown) == ("fixture", "scripted-policy (fixture)")
    assert SUMMARY.model.price_model == "claude-sonnet-4-5"


def test_sealed_bytes_open_only_as_they_were_sealed() -> None:
    """Any changed byte breaks the seal; so does a checksum of other bytes."""
    sealed = seal(SUMMARY)
    assert sealed.checksum_bytes.endswith(b"  summary.json\n")
    assert open_sealed(sealed.summary_bytes, sealed.checksum_bytes) == SUMMARY
    for position in (0, len(sealed.summary_bytes) // 2, len(sealed.summary_bytes) - 1):
        changed = bytearray(sealed.summary_bytes)
        changed[position] ^= 1
        with pytest.raises(EvidenceError, match="its bytes are not those that were sealed"):
            open_sealed(bytes(changed), sealed.checksum_bytes)


def test_another_spelling_of_the_same_summary_is_refused() -> None:
    """A checksum that was made anew doesn't make bytes canonical."""
    spaced = SUMMARY.to_bytes().replace(b'"evidence":', b'"evidence": ', 1)
    digest = sha256_digest(spaced).removeprefix("sha256:").encode()
    with pytest.raises(EvidenceError, match="not canonical"):
        open_sealed(spaced, digest + b"  summary.json\n")
