"""Many processes share the cache; whoever takes things away is alone in it, and the kernel knows who died."""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from runner.adapters.cache_use import CacheUse
from runner.core.errors import EnvironmentNotReady

if TYPE_CHECKING:
    from pathlib import Path

USER = """
import pathlib, sys
from runner.adapters.cache_use import CacheUse
use = CacheUse(pathlib.Path(sys.argv[1]))
print("uses", flush=True)
sys.stdin.read()
"""


def test_whoever_is_alone_may_be_so_again(tmp_path: Path) -> None:
    """A process doesn't stand in its own way."""
    with closing(CacheUse(tmp_path / "cache")) as use:
        for _ in range(2):
            with use.alone():
                pass


def test_nobody_is_alone_beside_another_process(tmp_path: Path) -> None:
    """Until that one has ended, killed or not."""
    command = [sys.executable, "-c", USER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"uses\n"
        with closing(CacheUse(tmp_path)) as use:
            with pytest.raises(EnvironmentNotReady, match="another process of pairbench uses it"), use.alone():
                pass
            other.kill()
            other.wait()
            with use.alone():
                pass


def test_whoever_comes_meanwhile_waits(tmp_path: Path) -> None:
    """What is taken away can't be found half gone."""
    entered = threading.Event()

    def enter() -> None:
        with closing(CacheUse(tmp_path)):
            entered.set()

    with closing(CacheUse(tmp_path)) as use:
        with use.alone():
            waiting = threading.Thread(target=enter)
            waiting.start()
            assert not entered.wait(0.2)
        waiting.join()
    assert entered.is_set()


def test_a_cache_that_cannot_be_made_is_nobodys_alone(tmp_path: Path) -> None:
    """It can be used as far as that goes, and nothing can be taken away from it."""
    (tmp_path / "file").write_bytes(b"")
    with (
        closing(CacheUse(tmp_path / "file" / "cache")) as use,
        pytest.raises(EnvironmentNotReady, match="can't be locked"),
        use.alone(),
    ):
        pass
