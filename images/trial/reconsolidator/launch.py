"""What is asked of this trial? `/in/reconsolidation.json`; it holds seeds and questions, and no label."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FORMAT = "pairbench/reconsolidation-launch"
VERSION = 1
MODES = ("original_only", "merge_only", "connections")
LIVE = "live"


class LaunchError(Exception):
    """The configuration is wrong or can't be read."""


@dataclass(frozen=True)
class Seed:
    """One statement that the memory is given."""

    id: str
    statement: str
    event: str
    evidence_time: str
    scope: str
    attribution: str
    status: str

    @property
    def is_live(self) -> bool:
        """Whether it may be stored, or anything rest on it."""
        return self.status == LIVE


@dataclass(frozen=True)
class Probe:
    """One question."""

    id: str
    question: str


@dataclass(frozen=True)
class Case:
    """One small memory, and what it is asked."""

    id: str
    seeds: Sequence[Seed]
    probes: Sequence[Probe]

    def live(self) -> list[Seed]:
        """The seeds that may be stored."""
        return [seed for seed in self.seeds if seed.is_live]


@dataclass(frozen=True)
class Launch:
    """All of it."""

    mode: str
    clock: str
    most_recalled: int
    url: str
    model: str
    max_output_tokens: int
    max_retries: int
    threads: int
    cases: Sequence[Case]


def read_launch(arguments: Sequence[str]) -> Launch:
    """What the command line's one file asks.

    Raises:
        LaunchError: something is missing or isn't what it should be.
    """
    if len(arguments) != 1:
        raise LaunchError("usage: main.py LAUNCH | --version")
    (path,) = arguments
    try:
        with open(path, encoding="utf-8") as file:
            given = json.load(file)
        if (given["format"], given["version"]) != (FORMAT, VERSION):
            raise LaunchError(f"{path}: not {FORMAT} {VERSION}")
        return Launch(
            mode=_mode(given["mode"]),
            clock=_text(given["clock"]),
            most_recalled=_count(given["recall_budget"]["facts"]),
            url=_text(given["url"]),
            model=_text(given["model"]),
            max_output_tokens=_count(given["max_output_tokens"]),
            max_retries=_whole(given["max_retries"]),
            threads=_count(given["threads"]),
            cases=[_case(case) for case in given["cases"]],
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise LaunchError(f"{path}: {type(error).__name__}: {error}") from error


def _mode(value: Any) -> str:
    if value not in MODES:
        raise LaunchError(f"no mode is called {value!r}; there are {', '.join(MODES)}")
    return _text(value)


def _case(given: Mapping[str, Any]) -> Case:
    names = ("id", "statement", "event", "evidence_time", "scope", "attribution", "status")
    return Case(
        id=_text(given["case"]),
        seeds=[Seed(*(_text(seed[name]) for name in names)) for seed in given["seeds"]],
        probes=[Probe(_text(probe["id"]), _text(probe["question"])) for probe in given["probes"]],
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r} is not a whole number")
    return value


def _count(value: Any) -> int:
    if _whole(value) < 1:
        raise ValueError(f"{value!r}: at least 1")
    return _whole(value)
