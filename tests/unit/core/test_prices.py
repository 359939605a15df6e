import json

import pytest
from gateway.exchange import Usage
from gateway.spending import Asked, read_spending

from runner.core.declared import read_declared
from runner.core.errors import StudyError
from runner.core.outcomes import Outcome
from runner.core.prices import (
    FIXTURE_MODEL,
    LIST_PRICES,
    PRICE_RULE,
    PriceFile,
    PriceTable,
    known_cost_microusd,
    list_cost_microusd,
    price_table_digest,
    unknown_usage,
)
from runner.core.quantities import Measured, Quantity, Unavailable
from runner.core.request_cost import RequestSize, worst_microusd
from runner.core.spending import spending_for
from runner.core.study import Caps
from runner.core.usage import ModelUsage
from tests.fakes.orders import capped_study


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


def prompts(found: ModelUsage, shortest: int, longest: int) -> ModelUsage:
    """`found` as the usage of requests whose prompts were so long."""
    return found.model_copy(
        update={"shortest_prompt_tokens": Measured(shortest), "longest_prompt_tokens": Measured(longest)}
    )


def test_a_prompt_of_its_model_s_standard_length_has_the_standard_rate() -> None:
    """Requests count, not their sum: three prompts of 100,000 tokens are none of more."""
    short = prompts(usage("claude-haiku-5-5", 0, 0, 300_000, 0, 0), 100_000, 100_000)
    assert list_cost_microusd([short], LIST_PRICES, "") == Measured(3_000)


def test_a_longer_prompt_has_the_rate_that_the_provider_states() -> None:
    """Five times as much for the one, twice the input and one and a half times the output for the other."""
    haiku = prompts(usage("claude-haiku-5-5", 100_001, 1_000, 0, 0, 0), 100_001, 100_001)
    assert list_cost_microusd([haiku], LIST_PRICES, "") == Measured(50_000 + 2_500)
    sol = prompts(usage("gpt-6.1-sol", 72_001, 1_000, 200_000, 0, 0), 272_001, 272_001)
    assert list_cost_microusd([sol], LIST_PRICES, "") == Measured(288_004 + 40_000 + 15_000)


def test_prompts_on_both_sides_of_the_bound_have_no_price_together() -> None:
    """Neither rate is theirs, and no mean of the two is made up."""
    mixed = prompts(usage("claude-haiku-5-5", 150_000, 0, 0, 0, 0), 40_000, 110_000)
    reason = (
        "claude-haiku-5-5 used 150000 input tokens: "
        "some of its prompts are longer than 100,000 tokens, where the rate is five times as high"
    )
    assert list_cost_microusd([mixed], LIST_PRICES, "") == Unavailable(reason)


def test_where_nobody_says_how_long_prompts_were_their_sum_decides() -> None:
    """None of them is longer than all together."""
    assert list_cost_microusd([usage("claude-haiku-5-5", 100_000, 0, 0, 0, 0)], LIST_PRICES, "") == Measured(10_000)
    unsaid = list_cost_microusd([usage("claude-haiku-5-5", 60_001, 0, 40_000, 0, 0)], LIST_PRICES, "")
    assert isinstance(unsaid, Unavailable)


def test_a_table_that_does_not_know_the_rate_beyond_its_bound_gives_no_price() -> None:
    """The most that it may be is for caps."""
    limit = LIST_PRICES.length_limits[0].model_copy(update={"input_permille": 0, "output_permille": 0})
    table = LIST_PRICES.model_copy(update={"length_limits": (limit,)})
    long = prompts(usage("claude-haiku-5-5", 100_001, 0, 0, 0, 0), 100_001, 100_001)
    assert isinstance(list_cost_microusd([long], table, ""), Unavailable)


