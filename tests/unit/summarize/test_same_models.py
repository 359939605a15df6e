"""Did the same models answer in every arm? Asked of arms that ask a model, and of no other."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from runner.summarize.checks import same_models

if TYPE_CHECKING:
    from runner.summarize.folds import Folds


@pytest.mark.parametrize(
    ("models", "checked", "failed"),
    [
        ({"off": {"a"}, "on": {"a"}}, 2, ()),
        ({"off": {"a"}, "on": {"b"}}, 2, ("off", "on")),
        ({"off": {"a"}, "on": {"a", "b"}}, 2, ("off",)),
        ({"off": set(), "merge": set(), "on": {"a"}, "on-second": {"a"}}, 2, ()),
        ({"off": set(), "on": {"a"}, "on-second": {"b"}}, 2, ("on", "on-second")),
        ({"off": set(), "on": set()}, 0, ()),
    ],
)
def test_an_arm_that_asks_no_model_differs_from_none(
    models: dict[str, set[str]], checked: int, failed: tuple[str, ...]
) -> None:
    """A memory that merges by a rule isn't another model's."""
    arms = {name: SimpleNamespace(models=found, completed=3) for name, found in models.items()}
    found = same_models(cast("Folds", SimpleNamespace(arms=arms)))
    assert (found.checked, found.failed, found.passed) == (checked, failed, not failed)
