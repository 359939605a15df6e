"""Which blocks stand how often in each resample? The same on every platform, from a text alone.

Tasks are drawn with replacement; within each drawn task its repetitions are drawn with replacement, whole blocks, so
that the arms of a block stay together. The SHA-256 of a text seeds NumPy's PCG64 (bit generators keep their streams
across versions and platforms); tasks and repetitions have streams of their own.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from runner.core.statistics.exact import Floats, Integers

GENERATOR: Final = (
    "PCG64 seeded with the SHA-256 of the seed text, for repetitions of the seed text and '\\nrepetitions'; a task is "
    "the high 32 bits of (high 32 bits of a raw draw x tasks); a repetition the same of 16 bits (32 where a task has "
    "more than 64), taken from raw draws lowest bits first, each resample from a raw draw of its own"
)

# Repetitions drawn at once: bounds memory at some 40 MB, whatever the study's size.
_AT_ONCE: Final = 1 << 20
_FEW_REPETITIONS: Final = 64
# Draws of tasks that are kept, for a median of the same tasks to use; a larger number is drawn again: 32 MB.
_KEPT: Final = 1 << 23


@dataclass(frozen=True)
class Design:
    """What is drawn from: tasks, each with its number of blocks, and whether those are drawn too."""

    seed: str
    resamples: int
    repetitions: tuple[int, ...]
    """Of each task, at least 1."""
    levels: Literal[1, 2] = 2

    @property
    def blocks(self) -> int:
        """The blocks of all tasks."""
        return sum(self.repetitions)

    @property
    def starts(self) -> Integers:
        """Where the blocks of each task begin."""
        return np.cumsum((0, *self.repetitions[:-1]), dtype=np.int64)

    @property
    def drawn_levels(self) -> Literal[1, 2]:
        """1 where drawing among repetitions would change nothing: every task has but one."""
        return 2 if self.levels == 2 and max(self.repetitions) > 1 else 1


@lru_cache(maxsize=4)
def drawn_tasks(seed: str, tasks: int, resamples: int) -> NDArray[np.int32]:
    """Indices of the tasks of each resample, shape (resamples, tasks); read-only."""
    generator = _generator(seed)
    drawn = np.empty((resamples, tasks), dtype=np.int32)
    rows = max(1, _AT_ONCE // tasks)
    for start in range(0, resamples, rows):
        part = drawn[start : start + rows]
        part[:] = _tasks(generator, len(part), tasks)
    drawn.setflags(write=False)
    return drawn


def _tasks(generator: np.random.PCG64, resamples: int, tasks: int) -> NDArray[np.uint64]:
    """The tasks of the next resamples."""
    high = np.asarray(generator.random_raw(resamples * tasks), dtype=np.uint64) >> np.uint64(32)
    found: NDArray[np.uint64] = ((high * np.uint64(tasks)) >> np.uint64(32)).reshape(resamples, tasks)
    return found


def _task_rows(design: Design, rows: int) -> Iterator[tuple[slice, Integers]]:
    """The tasks of each resample, `rows` resamples at a time; the same whether they are kept or drawn again."""
    tasks = len(design.repetitions)
    kept = drawn_tasks(design.seed, tasks, design.resamples) if tasks * design.resamples <= _KEPT else None
    generator = _generator(design.seed)
    for start in range(0, design.resamples, rows):
        part = slice(start, min(start + rows, design.resamples))
        drawn = _tasks(generator, part.stop - start, tasks) if kept is None else kept[part]
        yield part, drawn.astype(np.int64)


def task_counts(design: Design) -> Iterator[tuple[slice, Integers]]:
    """How often each task stands in each resample, some resamples at a time."""
    tasks = len(design.repetitions)
    for part, drawn in _task_rows(design, max(1, _AT_ONCE // tasks)):
        yield part, _counted(drawn, tasks)


def block_counts(design: Design) -> Iterator[tuple[slice, Floats]]:
    """How often each block stands in each resample, some resamples at a time."""
    if design.drawn_levels == 1:
        tasks = np.repeat(np.arange(len(design.repetitions)), design.repetitions)
        for part, counts in task_counts(design):
            yield part, counts[:, tasks].astype(np.float64)
        return
    sizes = np.array(design.repetitions, dtype=np.int64)
    most, starts = int(sizes.max()), design.starts
    stream = _Repetitions(design.seed, len(sizes), most)
    rows = max(1, _AT_ONCE // (len(sizes) * most))
    equal = bool((sizes == most).all())
    for part, tasks in _task_rows(design, rows):
        own = sizes[tasks][:, :, None]
        blocks = starts[tasks][:, :, None] + ((stream.parts(len(tasks)) * own) >> stream.bits)
        yield part, _counted(blocks, design.blocks, None if equal else own).astype(float)


class _Repetitions:
    """The stream that repetitions are drawn from."""

    def __init__(self, seed: str, tasks: int, most: int) -> None:
        self._generator = _generator(f"{seed}\nrepetitions")
        self._shape = (tasks, most)
        self.bits = 16 if most <= _FEW_REPETITIONS else 32

    def parts(self, rows: int) -> Integers:
        """Uniform integers below 2**bits, shape (rows, tasks, most)."""
        tasks, most = self._shape
        words = -(-tasks * most * self.bits // 64)
        raw = np.asarray(self._generator.random_raw(rows * words), dtype="<u8").reshape(rows, words)
        parts: Integers = raw.view("<u2" if self.bits == 16 else "<u4")[:, : tasks * most].astype(np.int64)
        return parts.reshape(rows, tasks, most)


def _counted(drawn: Integers, among: int, own: Integers | None = None) -> Integers:
    """How often each of `among` stands in each row of `drawn`; of the last axis, the first `own` are taken."""
    rows = len(drawn)
    flat = drawn + (np.arange(rows) * among).reshape(rows, *(1,) * (drawn.ndim - 1))
    taken = flat.ravel() if own is None else flat[np.arange(drawn.shape[-1]) < own]
    counts: Integers = np.bincount(taken, minlength=rows * among).reshape(rows, among)
    return counts


def _generator(seed: str) -> np.random.PCG64:
    return np.random.PCG64(int.from_bytes(hashlib.sha256(seed.encode("utf-8")).digest(), "big"))


def noise(seed: str, resamples: int) -> Integers:
    """About standard normal numbers in units of 1/65536: 12 uniform 16-bit integers each, less their mean."""
    raw = np.asarray(_generator(f"{seed}\nnoise").random_raw(resamples * 3), dtype="<u8").view("<u2")
    sums: Integers = raw.reshape(resamples, 12).astype(np.int64).sum(axis=1) - 6 * 65_535
    return sums