@pytest.mark.parametrize(
    ("model", "microusd"),
    [
        ("gpt-6-luna", (100_000, 500_000, 10_000, 125_000)),
        ("gpt-6-sol", (2_000_000, 10_000_000, 200_000, 2_500_000)),
        ("gpt-6.1-sol", (2_000_000, 10_000_000, 100_000, 2_500_000)),
        ("gpt-6.2-sol", (2_000_000, 10_000_000, 100_000, 2_500_000)),
    ],
)
def test_openai_models_have_the_prices_of_their_pages(model: str, microusd: tuple[int, ...]) -> None:
    """Input, output, cached input, cache writes; each with the page that it comes from."""
    for position, price in enumerate(microusd):
        tokens = [0, 0, 0, 0, 0]
        tokens[position] = 50_000
        assert list_cost_microusd([usage(model, *tokens)], LIST_PRICES, "") == Measured(price // 20)
    priced = LIST_PRICES.price_of(model)
    assert priced is not None
    assert priced.source == f"developers.openai.com/api/docs/models/{model}, an undated copy read on 2026-11-29"


def test_models_without_a_page_at_hand_have_no_price() -> None:
    """What Codex offers besides isn't priced as its neighbours."""
    for model in ("gpt-6-astra", "gpt-5.6-sol", "gpt-5.1-codex"):
        assert LIST_PRICES.price_of(model) is None


@pytest.mark.parametrize(
    ("model", "rate", "microusd"),
    [
        ("gpt-6-sol", "service_tier=priority", 400_000),
        ("gpt-6-sol", "service_tier=fast", 400_000),
        ("gpt-6-sol", "service_tier=flex", 100_000),
        ("claude-opus-5-5", "inference_geo=us", 440_000),
        ("claude-opus-5-5", "speed=fast", 800_000),
    ],
)
def test_a_surcharge_multiplies_every_class(model: str, rate: str, microusd: int) -> None:
    """What an answer says of itself, for the models of which the table says it."""
    said = usage(model, 100_000, 0, 0, 0, 0).model_copy(update={"rate": (rate,)})
    assert list_cost_microusd([said], LIST_PRICES, "") == Measured(microusd)


def test_what_the_table_has_no_surcharge_for_has_no_price() -> None:
    """A tier of another provider, a speed of another model."""
    for model, rate in (("claude-opus-5-5", "service_tier=priority"), ("claude-haiku-4-5", "speed=fast")):
        said = usage(model, 1, 0, 0, 0, 0).model_copy(update={"rate": (rate,)})
        assert list_cost_microusd([said], LIST_PRICES, "") == Unavailable(
            f"no price for {rate} of {model} in the table of 2026-11-29"
        )


def test_surcharges_are_rounded_once_with_everything_else() -> None:
    """5 tokens of 0.1 micro-dollars, times 1.1, are 0.55; two such usages are 1.1, not twice 1."""
    said = usage("claude-haiku-5-5", 5, 0, 0, 0, 0).model_copy(update={"rate": ("inference_geo=us",)})
    assert list_cost_microusd([said], LIST_PRICES, "") == Measured(1)
    assert list_cost_microusd([said, said], LIST_PRICES, "") == Measured(1)


def test_what_is_known_of_an_incomplete_usage_has_a_price_of_its_own() -> None:
    """At least so much was spent: of a cut answer the input, of a model without a price nothing."""
    cut = usage("claude-sonnet-4-5", 1_000, Unavailable("cut"), 0, 0, 0)
    assert known_cost_microusd([cut, usage("nobody", 5, 5, 5, 5, 5)], LIST_PRICES, "") == 3_000
    assert known_cost_microusd([cut, usage("claude-sonnet-4-5", 0, 10, 0, 0, 0)], LIST_PRICES, "") == 3_150


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


PRICES = """
[[prices]]
model = "ours"
source = "page 3"
input_tokens = 1000000
output_tokens = 2000000
cache_read_input_tokens = 0
cache_write_5m_input_tokens = 0
cache_write_1h_input_tokens = 0
"""
PRICE_FILE = f"""
format = "pairbench/price-file"
version = 1
dated = "2026-11-29"
source = "our contract"
surcharges = [{{ detail = "inference_geo", value = "eu", permille = 1100 }}]
{PRICES}
[[length_limits]]
model = "ours"
below_input_tokens = 50000
reason = "page 4"
at_most_permille = 3000
input_permille = 3000
output_permille = 1500
"""


def test_a_study_s_own_table_takes_the_place_of_ours() -> None:
    """With its date, its source, and its own rates for long prompts and regions."""
    table = read_declared(PriceFile, PRICE_FILE.encode(), "prices.toml").table()
    assert (table.dated, table.source, table.rule) == ("2026-11-29", "our contract", PRICE_RULE)
    assert table.prices[0].source == "page 3"
    long = prompts(usage("ours", 50_000, 1_000, 0, 0, 0), 50_000, 50_000)
    assert list_cost_microusd([long], table, "") == Measured(150_000 + 3_000)
    region = usage("ours", 1_000, 0, 0, 0, 0).model_copy(update={"rate": ("inference_geo=eu",)})
    assert list_cost_microusd([region], table, "") == Measured(1_100)
    assert isinstance(list_cost_microusd([usage("claude-sonnet-4-5", 1, 0, 0, 0, 0)], table, ""), Unavailable)


TWICE = "surcharges has inference_geo=eu more than once for the same model"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("output_tokens = 2000000", "output_tokens = -1", "greater than or equal to 0"),
        ("permille = 1100", "permille = -5", "greater than or equal to 0"),
        ("output_permille = 1500", "", "input_permille and output_permille belong together"),
        ("at_most_permille = 3000", "at_most_permille = 2999", "or caps don't hold"),
        ("[[length_limits]]", f"{PRICES}\n[[length_limits]]", "prices has ours more than once"),
        ("{ detail", '{ detail = "inference_geo", value = "eu", permille = 2000 }, { detail', f"{TWICE}"),
        ('value = "eu", ', 'value = "eu", models = ["theirs"], ', "surcharges names models that have no price: theirs"),
        ('"ours"\nbelow', '"theirs"\nbelow', "length_limits names models that have no price: theirs"),
        ("permille = 1100", "permille = 0", "surcharges: inference_geo=eu has permille 0, which would make everything"),
        ('"inference_geo"', '"region"', "surcharges: no answer has a 'region'; it must be one of inference_geo, serv"),
        ('"2026-11-29"', '"2026-13-45"', "dated must be a day like 2026-11-29, and is '2026-13-45'"),
        ('"2026-11-29"', '"20261129"', "dated must be a day like 2026-11-29, and is '20261129'"),
        ('"our contract"', '" "', "source must say where the prices come from"),
        ('"ours"\nsource', '" ours"\nsource', "prices has models that none is called: ' ours'"),
    ],
)
def test_a_table_that_contradicts_itself_is_refused(old: str, new: str, said: str) -> None:
    """Negative prices, half a rule, a cap that the price breaks, two prices of one thing, prices of nothing."""
    with pytest.raises(StudyError, match=said):
        read_declared(PriceFile, PRICE_FILE.replace(old, new, 1).encode(), "prices.toml")


