"""Where an attempt's time went, from the clocks of supervisor, gateway and runner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.core.quantities import Measured, Quantity, Unavailable
from runner.core.records import Timing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.collect.documents import Documents
    from runner.core.evidence import Exchange, ExitReport

_NS_PER_MS = 1_000_000


def timing_of(documents: Documents) -> Timing:
    """The attempt's timing; milliseconds are rounded down, once, after nanoseconds were summed."""
    report, engine = documents.exit, documents.engine
    exchanges = [] if isinstance(documents.exchanges, Unavailable) else _of_client(documents.exchanges.exchanges)
    started_ns = None if isinstance(report, Unavailable) else report.started_ns
    return Timing(
        wall_ms=report if isinstance(report, Unavailable) else _known(report.wall_ms, "the client never started"),
        startup_ms=_startup(started_ns, exchanges),
        model_ms=documents.exchanges if isinstance(documents.exchanges, Unavailable) else _model(exchanges),
        working_ms=_working(report, exchanges)
        if not isinstance(documents.exchanges, Unavailable)
        else documents.exchanges,
        pod_ms=engine
        if isinstance(engine, Unavailable)
        else _known(engine.pod_ms, "the trial container was not proven gone"),
        user_cpu_ms=report if isinstance(report, Unavailable) else _known(report.user_cpu_ms, "not accounted"),
        system_cpu_ms=report if isinstance(report, Unavailable) else _known(report.system_cpu_ms, "not accounted"),
        peak_rss_bytes=report if isinstance(report, Unavailable) else _known(report.peak_rss_bytes, "not accounted"),
    )


def no_timing(reason: str) -> Timing:
    """The timing of a trial that has none, for `reason`."""
    missing = Unavailable(reason)
    return Timing(
        wall_ms=missing,
        startup_ms=missing,
        model_ms=missing,
        working_ms=missing,
        pod_ms=missing,
        user_cpu_ms=missing,
        system_cpu_ms=missing,
        peak_rss_bytes=missing,
    )


def _of_client(exchanges: Sequence[Exchange]) -> list[Exchange]:
    return [exchange for exchange in exchanges if exchange.owner == "client" and exchange.reached_model()]


def _known(value: int | None, reason: str) -> Quantity:
    return Unavailable(reason) if value is None else Measured(value)


def _startup(started_ns: int | None, exchanges: Sequence[Exchange]) -> Quantity:
    if started_ns is None:
        return Unavailable("the client never started")
    if not exchanges:
        return Unavailable("the client made no model request")
    first_ns = min(exchange.received_ns for exchange in exchanges) - started_ns
    if first_ns < 0:
        return Unavailable("the first request is older than the client")
    return Measured(first_ns // _NS_PER_MS)


def _working(report: ExitReport | Unavailable, exchanges: Sequence[Exchange]) -> Quantity:
    """The client's time outside the union of its requests' intervals: requests side by side count once."""
    if isinstance(report, Unavailable):
        return report
    if report.started_ns is None or report.ended_ns is None:
        return Unavailable("the client never started")
    waited_ns, upto_ns = 0, report.started_ns
    for exchange in sorted(exchanges, key=lambda item: item.received_ns):
        if exchange.received_ns < report.started_ns:
            return Unavailable(f"exchange {exchange.seq} is older than the client")
        if not exchange.last_byte_ns or exchange.last_byte_ns < exchange.received_ns:
            return Unavailable(f"exchange {exchange.seq} has no end")
        # What the gateway still sends after the client's end is nobody's waiting.
        end_ns = min(exchange.last_byte_ns, report.ended_ns)
        waited_ns += max(0, end_ns - max(exchange.received_ns, upto_ns))
        upto_ns = max(upto_ns, end_ns)
    working_ns = report.ended_ns - report.started_ns - waited_ns
    return Measured(working_ns // _NS_PER_MS) if working_ns >= 0 else Unavailable("the client's clock ran backwards")


def _model(exchanges: Sequence[Exchange]) -> Quantity:
    whole_ns = 0
    for exchange in exchanges:
        # The gateway writes 0 where nothing was ever sent.
        if not exchange.last_byte_ns or exchange.last_byte_ns < exchange.received_ns:
            return Unavailable(f"exchange {exchange.seq} has no end")
        whole_ns += exchange.last_byte_ns - exchange.received_ns
    return Measured(whole_ns // _NS_PER_MS)
