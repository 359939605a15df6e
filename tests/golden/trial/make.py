"""Write the golden launch specification and exit report of a trial: `python tests/golden/trial/make.py`.

The host writes the first and reads the second; the supervisor the other way round. Both sides are tested against these bytes.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[2]), str(HERE.parents[2] / "images" / "trial")]

from supervisor import evidence  # noqa: E402 - the folder of the programs is no package of ours

from runner.core.launch import Forward, LaunchSpec, Ready  # noqa: E402

NONE = "0000000000000000"


def launch() -> bytes:
    """A specification as the host writes it."""
    return LaunchSpec(
        argv=("/opt/claude/claude", "-p", "Where is the header parsed?", "--output-format", "stream-json"),
        env={
            "HOME": "/home/agent",
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "ANTHROPIC_BASE_URL": "http://127.0.0.1:8787",
        },
        cwd="/workspace",
        uid=10002,
        gid=10002,
        deadline_ms=120_000,
        grace_ms=2_000,
        stdout_limit_bytes=8_388_608,
        stderr_limit_bytes=1_048_576,
        forward=Forward(listen_port=8787, socket="/pod/run/gateway.sock"),
        ready=Ready(timeout_ms=15_000, http=("http://127.0.0.1:6333/readyz",)),
        stdin="/in/prompt.txt",
    ).to_bytes()


def exit_report() -> bytes:
    """A report as the supervisor writes it: a deadline, and two processes that had to be killed."""
    return evidence.document(
        evidence.Exit(
            ended_by="deadline",
            detail="stderr.txt: somebody still holds the pipe",
            exit_code=None,
            signal=9,
            supervisor_started_ns=912_000_000_000,
            ready_ns=912_031_000_000,
            started_ns=912_032_500_000,
            ended_ns=1_034_040_499_999,
            finished_ns=1_034_290_000_000,
            user_cpu_ms=1840,
            system_cpu_ms=310,
            peak_rss_bytes=141_557_760,
            stdout_bytes=20_481,
            stderr_bytes=1_048_576,
            stdout_truncated=False,
            stderr_truncated=True,
            killed=[{"pid": 19, "comm": "python3", "uid": 10002}, {"pid": 27, "comm": 'sh\n"x', "uid": 10002}],
            reaped=3,
            oom_kills=1,
            full=["/tmp"],
            supervisor={
                "uid": 10001,
                "gid": 10001,
                "cap_effective": "00000000000000e0",
                "cap_permitted": "00000000000000e0",
                "cap_inheritable": NONE,
                "cap_bounding": NONE,
                "no_new_privileges": 1,
                "seccomp": 2,
            },
            client={
                "uid": 10002,
                "gid": 10002,
                "cap_effective": NONE,
                "cap_permitted": NONE,
                "cap_inheritable": NONE,
                "cap_bounding": NONE,
                "no_new_privileges": 1,
                "seccomp": 2,
            },
        )
    )


def broken_launch() -> bytes:
    """A specification without the limit of one stream."""
    return launch().replace(b'"stderr_limit_bytes":1048576,', b"")


def broken_exit() -> bytes:
    """A report that ends in the middle, as no rename would ever leave it."""
    return exit_report()[:400]


FILES = {
    "launch.json": launch,
    "exit.json": exit_report,
    "launch-broken.json": broken_launch,
    "exit-broken.json": broken_exit,
}

if __name__ == "__main__":
    for name, make in FILES.items():
        (HERE / name).write_bytes(make())
