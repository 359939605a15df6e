"""Bodies may be left out of the evidence, but not of a recording."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from runner.core.study import ModelChoice

MODEL: TypeAdapter[ModelChoice] = TypeAdapter(ModelChoice)
SCRIPTED = {"mode": "scripted", "policy": "plain-agent"}
LIVE = {"mode": "live", "base_url": "https://provider.test"}
REPLAY = {"mode": "replay", "cassette": "cassette.jsonl"}


@pytest.mark.parametrize("model", [SCRIPTED, LIVE, LIVE | {"mode": "record"}, REPLAY, SCRIPTED | {"record": True}])
def test_bodies_are_kept_unless_the_study_says_otherwise(model: dict[str, Any]) -> None:
    """In every mode."""
    assert MODEL.validate_python(model).bodies == "kept"


@pytest.mark.parametrize("model", [SCRIPTED, LIVE, REPLAY])
def test_bodies_may_be_left_out(model: dict[str, Any]) -> None:
    """Where nothing is to be played again."""
    assert MODEL.validate_python(model | {"bodies": "left_out"}).bodies == "left_out"


@pytest.mark.parametrize("model", [SCRIPTED | {"record": True}, LIVE | {"mode": "record"}])
def test_a_recording_needs_its_bodies(model: dict[str, Any]) -> None:
    """Whoever plans such a study is told why it can't be."""
    with pytest.raises(
        ValidationError, match="bodies can't be left_out of a recording: a cassette is made of them"
    ) as caught:
        MODEL.validate_python(model | {"bodies": "left_out"})
    assert [item["loc"] for item in caught.value.errors()] == [(model["mode"], "bodies")]
