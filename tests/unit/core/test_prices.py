import pytest

from runner.core.outcomes import Outcome
from runner.core.prices import (
    FIXTURE_MODEL,
    LIST_PRICES,
    PriceTable,
    list_cost_microusd,
    price_table_digest,
    unknown_usage,
)
from runner.core.quantities import Measured, Quantity, Unavailable
from runner.core.usage import ModelUsage


def usage(model: str, *tokens: int | Quantity) -> ModelUsage:
    classes = [Measured(item) if isinstance(item, int) else item for item in tokens]
    return ModelUsage(
        model=model,
        requests=1,
        input_tokens=classes[0],
        output_tokens=classes[1],
        cache_read_input_tokens=classes[2],
        cache_write_5m_input_tokens=classes[3],
        cache_write_1h_input_tokens=classes[4],
    )


@pytest.mark.parametrize(
    ("model", "microusd"),
    [
        ("claude-sonnet-4-5", (3_000_000, 15_000_000, 300_000, 3_750_000, 6_000_000)),
        ("claude-haiku-4-5", (1_000_000, 5_000_000, 100_000, 1_250_000, 2_000_000)),
        ("claude-opus-4-5", (5_000_000, 25_000_000, 500_000, 6_250_000, 10_000_000)),
        ("claude-sonnet-5-5", (2_000_000, 10_000_000, 100_000, 2_500_000, 4_000_000)),
        ("claude-opus-5-5", (4_000_000, 20_000_000, 200_000, 5_000_000, 8_000_000)),
        ("claude-haiku-5-5", (100_000, 500_000, 10_000, 125_000, 200_000)),
        ("claude-fable-5-2", (8_000_000, 40_000_000, 200_000, 10_000_000, 16_000_000)),
    ],
)
def test_each_class_has_its_price(model: str, microusd: tuple[int, ...]) -> None:
    """Micro-dollars per million tokens, as derived on 2026-11-29; a fifth of a million tokens keeps every model priced."""
    for position, price in enumerate(microusd):
        tokens = [0, 0, 0, 0, 0]
        tokens[position] = 50_000
        assert list_cost_microusd([usage(model, *tokens)], LIST_PRICES, "") == Measured(price // 20)


def test_one_trial_is_rounded_once() -> None:
    """0.3 micro-dollars thrice are 0.9: rounding each first would lose them."""
    third = usage("claude-sonnet-4-5", 0, 0, 1, 0, 0)
    assert list_cost_microusd([third], LIST_PRICES, "") == Measured(0)
    assert list_cost_microusd([third, third, third], LIST_PRICES, "") == Measured(1)


def test_the_fixture_is_priced_as_the_model_that_was_asked_for() -> None:
    """A scripted policy has no price of its own."""
    scripted = usage(FIXTURE_MODEL, 1_000_000, 0, 0, 0, 0)
    assert list_cost_microusd([scripted], LIST_PRICES, "claude-opus-4-5") == Measured(5_000_000)
    assert list_cost_microusd([scripted], LIST_PRICES, "nobody") == Unavailable(
        "no list price for model 'nobody' in the table of 2026-11-29"
    )


def test_a_real_model_is_never_priced_as_another() -> None:
    """The model asked for prices the fixture alone."""
    assert list_cost_microusd([usage("gpt-5", 1, 0, 0, 0, 0)], LIST_PRICES, "claude-opus-4-5") == Unavailable(
        "no list price for model 'gpt-5' in the table of 2026-11-29"
    )


def test_a_release_date_does_not_hide_the_price() -> None:
    """Providers resolve names to dated ones."""
    dated = usage("claude-sonnet-4-5-20250929", 1_000_000, 0, 0, 0, 0)
    assert list_cost_microusd([dated], LIST_PRICES, "") == Measured(3_000_000)


def test_a_class_that_was_not_reported_makes_the_cost_unavailable() -> None:
    """Missing usage is never free."""
    partial = usage("claude-sonnet-4-5", 10, 10, Unavailable("not in the answer"), 0, 0)
    assert list_cost_microusd([partial], LIST_PRICES, "") == Unavailable(
        "cache_read_input_tokens of claude-sonnet-4-5 is unavailable: not in the answer"
    )


def test_a_rate_that_rises_with_length_is_not_guessed() -> None:
    """Where the higher rate begins isn't known, so long trials have no price."""
    assert list_cost_microusd([usage("claude-haiku-5-5", 99_999, 0, 0, 0, 0)], LIST_PRICES, "") == Measured(10_000)
    assert list_cost_microusd([usage("claude-haiku-5-5", 60_000, 0, 40_000, 0, 0)], LIST_PRICES, "") == Unavailable(
        "claude-haiku-5-5 used 100000 input tokens: a higher rate for long contexts exists, and where it begins is not known"
    )


def test_no_usage_is_free_unless_the_observer_failed() -> None:
    """A trial that never asked a model costs nothing; one whose gateway died may have asked."""
    assert list_cost_microusd([], LIST_PRICES, "") == Measured(0)
    assert unknown_usage(Outcome.TIMEOUT, ()) is None
    assert unknown_usage(Outcome.GATEWAY_FAILED, ()) == Unavailable(
        "no usage was observed before the end as gateway_failed"
    )


def test_the_table_is_a_document_with_a_digest() -> None:
    """What a summary was priced with can be named and read back."""
    assert PriceTable.from_bytes(LIST_PRICES.to_bytes(), "prices.json") == LIST_PRICES
    assert price_table_digest() == LIST_PRICES.digest()
    assert LIST_PRICES.dated == "2026-11-29"
