import math

import numpy as np

from runner.core.statistics.draws import Design, block_counts, drawn_tasks, noise, task_counts


def counts(design: Design) -> np.ndarray:
    return np.concatenate([part for _, part in block_counts(design)])


def test_draws_follow_from_the_seed_text_alone() -> None:
    """The literal draws hold on every platform and NumPy version: PCG64's raw stream is part of its contract."""
    assert drawn_tasks("pairbench", 5, 3).tolist() == [[1, 2, 3, 3, 3], [3, 4, 4, 3, 2], [0, 3, 2, 1, 2]]
    assert drawn_tasks("another", 5, 3).tolist()[0] != [1, 2, 3, 3, 3]


def test_block_counts_follow_from_the_seed_text_alone() -> None:
    """Two levels, tasks with different numbers of repetitions: the literal counts hold everywhere."""
    assert counts(Design("pairbench", 3, (2, 1, 3))).tolist() == [
        [0, 0, 3, 0, 0, 0],
        [0, 0, 1, 4, 1, 1],
        [0, 0, 1, 2, 3, 1],
    ]


def test_tasks_are_drawn_uniformly() -> None:
    """Each of 7 tasks is drawn as often as the others, within five standard errors."""
    found = np.bincount(drawn_tasks("uniform", 7, 10_000).ravel(), minlength=7)
    assert found.shape == (7,)
    assert abs(found - 10_000).max() < 5 * math.sqrt(70_000 * (1 / 7) * (6 / 7))


def test_repetitions_are_drawn_uniformly_within_their_task() -> None:
    """Each block of a task of 3 stands as often as the others; a task's blocks are as many as it was drawn times 3."""
    design = Design("blocks", 5_000, (3, 3, 3, 3))
    found = counts(design)
    expected = 5_000.0
    assert abs(found.sum(axis=0) - expected).max() < 5 * math.sqrt(4 * expected)
    tasks = np.concatenate([part for _, part in task_counts(design)])
    assert (found.reshape(5_000, 4, 3).sum(axis=2) == 3 * tasks).all()


def test_one_level_keeps_every_repetition_of_a_drawn_task() -> None:
    """A drawn task brings all its blocks."""
    found = counts(Design("one", 100, (2, 1, 3), 1))
    assert (found[:, 0] == found[:, 1]).all()
    assert (found[:, [0, 2, 3]].sum(axis=1) == 3).all()


def test_single_repetitions_leave_one_level() -> None:
    """Nothing is left to draw within a task that has one block."""
    assert Design("x", 9, (1, 1, 1)).drawn_levels == 1
    assert Design("x", 9, (1, 2, 1)).drawn_levels == 2


def test_draws_do_not_depend_on_how_many_are_made_at_once() -> None:
    """The first resamples of a long run are those of a short one, beyond the size of a portion too."""
    long, short = Design("x", 600, (70, 65) * 20), Design("x", 40, (70, 65) * 20)
    assert (counts(long)[:40] == counts(short)).all()


def test_noise_is_about_standard_normal() -> None:
    """Twelve uniform integers less their mean: mean 0, variance 1, in units of 1/65536."""
    found = noise("noise", 40_000) / 65_536
    assert abs(found.mean()) < 5 / math.sqrt(40_000)
    assert abs(found.std() - 1) < 0.02
