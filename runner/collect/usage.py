"""What the gateway saw models use, folded by model, and whether the client says the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.clients.report import counted, finding
from runner.collect.reconciliation import explanations, of_unmeasured
from runner.core.evidence import Exchange, NoUsage, TokenCounts
from runner.core.findings import FindingKind
from runner.core.prices import FIXTURE_MODEL, without_date
from runner.core.quantities import Measured, Quantity, Unavailable, total
from runner.core.usage import INPUT_CLASSES, PROMPT_BANDS, TOKEN_CLASSES, ModelUsage, class_total

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from runner.collect.documents import ExchangeLog
    from runner.core.records import Finding

UNKNOWN_MODEL = "(unknown)"
_INPUTS: Final = frozenset(INPUT_CLASSES)
# How providers say that nothing was out of the ordinary.
_STANDARD: Final = frozenset({"", "standard", "default", "auto", "not_available", "global"})


def observed_usage(log: ExchangeLog | Unavailable, owner: str) -> tuple[ModelUsage, ...]:
    """What the requests of `owner` used, by the name of the model that answered and all that bears on the price.

    Every exchange that may have to be paid counts, answered or cut; those whose usage isn't whole stand apart, so that
    what is known of the others stays known. What a damaged or absent line held can't be known: it stands as unavailable
    usage of an unknown model of the client's, so that no total looks complete.
    """
    if isinstance(log, Unavailable):
        return (_nothing_known(0, log),) if owner == "client" else ()
    alike: dict[tuple[str, tuple[str, ...], int, bool], list[_Counted]] = {}
    for exchange in log.exchanges:
        if exchange.owner == owner and exchange.reached_model():
            counted_one = _counted(exchange)
            band = sum(counted_one.prompt_tokens > bound for bound in PROMPT_BANDS)
            key = (_model_of(exchange), rate_of(exchange), band, not counted_one.whole)
            alike.setdefault(key, []).append(counted_one)
    found = [_folded(key[0], key[1], alike[key]) for key in sorted(alike)]
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
    agree = True
    for model, seen, said in _pairs(observed, reported, by_model=same_models):
        differences = [
            f"{name} reported {theirs.value}, observed {ours.value}"
            for name in TOKEN_CLASSES
            if isinstance(ours := class_total(seen, name), Measured)
            and isinstance(theirs := class_total(said, name), Measured)
            and ours != theirs
        ]
        if differences:
            agree = False
            scope = f"{model}: " if model else ""
            concerned = [exchange for exchange in exchanges if model in {"", _model_of(exchange)}]
            yield from explanations(seen, said, concerned)
            yield finding(FindingKind.USAGE_DISAGREES, f"{scope}{'; '.join(differences)}{cause}")
    if agree:
        yield from of_unmeasured(exchanges, reported)


def exchange_findings(exchanges: Sequence[Exchange]) -> Iterator[Finding]:
    """What a reader must know of the requests themselves."""
    cut = [exchange for exchange in exchanges if exchange.cut and exchange.reached_model()]
    if cut:
        yield finding(FindingKind.CUT_STREAM, f"{counted(len(cut), 'answer')} cut: {_numbers(cut)}")
    resent = [exchange for exchange in exchanges if exchange.resend_of is not None and exchange.reached_model()]
    if resent:
        yield finding(FindingKind.RESENT_REQUESTS, f"{counted(len(resent), 'request')} sent again: {_numbers(resent)}")
    unmeasured = [exchange for exchange in exchanges if exchange.reached_model() and not _is_whole(exchange.usage)]
    if unmeasured:
        yield finding(
            FindingKind.USAGE_MISSING, f"{counted(len(unmeasured), 'answer')} without usage: {_numbers(unmeasured)}"
        )
    yield from _provider_findings(exchanges)
    reasons = sorted({exchange.refused for exchange in exchanges if exchange.refused is not None})
    for reason in reasons:
        refused = [exchange for exchange in exchanges if exchange.refused == reason]
        yield finding(
            FindingKind.REFUSED_REQUESTS, f"{reason}: {counted(len(refused), 'request')}: {_numbers(refused)}"
        )


def _provider_findings(exchanges: Sequence[Exchange]) -> Iterator[Finding]:
    answered = [exchange for exchange in exchanges if exchange.refused is None and exchange.status is not None]
    trouble = [exchange for exchange in answered if exchange.status == 429 or (exchange.status or 0) >= 500]
    for status in sorted({exchange.status for exchange in trouble if exchange.status is not None}):
        found = [exchange for exchange in trouble if exchange.status == status]
        yield finding(
            FindingKind.PROVIDER_TROUBLE, f"{counted(len(found), 'answer')} with status {status}: {_numbers(found)}"
        )
    others = [exchange for exchange in answered if _was_substituted(exchange)]
    if others:
        names = sorted({f"{exchange.model_asked} -> {exchange.model_resolved}" for exchange in others})
        yield finding(FindingKind.MODEL_SUBSTITUTED, f"{', '.join(names)}: {_numbers(others)}")
    beyond = [
        exchange
        for exchange in exchanges
        if exchange.charged_microusd is not None
        and exchange.reserved_microusd is not None
        and exchange.charged_microusd > exchange.reserved_microusd
    ]
    if beyond:
        yield finding(
            FindingKind.BOUND_BROKEN,
            f"{counted(len(beyond), 'answer')} cost more than was reserved: {_numbers(beyond)}",
        )
    telling = [exchange for exchange in exchanges if exchange.key_returned]
    if telling:
        yield finding(
            FindingKind.KEY_RETURNED,
            f"{counted(len(telling), 'answer')} with the provider's key, ended before it passed: {_numbers(telling)}",
        )


def _was_substituted(exchange: Exchange) -> bool:
    asked, resolved = exchange.model_asked, exchange.model_resolved
    # A policy plays every model; a script may say that it played another one.
    if asked is None or resolved is None or resolved == FIXTURE_MODEL:
        return False
    return resolved != asked and without_date(resolved) != without_date(asked)


def _model_of(exchange: Exchange) -> str:
    return exchange.model_resolved or exchange.model_asked or UNKNOWN_MODEL


def _is_whole(usage: TokenCounts | NoUsage) -> bool:
    return isinstance(usage, TokenCounts) and not any(isinstance(usage.of(name), NoUsage) for name in TOKEN_CLASSES)


def rate_of(exchange: Exchange) -> tuple[str, ...]:
    """What bears on the price of an answer beyond its tokens, as `detail=value`; nothing at the standard rate."""
    details = exchange.details
    if details is None:
        return ()
    said = {
        "inference_geo": details.inference_geo,
        "service_tier": details.service_tier,
        "speed": details.speed,
    }
    return tuple(f"{name}={value}" for name, value in said.items() if value not in _STANDARD)


def _server_tools(exchanges: Sequence[Exchange]) -> dict[str, int]:
    found: dict[str, int] = {}
    for exchange in exchanges:
        for name, count in (exchange.details.server_tools if exchange.details else {}).items():
            found[name] = found.get(name, 0) + count
    return dict(sorted(found.items()))


def _thinking(exchanges: Sequence[Exchange]) -> Quantity:
    counts = [exchange.details.thinking_tokens if exchange.details else None for exchange in exchanges]
    if any(count is None for count in counts):
        return Unavailable("not reported")
    return Measured(sum(count for count in counts if count is not None))


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
        (
            model,
            tuple(seen for seen in observed if seen.model == model),
            tuple(said for said in reported if said.model == model),
        )
        for model in dict.fromkeys(usage.model for usage in observed)
    ]


@dataclass(frozen=True, slots=True)
class _Counted:
    """An exchange and its tokens."""

    exchange: Exchange
    tokens: tuple[Quantity, ...]
    """By class, in the order of `TOKEN_CLASSES`."""
    prompt: Quantity
    """Of all input classes together."""
    prompt_tokens: int
    """The same, as far as it is known."""

    @property
    def whole(self) -> bool:
        """Every class is known."""
        return all(isinstance(tokens, Measured) for tokens in self.tokens)


def _counted(exchange: Exchange) -> _Counted:
    usage = exchange.usage
    if isinstance(usage, NoUsage):
        nothing = Unavailable(f"exchange {exchange.seq}: {usage.unavailable}")
        return _Counted(exchange, (nothing,) * len(TOKEN_CLASSES), nothing, 0)
    tokens: list[Quantity] = []
    for name in TOKEN_CLASSES:
        match usage.of(name):
            case NoUsage() as nothing_said:
                tokens.append(Unavailable(f"exchange {exchange.seq}: {nothing_said.unavailable}"))
            case count:
                tokens.append(Measured(count))
    inputs = [quantity for name, quantity in zip(TOKEN_CLASSES, tokens, strict=True) if name in _INPUTS]
    known_tokens = sum(quantity.value for quantity in inputs if isinstance(quantity, Measured))
    return _Counted(exchange, tuple(tokens), total(inputs), known_tokens)


def _folded(model: str, rate: tuple[str, ...], found: Sequence[_Counted]) -> ModelUsage:
    sums = [total(list(column)) for column in zip(*(one.tokens for one in found), strict=True)]
    exchanges = [one.exchange for one in found]
    return ModelUsage(
        **dict(zip(TOKEN_CLASSES, sums, strict=True)),
        model=model,
        requests=len(exchanges),
        rate=rate,
        server_tools=_server_tools(exchanges),
        thinking_tokens=_thinking(exchanges),
        shortest_prompt_tokens=_of_prompts(found, min),
        longest_prompt_tokens=_of_prompts(found, max),
    )


def _of_prompts(found: Sequence[_Counted], chosen: Callable[[list[int]], int]) -> Quantity:
    for one in found:
        if isinstance(one.prompt, Unavailable):
            return one.prompt
    return Measured(chosen([one.prompt_tokens for one in found]))


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
