"""Labels tell who made something; what they don't tell completely belongs to nobody of ours."""

from __future__ import annotations

import pytest

from runner.core.owner import RUN, Owner, owner_of, volume_name

OWNER = Owner("host", "boot-1", 4711, "98765")


def test_labels_read_back() -> None:
    """Whatever else is on the container."""
    labels = {**OWNER.labels("demo-1"), "pairbench.role": "trial", "other": "x"}
    assert owner_of(labels) == OWNER
    assert labels[RUN] == "demo-1"


@pytest.mark.parametrize("name", ["pairbench.host", "pairbench.boot", "pairbench.process", "pairbench.process-started"])
def test_incomplete_labels_name_nobody(name: str) -> None:
    """The reaper leaves alone what it isn't sure of."""
    labels = OWNER.labels("demo-1")
    del labels[name]
    assert owner_of(labels) is None


def test_a_process_without_a_number_is_nobody() -> None:
    """Labels can be written by anybody."""
    assert owner_of({**OWNER.labels("demo-1"), "pairbench.process": "x"}) is None
    assert owner_of({}) is None
