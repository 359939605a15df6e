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


def test_the_name_of_a_volume_tells_nobody_what_it_belongs_to() -> None:
    """A client reads the names of its mounts: they differ by every part, and hold none of them."""
    name = volume_name("faults-clients-20261129t204408z-12-1", "pod")
    assert name == "pairbench-bda211526476e546d344612d9544158f"
    assert name != volume_name("faults-clients-20261129t204408z-12-1", "trial-in")
    assert name != volume_name("faults-clients-20261129t204408z-12-2", "pod")
