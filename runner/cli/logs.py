"""Logging of the program: configured here, once, and never at import."""

from __future__ import annotations

import logging
import sys

import structlog


def configure(*, verbose: bool) -> None:
    """Log lines go to standard error; from level DEBUG when `verbose`, else from WARNING."""
    level = logging.DEBUG if verbose else logging.WARNING
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
    )
