"""The trials of a large run are derived by several processes, in the order and with the bytes of one."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from concurrent.futures import Future

Item = TypeVar("Item")
Result = TypeVar("Result")
Item_contra = TypeVar("Item_contra", contravariant=True)
Result_co = TypeVar("Result_co", covariant=True)

LARGE_RUN_TRIALS: Final = 2_000
"""A smaller run is derived in the process that asks for it: others would take longer to start than to help."""
MOST_WORKERS: Final = 8
_AT_ONCE: Final = 50
# Enough for no worker to wait while the results of another are taken.
_AHEAD_OF_EACH: Final = 3


def workers_for(trials: int) -> int:
    """In how many processes so many trials are derived: 1 is this one."""
    return 1 if trials < LARGE_RUN_TRIALS else min(MOST_WORKERS, len(os.sched_getaffinity(0)))


class Deriver(Protocol[Item_contra, Result_co]):
    """What each process has of its own, and works with; it has to fit into a pickle."""

    def conclude(self, trials: Iterable[Item_contra]) -> Iterator[Result_co]:
        """What comes of each of `trials`, in their order."""


def spread(deriver: Deriver[Item, Result], trials: Iterable[Item], workers: int) -> Iterator[Result]:
    """What comes of each of `trials`, in their order; `workers` processes derive it, and 1 is this one.

    An error is that of the first trial that has one, as in one process.
    """
    if workers == 1:
        yield from deriver.conclude(trials)
        return
    # A forked process would share the locks of this one's threads.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(deriver,))
    try:
        rest = iter(trials)
        batches = iter(lambda: list(islice(rest, _AT_ONCE)), [])
        pending: deque[Future[list[Any]]] = deque()
        pending.extend(pool.submit(_conclude, batch) for batch in islice(batches, workers * _AHEAD_OF_EACH))
        while pending:
            found = pending.popleft().result()
            pending.extend(pool.submit(_conclude, batch) for batch in islice(batches, 1))
            yield from found
    finally:
        pool.shutdown(cancel_futures=True)


_OWN: Final[list[Deriver[Any, Any]]] = []
"""What this process works with, where it is one of several."""


def _begin(deriver: Deriver[Any, Any]) -> None:
    _OWN.append(deriver)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """This process is over: the one that it works for was killed, and would never have asked for anything again."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _conclude(batch: list[Any]) -> list[Any]:
    return list(_OWN[-1].conclude(batch))
