"""Threat: the client, or whatever it starts, wants to outlive its trial, to stall or blind the supervisor, or to put words
into the evidence.

What only a container can show (signals to PID 1, its memory, the evidence volume) is in `tests/docker/`.
"""

from __future__ import annotations

import os
import socket
import threading

import pytest

from tests.fakes.supervised import PYTHON, Running, exists, launch_document, public_folder, python, shell

QUICK = {"deadline_ms": 400, "grace_ms": 100}


def test_a_double_fork_into_a_session_of_its_own_ends_with_the_trial() -> None:
    """Neither a new session nor a dead parent hides a process."""
    done = python("""
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        os.close(1); os.close(2)
        time.sleep(1000)
    os._exit(0)
os.wait()
""")
    escaped = int(done.stdout)
    assert [killed["pid"] for killed in done.report["killed"]] == [escaped]
    assert not exists(escaped)
    assert (done.report["ended_by"], done.report["exit_code"]) == ("exit", 0)


def test_a_whole_family_that_ignores_every_signal_ends_at_the_deadline() -> None:
    """Children in sessions of their own that ignore whatever can be ignored."""
    done = python(
        """
import os, signal, time
for number in signal.valid_signals():
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
for _ in range(5):
    if os.fork() == 0:
        os.setsid()
        break
os.write(1, b'%d\\n' % os.getpid())
time.sleep(1000)
""",
        **QUICK,
    )
    pids = [int(line) for line in done.stdout.split()]
    assert (done.report["ended_by"], done.report["signal"], len(pids)) == ("deadline", 9, 6)
    assert len(done.report["killed"]) == 5
    assert {killed["pid"] for killed in done.report["killed"]} < set(pids)
    assert not any(exists(pid) for pid in pids)


def test_processes_that_multiply_without_end_are_ended() -> None:
    """Parents die at once and children go on: nothing of the chain survives."""
    done = python(
        """
import os, time
end = time.monotonic() + 20
while time.monotonic() < end:
    if os.fork():
        os._exit(0)
    os.setsid()
""",
        **QUICK,
    )
    assert (done.report["ended_by"], done.report["exit_code"]) == ("exit", 0)
    assert done.report["detail"] == ""
    assert len(done.report["killed"]) >= 1
    assert not any(exists(killed["pid"]) for killed in done.report["killed"])


def test_a_process_name_cannot_forge_evidence() -> None:
    """Line ends, quotes, brackets and other bytes in a name stay inside the name, and hide nobody."""
    name = 'a) Z 1\n"},{\\xff'
    done = python(f"""
import os, time
if os.fork() == 0:
    os.close(1); os.close(2)
    open('/proc/self/comm', 'wb').write({name!r}.encode('latin-1'))
    time.sleep(1000)
time.sleep(0.05)
""")
    (killed,) = done.report["killed"]
    assert killed["comm"] == name.encode("latin-1")[:15].decode("utf-8", "backslashreplace")


def test_a_process_that_hides_from_inspection_is_listed_with_its_own_user() -> None:
    """Files of a process that isn't dumpable belong to root; the process doesn't."""
    done = python("""
import ctypes, os, time
if os.fork() == 0:
    os.close(1); os.close(2)
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
    time.sleep(1000)
time.sleep(0.05)
""")
    (killed,) = done.report["killed"]
    assert killed["uid"] == done.report["client"]["uid"]


def test_a_stopped_client_ends_at_the_deadline() -> None:
    """A process that can't react is killed all the same."""
    assert shell("kill -STOP $$", **QUICK).report["signal"] == 9


def test_output_that_nobody_ends_does_not_keep_the_trial_open() -> None:
    """A child that keeps the client's streams open, silently or not, is ended with the client."""
    done = shell("(while :; do echo more; sleep 0.01; done) & exit 0")
    assert (done.report["ended_by"], done.report["exit_code"], done.report["detail"]) == ("exit", 0, "")
    assert done.stdout.startswith(b"more\n")


def test_a_flood_on_both_streams_from_many_processes_ends() -> None:
    """Files stay within their limits, and the end comes by the limit, not by the deadline."""
    done = shell("for i in 1 2 3 4; do cat /dev/zero & cat /dev/zero >&2 & done; wait", stdout_limit_bytes=200_000)
    assert done.report["ended_by"] == "output_limit"
    assert done.report["stdout_bytes"] <= 200_000
    assert done.report["stderr_bytes"] <= 1_000_000
    assert (len(done.stdout), len(done.stderr)) == (done.report["stdout_bytes"], done.report["stderr_bytes"])


