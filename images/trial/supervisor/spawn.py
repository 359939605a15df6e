"""How does the client come to be? One process in a session of its own, with nothing of the supervisor's."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from supervisor import privileges

if TYPE_CHECKING:
    from supervisor.launch import Launch

_HIGHEST_FD = 1 << 20


class SpawnError(Exception):
    """The client couldn't be started; the text says why."""


def start(wanted: Launch, stdout_fd: int, stderr_fd: int) -> int:
    """The client runs, and this is its process number.

    Raises:
        SpawnError: it doesn't.
    """
    change_user = privileges.can_change_user()
    report_fd, failure_fd = os.pipe()
    try:
        pid = os.fork()
    except OSError as error:
        os.close(report_fd)
        os.close(failure_fd)
        raise SpawnError(f"fork: {error.strerror}") from error
    if pid == 0:
        _become(wanted, stdout_fd, stderr_fd, failure_fd, change_user=change_user)
    os.close(failure_fd)
    # The other end closes when the command replaces our code: nothing to read means that it runs.
    with os.fdopen(report_fd, "rb") as report:
        failure = report.read()
    if failure:
        os.waitpid(pid, 0)
        raise SpawnError(failure.decode("utf-8", "backslashreplace"))
    return pid


def _become(wanted: Launch, stdout_fd: int, stderr_fd: int, failure_fd: int, *, change_user: bool) -> None:
    """This process, just forked, is the client, or has said why not and is gone. Never returns."""
    step = "prepare"
    try:
        signal.set_wakeup_fd(-1)
        os.setsid()
        os.umask(0o022)
        step = f"open {wanted.stdin or os.devnull}"
        os.dup2(os.open(wanted.stdin or os.devnull, os.O_RDONLY), 0)
        step = "prepare"
        os.dup2(stdout_fd, 1)
        os.dup2(stderr_fd, 2)
        os.closerange(3, failure_fd)
        os.closerange(failure_fd + 1, _HIGHEST_FD)
        step = "give up privileges"
        privileges.become_client(wanted.uid, wanted.gid, change_user=change_user)
        step = f"enter {wanted.cwd}"
        os.chdir(wanted.cwd)
        step = f"execute {wanted.argv[0]}"
        os.execvpe(wanted.argv[0], wanted.argv, wanted.env)  # noqa: S606 - a shell would read the arguments
    except BaseException as error:
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else repr(error)
        os.write(failure_fd, f"cannot {step}: {reason}".encode("utf-8", "backslashreplace"))
    finally:
        os._exit(127)
