"""The doctor on a real engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from runner.adapters.host import host_facts
from runner.core.doctor import EngineFacts, diagnose

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.docker
def test_the_engine_of_the_tests_is_ready(engine_address: str, tmp_path: Path) -> None:
    """The engine that Docker tests run on is one that the doctor finds nothing missing in."""
    facts = host_facts(tmp_path, {"DOCKER_HOST": engine_address})
    assert isinstance(facts.engine, EngineFacts)
    assert facts.engine.address == engine_address
    subjects = {finding.subject: finding.state for finding in diagnose(facts).findings}
    assert subjects["engine"] == "ok"
    assert subjects["control groups"] == "ok"
    assert subjects["seccomp"] == "ok"