def test_the_clients_stream_cannot_be_read_back() -> None:
    """With another user than the supervisor's, a pipe that is opened by name takes bytes and gives none."""
    done = shell("echo kept; head -c 1 </proc/self/fd/1 || echo refused >&2", deadline_ms=2000)
    assert done.stdout.startswith(b"kept\n")
    if os.geteuid() == 0:
        assert done.stderr.endswith(b"refused\n")


def test_settings_of_the_clients_descriptors_do_not_reach_the_supervisor() -> None:
    """Non-blocking mode, asynchronous signals and a tiny pipe change nothing."""
    done = python("""
import fcntl, os
for fd in (1, 2):
    fcntl.fcntl(fd, fcntl.F_SETFL, os.O_NONBLOCK | os.O_ASYNC)
    try:
        fcntl.fcntl(fd, fcntl.F_SETOWN, os.getppid())
    except OSError:
        pass
    fcntl.fcntl(fd, 1031, 4096)
os.write(1, b'x' * 4000)
""")
    assert (done.report["ended_by"], done.report["exit_code"], done.report["stdout_bytes"]) == ("exit", 0, 4000)


def test_closing_everything_is_not_ending() -> None:
    """A client without streams still runs until it ends."""
    done = python("""
import os, time
for fd in range(3):
    os.close(fd)
time.sleep(0.2)
os._exit(6)
""")
    assert (done.report["ended_by"], done.report["exit_code"]) == ("exit", 6)
    assert done.report["wall_ms"] >= 200


def test_a_storm_of_dying_orphans_does_not_hold_up_the_deadline() -> None:
    """Reaping goes in batches, and the clock is looked at between them."""
    done = python(
        """
import os
while True:
    pid = os.fork()
    if pid == 0:
        if os.fork() == 0:
            os._exit(0)
        os._exit(0)
    os.waitpid(pid, 0)
""",
        **QUICK,
    )
    assert (done.report["ended_by"], done.report["signal"]) == ("deadline", 15)
    assert done.report["reaped"] >= 1


@pytest.mark.parametrize("signal_name", ["TERM", "KILL"])
def test_the_client_cannot_end_a_supervisor_of_another_user(signal_name: str) -> None:
    """Root's supervisor survives its client's signals; without another user SIGTERM is a request like any other."""
    if os.geteuid() != 0:
        done = shell("kill -TERM $PPID; sleep 1000")
        assert done.report["ended_by"] == "cancelled"
        return
    done = shell(f"kill -{signal_name} $PPID || exit 9")
    assert (done.report["ended_by"], done.report["exit_code"]) == ("exit", 9)


def test_connections_that_are_opened_and_left_do_not_starve_the_deadline() -> None:
    """A client that fills the forwarded port and the gateway's queue is ended on time."""
    script = """
import socket, sys
held = []
while True:
    try:
        held.append(socket.create_connection(('127.0.0.1', int(sys.argv[1])), timeout=0.05))
        held[-1].setblocking(False)
        held[-1].send(b'x' * 100000)
    except OSError:
        pass
"""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with public_folder() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as gateway:
        path = folder / "gateway.sock"
        gateway.bind(str(path))
        path.chmod(0o666)
        gateway.listen(1)

        # Somebody takes the look whether the gateway is there, and nothing after it.
        def take_one() -> None:
            connection, _ = gateway.accept()
            connection.close()

        first = threading.Thread(target=take_one)
        first.start()
        document = launch_document(
            [PYTHON, "-c", script, str(port)],
            forward={"listen_port": port, "socket": str(path)},
            **QUICK,
        )
        report = Running(folder, document).finish().report
        first.join(10)
    assert (report["ended_by"], report["signal"], report["detail"]) == ("deadline", 15, "")


def test_the_last_word_is_the_supervisors() -> None:
    """A client that finds the folder of evidence can't put its own `exit.json` there and have it kept."""
    with public_folder() as folder:
        script = 'mkdir -p "$0"; echo "{}" >"$0/exit.json"; exit 4'
        done = Running(folder, launch_document(["/bin/sh", "-c", script, str(folder / "out")])).finish()
    assert (done.report["ended_by"], done.report["exit_code"]) == ("exit", 4)
    if os.geteuid() == 0:
        assert b"Permission denied" in done.stderr