def test_surcharges_of_one_value_for_different_models_are_no_contradiction() -> None:
    """Each model has one."""
    both = PRICES.replace('"ours"', '"theirs"')
    one = '{ detail = "inference_geo", value = "eu", permille = 1100 }'
    two = ", ".join(one.replace(" }", f', models = ["{name}"] }}') for name in ("ours", "theirs"))
    text = PRICE_FILE.replace(one, two).replace(PRICES, PRICES + both)
    assert len(read_declared(PriceFile, text.encode(), "prices.toml").surcharges) == 2


def test_a_surcharge_is_for_the_models_that_it_names_and_no_others() -> None:
    """Plan, gateway and price go by one rule: the name as the table has it, and not what begins alike."""
    longer = PRICES.replace('"ours"', '"ours-mini"')
    text = PRICE_FILE.replace("permille = 1100", 'permille = 1100, models = ["ours"]').replace(PRICES, PRICES + longer)
    table = read_declared(PriceFile, text.encode(), "prices.toml").table()
    size = RequestSize(10_000, 0, ("input_tokens",))
    asked = Asked(10_000, 0, ("input_tokens",), 0, {}, frozenset({"inference_geo"}))
    told = spending_for(capped_study(Caps(trial_microusd=10**6, output_tokens=10)), table, 10**6, "trial")
    spending = read_spending(json.loads(told.model_dump_json()))
    gateway_usage = Usage(10_000, 0, 0, 0, 0)
    for model, microusd, at_a_region in (
        ("ours", 11_000, Measured(11_000)),
        ("ours-20260101", 11_000, Measured(11_000)),
        ("ours-mini", 10_000, Unavailable("no price for inference_geo=eu of ours-mini in the table of 2026-11-29")),
    ):
        assert worst_microusd(table, model, size) == Measured(microusd)
        assert spending.worst_microusd(model, asked) == microusd
        region = usage(model, 10_000, 0, 0, 0, 0).model_copy(update={"rate": ("inference_geo=eu",)})
        assert list_cost_microusd([region], table, "") == at_a_region
        charged = spending.cost_microusd(model, gateway_usage, {"inference_geo": "eu"})
        assert charged == (at_a_region.value if isinstance(at_a_region, Measured) else None)
