"""What the gateway saw models use, folded by model, and whether the client says the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.clients.report import counted, finding
from runner.core.evidence import Exchange, NoUsage, TokenCounts
from runner.core.findings import FindingKind
from runner.core.quantities import Measured, Quantity, Unavailable, total
from runner.core.usage import TOKEN_CLASSES, ModelUsage, class_total

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from runner.collect.documents import ExchangeLog
    from runner.core.records import Finding

UNKNOWN_MODEL = "(unknown)"


def observed_usage(log: ExchangeLog | Unavailable, owner: str) -> tuple[ModelUsage, ...]:
    """What the requests of `owner` used, by the name of the model that answered.

    Every exchange that may have to be paid counts, answered or cut. What a damaged or absent line held can't be known:
    it stands as unavailable usage of an unknown model of the client's, so that no total looks complete.
    """
    if isinstance(log, Unavailable):
        return (_nothing_known(0, log),) if owner == "client" else ()
    by_model: dict[str, list[Exchange]] = {}
    for exchange in log.exchanges:
        if exchange.owner == owner and exchange.reached_model():
            model = exchange.model_resolved or exchange.model_asked or UNKNOWN_MODEL
            by_model.setdefault(model, []).append(exchange)
    found = [_folded(model, by_model[model]) for model in sorted(by_model)]
    lost = len(log.damage) + len(log.absent())
    if lost and owner == "client":
        found.append(_nothing_known(lost, Unavailable(f"lost from exchanges.jsonl: {counted(lost, 'exchange')}")))
    return tuple(found)


def usage_findings(
    observed: tuple[ModelUsage, ...], reported: tuple[ModelUsage, ...], exchanges: Sequence[Exchange]
) -> Iterator[Finding]:
    """Where the client's report and the gateway's observation differ, class by class, and what may explain it."""
    if not reported or not observed:
        return
    cuts = sum(exchange.cut for exchange in exchanges)
    cause = f" ({counted(cuts, 'answer')} cut: the client may count that or not)" if cuts else ""
    same_models = {usage.model for usage in observed} == {usage.model for usage in reported}
    for scope, seen, said in _pairs(observed, reported, by_model=same_models):
        differences = [
            f"{name} reported {theirs.value}, observed {ours.value}"
            for name in TOKEN_CLASSES
            if isinstance(ours := class_total(seen, name), Measured)
            and isinstance(theirs := class_total(said, name), Measured)
            and ours != theirs
        ]
        if differences:
            yield finding(FindingKind.USAGE_DISAGREES, f"{scope}{'; '.join(differences)}{cause}")


def exchange_findings(exchanges: Sequence[Exchange]) -> Iterator[Finding]:
    """What a reader must know of the requests themselves."""
    cut = [exchange for exchange in exchanges if exchange.cut and exchange.reached_model()]
    if cut:
        yield finding(FindingKind.CUT_STREAM, f"{counted(len(cut), 'answer')} cut: {_numbers(cut)}")
    resent = [exchange for exchange in exchanges if exchange.resend_of is not None and exchange.reached_model()]
    if resent:
        yield finding(FindingKind.RESENT_REQUESTS, f"{counted(len(resent), 'request')} sent again: {_numbers(resent)}")
    unmeasured = [
        exchange for exchange in exchanges if exchange.reached_model() and not isinstance(exchange.usage, TokenCounts)
    ]
    if unmeasured:
        yield finding(
            FindingKind.USAGE_MISSING, f"{counted(len(unmeasured), 'answer')} without usage: {_numbers(unmeasured)}"
        )
    reasons = sorted({exchange.refused for exchange in exchanges if exchange.refused is not None})
    for reason in reasons:
        refused = [exchange for exchange in exchanges if exchange.refused == reason]
        yield finding(
            FindingKind.REFUSED_REQUESTS, f"{reason}: {counted(len(refused), 'request')}: {_numbers(refused)}"
        )


def _numbers(exchanges: Sequence[Exchange]) -> str:
    shown = ", ".join(str(exchange.seq) for exchange in exchanges[:20])
    return f"exchange {shown}" + (", …" if len(exchanges) > 20 else "")


def _pairs(
    observed: tuple[ModelUsage, ...], reported: tuple[ModelUsage, ...], *, by_model: bool
) -> Iterable[tuple[str, tuple[ModelUsage, ...], tuple[ModelUsage, ...]]]:
    """What to compare: each model, or all together where client and gateway call the models differently."""
    if not by_model:
        return [("", observed, reported)]
    return [
        (f"{usage.model}: ", (usage,), tuple(said for said in reported if said.model == usage.model))
        for usage in observed
    ]


def _folded(model: str, exchanges: Sequence[Exchange]) -> ModelUsage:
    def sum_of(name: str) -> Quantity:
        return total([_tokens(exchange, name) for exchange in exchanges])

    return ModelUsage(
        model=model,
        requests=len(exchanges),
        input_tokens=sum_of("input_tokens"),
        output_tokens=sum_of("output_tokens"),
        cache_read_input_tokens=sum_of("cache_read_input_tokens"),
        cache_write_5m_input_tokens=sum_of("cache_write_5m_input_tokens"),
        cache_write_1h_input_tokens=sum_of("cache_write_1h_input_tokens"),
    )


def _tokens(exchange: Exchange, name: str) -> Quantity:
    match exchange.usage:
        case TokenCounts() as counts:
            count = dict(counts)[name]
            if isinstance(count, NoUsage):
                return Unavailable(f"exchange {exchange.seq}: {count.unavailable}")
            return Measured(count)
        case other:
            return Unavailable(f"exchange {exchange.seq}: {other.unavailable}")


def _nothing_known(requests: int, reason: Unavailable) -> ModelUsage:
    return ModelUsage(
        model=UNKNOWN_MODEL,
        requests=requests,
        input_tokens=reason,
        output_tokens=reason,
        cache_read_input_tokens=reason,
        cache_write_5m_input_tokens=reason,
        cache_write_1h_input_tokens=reason,
    )
