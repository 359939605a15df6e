"""Which fields of a run's documents may differ when the run is repeated, and why: the one list of them.

Whatever isn't named here must be equal: answers, usage, outcomes, attempts, tool calls, scores, every statistic of
these, and gates that rest on them. A field that is named must still be of the same shape on both sides.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from runner.core import layout
from runner.core.harness import REQUIREMENTS


class Reason(enum.StrEnum):
    """Why a field may differ."""

    CLOCK = "clock"
    KERNEL = "kernel"
    OCCASION = "occasion"
    EVIDENCE = "evidence"
    PLACE = "place"
    WORST_CASE = "worst case"
    REPLAY = "replay"
    OWN_STUDY = "own study"
    INSTALLED = "installed"

    @property
    def words(self) -> str:
        """The reason as a sentence has it."""
        return _WORDS[self]


_WORDS: Final = {
    Reason.CLOCK: "what a clock measured, and what is computed from that",
    Reason.KERNEL: "what the kernel accounted of processor and memory",
    Reason.OCCASION: "name and moments of the run, and digests of documents that hold them",
    Reason.EVIDENCE: "digests of raw files, which hold moments, identifiers of containers, and the attempt's tokens",
    Reason.PLACE: "the machine, the engine and the interpreter that the run had",
    Reason.WORST_CASE: "what caps count of an answer that was cut follows from the size of its request, whose masked "
    "places may have another length",
    Reason.REPLAY: "who answers: what was recorded in the one run is played in the other",
    Reason.OWN_STUDY: "a study that plays a recording needs no script of what is recorded",
    Reason.INSTALLED: "what else was installed beside the code, which is the same",
}


class Shape(enum.Enum):
    """What a field that may differ must be on both sides."""

    INTEGER = enum.auto()
    """Not below 0: an amount of something."""
    INTEGERS = enum.auto()
    """As above, each of them."""
    FIGURE = enum.auto()
    """An integer, not below 0, or why there is none: a clock may decide which, as where nothing varies."""
    BALANCE = enum.auto()
    """The same of what may also be below 0: the difference of two figures."""
    DIGEST = enum.auto()
    MOMENT = enum.auto()
    TEXT = enum.auto()
    TEXTS = enum.auto()
    AMOUNTS = enum.auto()
    """Texts that are equal but for their digits."""
    ONE_SIDED = enum.auto()
    """Whatever one side has, and the other hasn't got, or has as null or as an empty text."""
    ANY = enum.auto()
    """Anything, and also nothing."""


class Where(enum.Enum):
    """Where a field may differ."""

    EVERYWHERE = enum.auto()
    CLOCKED = enum.auto()
    """In what is said of a measure whose unit is read off a clock or off the kernel's accounts."""
    CAPPED = enum.auto()
    """In a trial or an attempt that a cap ended."""
    CUT = enum.auto()
    """Of the attempt whose answer was cut, or that another one followed; and in the sums of its arm."""
    LATENCIES = enum.auto()
    """In what is said of the document of latencies."""

    @property
    def words(self) -> str:
        """The place as a table has it; "" for everywhere."""
        return _PLACES[self]


_PLACES: Final = {
    Where.EVERYWHERE: "",
    Where.CLOCKED: "of a clock's measure",
    Where.CAPPED: "of a trial that a cap ended",
    Where.CUT: "of an answer that was cut",
    Where.LATENCIES: "of `latencies.jsonl`",
}


@dataclass(frozen=True)
class Volatile:
    """Fields that may differ: those of `document` (`*` for any part of its path) to which `path` leads.

    `[]` in a path is any item of a list, `*` any key; "" is the document as a whole.
    """

    document: str
    path: tuple[str, ...]
    reason: Reason
    shape: Shape
    where: Where = Where.EVERYWHERE

    @property
    def field(self) -> str:
        """The path as it is written."""
        return ".".join(self.path).replace(".[]", "[]")


