"""`pairbench`: its commands, and what becomes of errors.

Results go to standard output, talk and progress to standard error. Exit codes are `runner.core.errors.ExitCode`.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from typing import NoReturn

import click
import structlog

import runner
from runner.cli import (
    archives,
    comparing,
    corpora,
    image_facts,
    images,
    logs,
    machine,
    registries,
    rerunning,
    reviewing,
    runs,
    verifying,
)
from runner.core.errors import ExitCode, PairbenchError


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(runner.__version__, prog_name="pairbench")
@click.option("-v", "--verbose", is_flag=True, help="Log what is done to standard error.")
def program(*, verbose: bool) -> None:
    """Measure whether a memory makes a coding agent better, and what it costs, with evidence that others can check."""
    logs.configure(verbose=verbose)


images.images.add_command(archives.archive_images)
images.images.add_command(archives.load_images)
images.images.add_command(image_facts.show)
images.images.add_command(image_facts.check)
for command in (
    machine.doctor,
    images.images,
    corpora.corpora,
    runs.plan,
    runs.run,
    runs.resume,
    archives.archive,
    rerunning.rerun,
    runs.status,
    verifying.verify,
    runs.summary,
    comparing.compare,
    runs.report,
    reviewing.review,
    runs.export,
    machine.gc,
):
    program.add_command(command)
for command in (registries.push, registries.pull):
    images.images.add_command(command)


def main() -> NoReturn:
    """The program ran and ended with its exit code; no error shows a trace."""
    logs.configure(verbose=False)
    # Asked to end, the program ends as it does for Ctrl-C: whatever it made is taken away on the way out.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    code = _code()
    try:
        sys.stdout.flush()
    except OSError:
        # Whoever read our output has gone, or its disk is full; what is still buffered can go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = ExitCode.FINDING
    sys.exit(code)


def _code() -> int:
    """The exit code of the command, which was carried out; errors were told."""
    try:
        program.main(standalone_mode=False)
    except PairbenchError as error:
        _say(error.diagnostics())
        return error.exit_code
    except (SystemExit, click.exceptions.Exit) as ended:
        code = ended.code if isinstance(ended, SystemExit) else ended.exit_code
        return code if isinstance(code, int) else ExitCode.DONE
    except click.ClickException as error:
        error.show()
        return ExitCode.USAGE
    except (click.Abort, KeyboardInterrupt):
        _say("interrupted")
        return ExitCode.FINDING
    except BrokenPipeError:
        return ExitCode.FINDING
    except Exception as error:  # noqa: BLE001 - the last resort, and the only one
        structlog.get_logger().debug("internal error", trace=traceback.format_exc())
        _say(f"internal error: {type(error).__name__}: {error} (a fault of pairbench; `-v` shows where)")
        return ExitCode.FINDING
    return ExitCode.DONE


def _say(text: str) -> None:
    click.echo("\n".join(f"pairbench: {line}" for line in text.splitlines()), err=True)
