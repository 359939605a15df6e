"""Processes that don't want to end, or that multiply."""

import os
import signal
import subprocess
import sys
import time

FOREVER_S = 1000


def _ignore_signals() -> None:
    for number in signal.valid_signals():
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            continue


def ignore_the_end() -> None:
    """Every signal that can be ignored is."""
    _ignore_signals()
    print("still here", flush=True)
    time.sleep(FOREVER_S)


def scatter() -> None:
    """Children in sessions of their own, doubly forked, ignoring signals; they outlive the client, which ends well."""
    for _ in range(4):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                _ignore_signals()
                for stream in (0, 1, 2):
                    os.close(stream)
                time.sleep(FOREVER_S)
            os._exit(0)
        os.wait()
    print("scattered")


def leave_a_writer() -> None:
    """A child in a session of its own goes on writing to the client's output."""
    subprocess.Popen(["/bin/sh", "-c", "while :; do echo more; sleep 0.05; done"], start_new_session=True)
    print("ended")


def leave_a_shell() -> None:
    """A shell's command in a session of its own, busy with nothing, outlives the client."""
    script = "trap '' TERM HUP INT; while :; do :; done"
    subprocess.Popen(["/bin/bash", "-c", script], start_new_session=True, stdout=subprocess.DEVNULL)
    print("ended")


def multiply() -> None:
    """As many processes as there may be, all of them ignoring signals and making more."""
    _ignore_signals()
    while True:
        try:
            os.fork()
        except OSError:
            time.sleep(0.01)


def relay() -> None:
    """A chain: each process makes its successor and ends, faster than anybody could list them."""
    _ignore_signals()
    if os.fork():
        time.sleep(FOREVER_S)
    while True:
        try:
            if os.fork():
                os._exit(0)
            os.setsid()
        except OSError:
            time.sleep(0.01)


def crash() -> None:
    """A fault of the client's own."""
    os.kill(os.getpid(), signal.SIGSEGV)


def fail() -> int:
    """An error of the client's own, and words about it."""
    sys.stderr.write("the client gives up\n")
    return 3


def linger() -> None:
    """Asks nothing and waits: whatever happens to this trial comes from outside."""
    time.sleep(FOREVER_S)


def linger_a_while() -> None:
    """The same, and ends."""
    time.sleep(2.5)
