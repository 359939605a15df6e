"""What the supervisor promises the host, with real processes: limits, endings, accounts, identity."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from runner.core.evidence import ExitReport
from tests.fakes.supervised import SUPERVISOR, exists, launch_document, python, run, shell, supervised


def test_a_client_that_ends_well_is_reported_whole() -> None:
    """Its code, its bytes, its times in order; nothing killed."""
    done = shell("printf '{\"a\":1}\\n'; printf talk >&2")
    report = done.report
    assert (done.code, done.stdout, done.stderr) == (0, b'{"a":1}\n', b"talk")
    assert (report["ended_by"], report["exit_code"], report["signal"]) == ("exit", 0, None)
    assert (report["stdout_bytes"], report["stderr_bytes"]) == (8, 4)
    assert (report["stdout_truncated"], report["stderr_truncated"]) == (False, False)
    assert (report["detail"], report["killed"], report["reaped"]) == ("", [], 0)
    times = [report[f"{name}_ns"] for name in ("supervisor_started", "ready", "started", "ended", "finished")]
    assert times == sorted(times)
    assert report["wall_ms"] == (report["ended_ns"] - report["started_ns"]) // 1_000_000
    assert report["peak_rss_bytes"] > 0


def test_the_host_reads_the_report() -> None:
    """The runner's own type of the document accepts it."""
    done = shell("exit 7")
    report = ExitReport.model_validate_json(json.dumps(done.report))
    assert (report.exit_code, report.signal, report.ended_by) == (7, None, "exit")


def test_a_client_that_dies_of_a_signal_has_no_exit_code() -> None:
    """Exactly one of code and signal is a number."""
    report = shell("kill -SEGV $$").report
    assert (report["ended_by"], report["exit_code"], report["signal"]) == ("exit", None, 11)


def test_the_environment_is_exactly_what_was_asked_for() -> None:
    """Nothing of the supervisor's environment leaks."""
    done = run(["/usr/bin/env"], env={"ONLY": "this one"})
    assert done.stdout == b"ONLY=this one\n"


def test_the_working_directory_is_entered() -> None:
    """Relative paths of the client mean what the host meant."""
    assert shell("pwd", cwd="/usr/bin").stdout == b"/usr/bin\n"


def test_standard_input_is_empty_and_no_other_descriptor_is_open() -> None:
    """A client that reads its input sees its end, and finds nothing of the supervisor's."""
    done = python("import os, sys; print(repr(sys.stdin.read()), sorted(os.listdir('/proc/self/fd'))[:3])")
    assert done.stdout == b"'' ['0', '1', '2']\n"
    listed = python("import os; print(len(os.listdir('/proc/self/fd')))")
    assert listed.stdout == b"4\n"


def test_standard_input_can_be_a_file() -> None:
    """The client reads it to its end, and can't write to it."""
    script = "import fcntl, os, sys; print(fcntl.fcntl(0, fcntl.F_GETFL) & os.O_ACCMODE, sys.stdin.read(), end='')"
    users = Path("/etc/passwd").read_text("utf-8")
    assert python(script, stdin="/etc/passwd").stdout.decode() == f"0 {users}"


def test_standard_input_that_is_not_there_keeps_the_client_from_starting() -> None:
    """The report says which file it was."""
    done = shell("true", stdin="/nonexistent")
    assert (done.report["ended_by"], done.report["detail"]) == (
        "spawn_failed",
        "cannot open /nonexistent: No such file or directory",
    )


def test_the_client_leads_a_session_of_its_own() -> None:
    """Its group can be signalled without the supervisor's."""
    done = python("import os; print(os.getsid(0) == os.getpgid(0) == os.getpid())")
    assert done.stdout == b"True\n"


def test_the_client_starts_with_default_signals() -> None:
    """What Python ignores (SIGPIPE, SIGXFSZ) isn't ignored in the client, and nothing is blocked."""
    done = run(["/bin/grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"])
    masks = {name: int(digits, 16) for name, digits in (line.split(b":") for line in done.stdout.splitlines())}
    # Signals 32 and 33 are the C library's own: whoever starts us may hand them down blocked, and no call unblocks them.
    own = 1 << 31 | 1 << 32
    assert {name: mask & ~own for name, mask in masks.items()} == {b"SigBlk": 0, b"SigIgn": 0}


def test_the_standard_streams_can_be_opened_by_name() -> None:
    """/dev/stdout and /dev/stderr take bytes, as many programs expect, also under another uid."""
    done = shell("echo out >/dev/stdout; echo err >/dev/stderr")
    assert (done.stdout, done.stderr) == (b"out\n", b"err\n")


