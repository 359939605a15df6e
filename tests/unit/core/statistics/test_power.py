import math
from decimal import Decimal

import numpy as np
import pytest

from runner.core.quantities import Unavailable
from runner.core.statistics.bootstrap import Sample
from runner.core.statistics.power import (
    Variances,
    detectable,
    needed_repetitions,
    observed_variances,
    stated_variances,
)
from runner.core.statistics.spread import Spread, ratio_spread


def study(tasks: int, repetitions: int, seed: int, effect: float = 0.0) -> Sample:
    """Log-normal costs: task sd 0.6, treatment by task sd 0.2, repetition sd 0.3."""
    generator = np.random.default_rng([seed, tasks, repetitions])
    level = 11.5 + generator.normal(0, 0.6, (tasks, 1))
    own = generator.normal(effect, 0.2, (tasks, 1))
    shape = (tasks, repetitions)
    arms = [np.exp(level + added + generator.normal(0, 0.3, shape)).astype(np.int64).ravel() for added in (0, own)]
    return Sample((repetitions,) * tasks, np.array(arms), np.ones(tasks * repetitions, np.int64))


def test_the_detectable_effect_of_ten_degrees_of_freedom() -> None:
    """(2.228139 + 0.879058) standard errors of 0.1, from tables of Student's t."""
    assert float(detectable(Spread(Decimal("0.01"), Decimal(11)), 950_000)) == pytest.approx(0.3107197, abs=2e-7)


def test_an_effect_of_the_detectable_size_is_seen_as_often_as_said() -> None:
    """300 studies of 20 tasks and 3 repetitions with that effect: 80 % have a t interval without 1."""
    stated = stated_variances(600, 200, 300).spread(20, 3)
    effect = float(detectable(stated, 950_000))
    seen = 0
    for number in range(300):
        sums = study(20, 3, number, effect).task_sums(1)
        found = ratio_spread(sums)
        assert isinstance(found, Spread)
        # The true ratio of expected totals is the effect times exp(0.2**2 / 2), the mean of a log-normal reaction.
        log_ratio = math.log(sum(sums.treatment) / sum(sums.control)) - 0.2**2 / 2
        seen += log_ratio > 2.16 * math.sqrt(float(found.variance))
    assert 0.70 < seen / 300 < 0.90


def test_stated_variances_of_one_task() -> None:
    """Logarithmic sds 0, 0.2 and 0.3: exp(0.04) - 1 of tasks, 2 exp(0.04) (exp(0.09) - 1) of repetitions."""
    found = stated_variances(0, 200, 300)
    assert float(found.of_tasks) == pytest.approx(0.0408108)
    assert float(found.of_repetitions) == pytest.approx(0.1960352)
    assert found.effective_tasks == 1


def test_a_pilot_shows_both_parts() -> None:
    """The mean of 200 pilots of 30 tasks and 3 repetitions is what the stated sds give, within a tenth or so."""
    stated = stated_variances(600, 200, 300)
    pilots = [observed_variances(study(30, 3, number), 1) for number in range(200)]
    known = [pilot for pilot in pilots if isinstance(pilot, Variances)]
    assert len(known) == 200
    assert float(sum(pilot.of_repetitions for pilot in known)) / 200 == pytest.approx(
        float(stated.of_repetitions) / 90, rel=0.15
    )
    assert float(sum(pilot.of_tasks for pilot in known)) / 200 == pytest.approx(float(stated.of_tasks) / 30, rel=0.25)


def test_a_pilot_at_its_own_size_has_its_own_spread() -> None:
    """Unless repetitions explain more than all of it, the parts add up to the whole."""
    pilot = study(30, 3, 6)
    found, whole = observed_variances(pilot, 1), ratio_spread(pilot.task_sums(1))
    assert isinstance(found, Variances)
    assert isinstance(whole, Spread)
    assert float(found.spread(30, 3).variance) == pytest.approx(float(whole.variance))


def test_a_pilot_without_repetitions_says_nothing_of_them() -> None:
    """One repetition a task can't tell what repetitions vary by."""
    assert observed_variances(study(12, 1, 1), 1) == Unavailable(
        "no task has a second repetition: what repetitions vary by can't be told"
    )


def test_needed_repetitions_are_the_fewest_that_do() -> None:
    """One less doesn't see the effect; an effect that tasks' own reactions hide asks for tasks."""
    variances = stated_variances(300, 100, 300)
    wanted = Decimal("0.15")
    found = needed_repetitions(variances, 20, wanted, 950_000)
    assert isinstance(found, int)
    assert (
        detectable(variances.spread(20, found), 950_000)
        <= wanted
        < detectable(variances.spread(20, found - 1), 950_000)
    )
    assert needed_repetitions(variances, 20, Decimal("0.05"), 950_000) == Unavailable(
        "more than 1000 repetitions of 20 tasks would be needed: add tasks instead"
    )
