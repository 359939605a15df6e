"""The interrupts port on Unix signals: Ctrl-C, termination, and a terminal that goes away."""

from __future__ import annotations

import contextlib
import itertools
import signal
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class SignalInterrupts:
    """Interruptions of the main thread, which is the only one that may watch."""

    @contextlib.contextmanager
    def watch(self, told: Callable[[int], None]) -> Iterator[None]:
        """While the context lasts, an interruption calls `told` with its number, from 1, and ends nothing by itself."""
        numbers = itertools.count(1)

        def handle(_signal: int, _frame: FrameType | None) -> None:
            told(next(numbers))

        before = {number: signal.signal(number, handle) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