def test_the_client_has_no_capability_and_can_gain_none() -> None:
    """The kernel's own words are in the report."""
    report = shell("true").report
    assert report["client"]["cap_effective"] == "0000000000000000"
    assert report["client"]["cap_permitted"] == "0000000000000000"
    assert report["client"]["cap_inheritable"] == "0000000000000000"
    assert report["client"]["no_new_privileges"] == 1
    assert report["supervisor"]["no_new_privileges"] == 1


def test_who_ran_is_reported_as_it_was() -> None:
    """Root becomes 10001 and starts 10002; anybody else stays who they are, and the report says so."""
    done = shell("id -u; id -G")
    report = done.report
    expected = (10001, 10002) if os.geteuid() == 0 else (os.geteuid(), os.geteuid())
    assert (report["supervisor"]["uid"], report["client"]["uid"]) == expected
    assert done.stdout.split()[0] == str(expected[1]).encode()
    if os.geteuid() == 0:
        assert done.stdout == b"10002\n10002\n"
        assert report["supervisor"]["cap_effective"] == "00000000000000e0"
        assert report["supervisor"]["cap_bounding"] == "0000000000000000"
        assert report["client"]["cap_bounding"] == "0000000000000000"


def test_the_deadline_asks_first() -> None:
    """A client that obeys SIGTERM within its grace ends by its own code."""
    report = shell("trap 'exit 5' TERM; while :; do sleep 0.05; done", deadline_ms=300).report
    assert (report["ended_by"], report["exit_code"], report["signal"]) == ("deadline", 5, None)


def test_the_deadline_does_not_wait_longer_than_the_grace() -> None:
    """A client that ignores SIGTERM is killed."""
    report = shell("trap '' TERM; echo up; while :; do sleep 0.05; done", deadline_ms=300, grace_ms=100).report
    assert (report["ended_by"], report["exit_code"], report["signal"]) == ("deadline", None, 9)


def test_the_whole_group_is_asked_to_end() -> None:
    """A child of the client hears SIGTERM too."""
    script = "sh -c 'trap \"echo child; exit\" TERM; echo up; while :; do sleep 0.05; done' & wait; wait; true"
    done = shell("trap : TERM; " + script, deadline_ms=500, grace_ms=10_000)
    assert done.report["ended_by"] == "deadline"
    assert done.stdout == b"up\nchild\n"


def test_output_up_to_the_limit_is_whole() -> None:
    """Exactly as much as allowed isn't too much."""
    done = shell("head -c 1000 /dev/zero", stdout_limit_bytes=1000)
    assert (done.report["ended_by"], done.report["stdout_bytes"], done.report["stdout_truncated"]) == (
        "exit",
        1000,
        False,
    )


@pytest.mark.parametrize(("name", "redirect"), [("stdout", ""), ("stderr", ">&2")])
def test_a_flood_ends_the_client_and_what_fitted_is_kept(name: str, redirect: str) -> None:
    """Either stream has its limit, and neither file grows beyond it."""
    done = shell(f"cat /dev/zero {redirect}", **{f"{name}_limit_bytes": 100_000})
    report = done.report
    assert (report["ended_by"], report["signal"]) == ("output_limit", 9)
    assert (report[f"{name}_bytes"], report[f"{name}_truncated"]) == (100_000, True)
    assert getattr(done, name) == bytes(100_000)


def test_a_client_that_ends_right_after_too_much_output_is_cut_all_the_same() -> None:
    """Whether the supervisor was quick enough to end it doesn't matter."""
    report = shell("head -c 2000 /dev/zero", stdout_limit_bytes=1000).report
    assert (report["ended_by"], report["stdout_bytes"], report["stdout_truncated"]) == ("output_limit", 1000, True)


def test_output_of_a_client_that_has_ended_arrives() -> None:
    """What is still in the pipe at the end is evidence too."""
    done = shell("head -c 900000 /dev/zero")
    assert (done.report["ended_by"], done.report["stdout_bytes"]) == ("exit", 900_000)


def test_a_request_to_end_is_cancellation() -> None:
    """SIGTERM to the supervisor ends the client softly."""
    with supervised(launch_document(["/bin/sh", "-c", "echo up; exec sleep 1000"])) as running:
        running.wait_until_ready()
        running.process.send_signal(signal.SIGTERM)
        report = running.finish().report
    assert (report["ended_by"], report["signal"]) == ("cancelled", 15)


