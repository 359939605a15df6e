"""The first process of a trial's container: `python3 main.py /in/launch.json [/pod/out]`.

Ends with 0 when the evidence was written, whatever happened to the client, and with 70 when it wasn't.
"""

from __future__ import annotations

import os
import sys
import time

STARTED_NS = time.monotonic_ns()
sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from supervisor import evidence, launch, privileges, supervise  # noqa: E402 - its own folder isn't a place for imports

EXIT_NO_EVIDENCE = 70
DEFAULT_OUT = "/pod/out"


def _announce() -> None:
    sys.stdout.write('{"event":"ready","program":"supervisor"}\n')
    sys.stdout.flush()


def _never_started(detail: str, now_ns: int) -> evidence.Exit:
    return evidence.Exit(
        ended_by="spawn_failed",
        detail=detail,
        exit_code=None,
        signal=None,
        supervisor_started_ns=STARTED_NS,
        ready_ns=None,
        started_ns=None,
        ended_ns=None,
        finished_ns=now_ns,
        user_cpu_ms=None,
        system_cpu_ms=None,
        peak_rss_bytes=None,
        stdout_bytes=0,
        stderr_bytes=0,
        stdout_truncated=False,
        stderr_truncated=False,
        killed=[],
        reaped=0,
        oom_kills=None,
        full=[],
        supervisor=privileges.identity(os.getpid()),
        client=None,
    )


def main(arguments: list[str]) -> int:
    """The exit code, after everything is over."""
    if len(arguments) not in {1, 2}:
        sys.stderr.write("usage: main.py LAUNCH [OUT]\n")
        return EXIT_NO_EVIDENCE
    signals = supervise.Signals()
    try:
        privileges.become_supervisor()
        folder = evidence.Folder(arguments[1] if len(arguments) == 2 else DEFAULT_OUT)
        try:
            wanted = launch.read(arguments[0])
        except launch.LaunchError as error:
            folder.seal(_never_started(str(error), time.monotonic_ns()))
            return 0
        folder.seal(supervise.Supervision(wanted, folder, signals, STARTED_NS).run(_announce))
    except (OSError, evidence.EvidenceError) as error:
        sys.stderr.write(f"supervisor: {error}\n")
        return EXIT_NO_EVIDENCE
    except Exception:
        sys.excepthook(*sys.exc_info())
        return EXIT_NO_EVIDENCE
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