CLOCKED_UNITS: Final = ("ms", "us", "bytes")
"""Of measures that are read off a clock, or off the kernel's accounts."""
CLOCKED_MEASURES: Final = ("latency_p50_us", "latency_p95_us")
"""Measures of gates that a summary has no unit for."""


def _of(
    document: str,
    reason: Reason,
    shape: Shape,
    *paths: str,
    where: Where = Where.EVERYWHERE,
) -> tuple[Volatile, ...]:
    return tuple(Volatile(document, path_of(path), reason, shape, where) for path in paths)


def path_of(text: str) -> tuple[str, ...]:
    """The steps of a written path: `attempts[].evidence.*` has four."""
    return tuple(text.replace("[]", ".[]").split(".")) if text else ()


def _clocked(*paths: str, shape: Shape = Shape.FIGURE) -> tuple[Volatile, ...]:
    return _of(layout.SUMMARY, Reason.CLOCK, shape, *paths, where=Where.CLOCKED)


_SPREADS: Final = ("total", "embed", "search", "decode", "first_relevant")
_QUANTILES: Final = ("p50_us", "p95_us", "lowest_us", "highest_us")
_ENDS: Final = ("low", "high")
_DIFFERENCES: Final = ("mean_difference_scaled", "median_difference_scaled")