def test_a_second_request_ends_the_grace() -> None:
    """Whoever asks twice doesn't wait."""
    script = "trap '' TERM; echo up; while :; do sleep 0.05; done"
    with supervised(launch_document(["/bin/sh", "-c", script], grace_ms=600_000)) as running:
        running.wait_until_ready()
        while not (running.out / "stdout.jsonl").read_bytes():
            os.sched_yield()
        running.process.send_signal(signal.SIGTERM)
        while running.process.poll() is None:
            # Two signals that arrive together are one for the kernel.
            running.process.send_signal(signal.SIGTERM)
            os.sched_yield()
        report = running.finish().report
    assert (report["ended_by"], report["signal"]) == ("cancelled", 9)


def test_a_request_before_the_client_starts_starts_none() -> None:
    """Waiting for readiness can be cancelled, and no time is invented."""
    document = launch_document(["true"], ready={"timeout_ms": 600_000, "http": ["http://127.0.0.1:9/"]})
    with supervised(document) as running:
        while not (running.out / ".exit.json.partial").exists():
            os.sched_yield()
        while running.process.poll() is None:
            running.process.send_signal(signal.SIGTERM)
            os.sched_yield()
        done = running.finish()
    report = done.report
    assert (report["ended_by"], report["exit_code"], report["signal"], report["client"]) == (
        "cancelled",
        None,
        None,
        None,
    )
    assert [report[name] for name in ("ready_ns", "started_ns", "ended_ns", "wall_ms", "user_cpu_ms")] == [None] * 5


def test_what_does_not_answer_in_time_is_named() -> None:
    """The client isn't started, and the reason is in the report."""
    report = run(["true"], ready={"timeout_ms": 50, "http": ["http://127.0.0.1:9/readyz"]}).report
    assert (report["ended_by"], report["client"], report["ready_ns"]) == ("not_ready", None, None)
    assert report["detail"] == "http://127.0.0.1:9/readyz did not answer within 50 ms: Connection refused"


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"argv": ["/nowhere/client"]}, "cannot execute /nowhere/client: No such file or directory"),
        ({"argv": ["/etc/passwd"]}, "cannot execute /etc/passwd: Permission denied"),
        ({"cwd": "/nowhere"}, "cannot enter /nowhere: No such file or directory"),
    ],
)
def test_a_client_that_cannot_start_is_no_client(changes: dict[str, object], detail: str) -> None:
    """Neither code nor signal, and the step that failed."""
    with supervised({**launch_document(["true"]), **changes}) as running:
        done = running.finish()
    report = done.report
    assert (done.code, report["ended_by"], report["detail"]) == (0, "spawn_failed", detail)
    assert (report["exit_code"], report["signal"], report["wall_ms"], report["client"]) == (None, None, None, None)


def test_a_broken_specification_is_evidence_too() -> None:
    """The report says what is wrong with it."""
    with supervised('{"format": "pairbench/launch"') as running:
        done = running.finish()
    assert (done.code, done.report["ended_by"]) == (0, "spawn_failed")
    assert done.report["detail"].startswith("launch: not JSON")


def test_without_a_place_for_evidence_it_ends_with_70() -> None:
    """Nothing is started that couldn't be accounted for."""
    done = subprocess.run(
        [sys.executable, str(SUPERVISOR), "/nowhere/launch.json", "/nowhere/out"], capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (70, b"supervisor: /nowhere/out: No such file or directory\n")


def test_processor_time_of_children_is_counted() -> None:
    """A busy child that the client waited for is part of its account."""
    report = python("import subprocess, sys; subprocess.run([sys.executable, '-c', 'sum(range(9_000_000))'])").report
    assert report["user_cpu_ms"] + report["system_cpu_ms"] >= 50


def test_an_orphan_that_ends_by_itself_is_reaped_and_not_killed() -> None:
    """A child that outlives the client by a moment has its time."""
    done = shell("(sleep 0.05; echo late) & exit 0")
    assert done.stdout == b"late\n"
    assert (done.report["killed"], done.report["exit_code"]) == ([], 0)
    assert done.report["reaped"] >= 1


def test_what_stays_behind_is_killed_and_listed() -> None:
    """A background process doesn't outlive the trial, and its name is known."""
    done = shell("sleep 1000 >/dev/null 2>&1 & echo $!; exit 3")
    (killed,) = done.report["killed"]
    assert (killed["pid"], killed["comm"], done.report["exit_code"]) == (int(done.stdout), "sleep", 3)
    assert killed["uid"] == done.report["client"]["uid"]
    assert not exists(int(done.stdout))