_LOCK: Final = (
    *_of(layout.LOCK, Reason.OCCASION, Shape.TEXT, "run"),
    *_of(layout.LOCK, Reason.OCCASION, Shape.MOMENT, "created_at"),
    *_of(layout.LOCK, Reason.OCCASION, Shape.ANY, "rerun_of"),
    *_of(
        layout.LOCK,
        Reason.PLACE,
        Shape.TEXT,
        *("engine.name", "engine.version", "engine.api_version", "engine.kernel", "engine.storage_driver"),
        *("engine.cgroup_version", "harness.python"),
    ),
    *_of(layout.LOCK, Reason.PLACE, Shape.INTEGER, "engine.cpus", "engine.memory_bytes"),
    *_of(layout.LOCK, Reason.INSTALLED, Shape.DIGEST, "harness.requirements_sha256"),
)
_HARNESS: Final = _of(f"{layout.HARNESS}/{REQUIREMENTS}", Reason.INSTALLED, Shape.ANY, "")
_RECORDS: Final = (
    *_of(
        layout.RECORDS,
        Reason.CLOCK,
        Shape.INTEGER,
        *("timing.wall_ms", "timing.startup_ms", "timing.model_ms", "timing.working_ms", "timing.pod_ms"),
    ),
    *_of(
        layout.RECORDS,
        Reason.KERNEL,
        Shape.INTEGER,
        *("timing.user_cpu_ms", "timing.system_cpu_ms", "timing.peak_rss_bytes"),
    ),
    *_of(layout.RECORDS, Reason.EVIDENCE, Shape.DIGEST, "attempts[].evidence.*"),
    *_of(layout.RECORDS, Reason.WORST_CASE, Shape.INTEGER, "attempts[].charged_microusd", where=Where.CUT),
    *_of(layout.RECORDS, Reason.WORST_CASE, Shape.AMOUNTS, "reason", "attempts[].reason", where=Where.CAPPED),
)
_LATENCIES: Final = _of(layout.LATENCIES, Reason.CLOCK, Shape.INTEGER, "embed_us", "search_us", "decode_us", "total_us")
_CASSETTE: Final = (
    *_of(layout.CASSETTE, Reason.OCCASION, Shape.TEXT, "run"),
    *_of(layout.CASSETTE, Reason.CLOCK, Shape.INTEGER, "head_us"),
    *_of(layout.CASSETTE, Reason.CLOCK, Shape.INTEGERS, "piece_us"),
    *_of(layout.CASSETTE, Reason.CLOCK, Shape.DIGEST, "entry_sha256"),
)
_SUMMARY: Final = (
    *_of(layout.SUMMARY, Reason.OCCASION, Shape.DIGEST, "inputs.lock", "inputs.ledger_head", "inputs.records"),
    *_of(layout.SUMMARY, Reason.CLOCK, Shape.FIGURE, "cold_starts[].median_startup_us"),
    *_of(layout.SUMMARY, Reason.CLOCK, Shape.TEXTS, "cold_starts[].cold"),
    *_clocked(
        "views[].totals[].arms[].total",
        "views[].totals[].arms[].mean_scaled",
        "views[].medians[].arms[].median_scaled",
        "views[].medians_of_medians[].arms[].median_scaled",
        *(
            f"views[].distributions[].arms[].{name}_scaled"
            for name in ("lowest", "lower_quartile", "median", "upper_quartile", "highest")
        ),
        "views[].contrasts[].effective_tasks_milli",
        *(f"views[].contrasts[].ratio_ppm.{end}" for end in ("value", "low", "high")),
        "views[].contrasts[].detectable_ratio_ppm.low",
        "views[].contrasts[].detectable_ratio_ppm.high",
        "views[].contrasts[].detectable_mean_difference_scaled",
        *(f"views[].simultaneous[].ratio_ppm.{end}" for end in ("low", "high")),
        *(
            f"{part}[].{name}"
            for part in ("order_effect", "drift")
            for name in ("control_total", "treatment_total", "ratio_ppm")
        ),
        *(f"worst_case[].ratio_ppm.{end}" for end in ("low", "high")),
    ),
    *_clocked(
        *(f"views[].contrasts[].{name}.{end}" for name in _DIFFERENCES for end in ("value", "low", "high")),
        *(f"{part}[].{_DIFFERENCES[0]}.{end}" for part in ("views[].simultaneous", "worst_case") for end in _ENDS),
        "gates[].found_scaled",
        shape=Shape.BALANCE,
    ),
    *_of(layout.SUMMARY, Reason.CLOCK, Shape.TEXT, "gates[].verdict", where=Where.CLOCKED),
    *_of(
        layout.SUMMARY,
        Reason.CLOCK,
        Shape.FIGURE,
        *(f"retrieval.latencies[].{spread}.{name}" for spread in _SPREADS for name in _QUANTILES),
    ),
    *_of(layout.SUMMARY, Reason.CLOCK, Shape.DIGEST, "retrieval.documents[].digest", where=Where.LATENCIES),
    *_of(layout.SUMMARY, Reason.WORST_CASE, Shape.AMOUNTS, "census.rows[].reason", where=Where.CAPPED),
    *_of(layout.SUMMARY, Reason.WORST_CASE, Shape.INTEGER, "spend[].charged_microusd", where=Where.CUT),
)
_REPLAYED: Final = (
    # The recording of the one is an input of the other.
    *_of(layout.CASSETTE, Reason.REPLAY, Shape.ONE_SIDED, ""),
    *_of(layout.PLAYED, Reason.REPLAY, Shape.ONE_SIDED, ""),
    *_of(layout.LOCK, Reason.REPLAY, Shape.DIGEST, "study_sha256"),
    *_of(layout.LOCK, Reason.REPLAY, Shape.ONE_SIDED, "cassette_sha256"),
    *_of(layout.STUDY, Reason.REPLAY, Shape.ANY, "model.*"),
    *_of(layout.STUDY, Reason.REPLAY, Shape.ONE_SIDED, "model_ca"),
    *_of(layout.STUDY, Reason.OWN_STUDY, Shape.ONE_SIDED, "tasks[].script", "arms[].script"),
    *(
        Volatile(layout.RECORDS, ("attempts", "[]", "evidence", name), Reason.REPLAY, Shape.ONE_SIDED)
        for name in ("recording.jsonl", "replayed.json", "bodies.jsonl.zst")
    ),
    *_of(layout.SUMMARY, Reason.REPLAY, Shape.TEXT, "model.mode", "model.policy"),
)

VOLATILE: Final[tuple[Volatile, ...]] = (
    *_LOCK,
    *_HARNESS,
    *_RECORDS,
    *_LATENCIES,
    *_CASSETTE,
    *_SUMMARY,
    *_REPLAYED,
)
