import pytest

from runner.core.quantities import Measured, Unavailable
from runner.core.summary import Estimate, MeasureIdentity
from runner.publish import formatting

COST = MeasureIdentity(name="cost", label="Cost", unit="microusd", kind="amount", group="cost", scale=1_000)
SHARE = MeasureIdentity(name="found", label="Found", unit="found", kind="share", group="references", scale=1_000_000)
MINUS = "\N{MINUS SIGN}"
THIN = "\N{NARROW NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("microusd", "text"),
    [
        (0, "$0"),
        (123, "$0.000123"),
        (6_692, "$0.0067"),
        (68_727, "$0.0687"),
        (-17_728, f"{MINUS}$0.0177"),
        (1_512_000, "$1.512"),
        (1_234_567_890, "$1,234.57"),
    ],
)
def test_dollars_have_more_decimals_the_smaller_they_are(microusd: int, text: str) -> None:
    """Four figures or so are left of any sum."""
    assert formatting.dollars(microusd) == text


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, f"0{THIN}ms"),
        (999, f"999{THIN}ms"),
        (2_455, f"2.46{THIN}s"),
        (2_445, f"2.44{THIN}s"),
        (154_110, f"154.1{THIN}s"),
        (900_000, f"15.0{THIN}min"),
    ],
)
def test_durations_take_the_unit_that_fits(ms: int, text: str) -> None:
    """Halves go to the even digit, as everywhere."""
    assert formatting.duration(ms) == text


def test_ratios_and_changes() -> None:
    """A ratio below a tenth keeps a third decimal; a change has its sign."""
    assert formatting.ratio(742_007) == "0.74"
    assert formatting.ratio(51_400) == "0.051"
    assert formatting.change(742_007) == f"{MINUS}25.8{THIN}%"
    assert formatting.change(1_170_732) == f"+17.1{THIN}%"
    assert formatting.change(1_000_000) == f"0.0{THIN}%"


def test_scaled_figures_follow_the_measures_unit() -> None:
    """Thousandths of micro-dollars are dollars again; shares are percentages, their differences percentage points."""
    assert formatting.scaled_figure(68_727_273, COST) == "$0.0687"
    assert formatting.scaled_figure(621_212, SHARE) == f"62.1{THIN}%"
    assert formatting.scaled_difference(-17_728_636, COST) == f"{MINUS}$0.0177"
    assert formatting.scaled_difference(106_061, SHARE) == f"+10.6{THIN}pp"


def test_what_is_missing_is_a_dash_and_its_reason() -> None:
    """Never a zero."""
    reason = Unavailable("the total of off is 0")
    assert formatting.ratio_quantity(reason) == "\N{EM DASH}"
    assert formatting.ratio_interval(Estimate(value=reason, low=reason, high=reason)) == "none: the total of off is 0"
    few = Unavailable("3 tasks")
    assert formatting.difference_with_interval(Estimate(value=Measured(0), low=few, high=few), SHARE) == (
        f"0.0{THIN}pp (no interval)"
    )


def test_nothing_that_is_something_looks_like_nothing() -> None:
    """And no ratio that isn't 1 looks like 1, no share that isn't all like all: they get more decimals."""
    assert [formatting.ratio(ppm) for ppm in (0, 4, 996_000, 999_960, 1_000_000, 1_004_900)] == [
        "0",
        "0.000004",
        "0.996",
        "0.99996",
        "1.00",
        "1.005",
    ]
    assert [formatting.percent(ppm) for ppm in (0, 400, 999_900, 1_000_000)] == [
        f"0.0{THIN}%",
        f"0.04{THIN}%",
        f"99.99{THIN}%",
        f"100.0{THIN}%",
    ]
    assert formatting.duration(-400, 1_000) == f"{MINUS}0.4{THIN}ms"
    assert formatting.amount(4, "calls", 1_000) == "0.004"


def test_thresholds_are_shown_with_every_digit() -> None:
    """So is what is held against them: rounded, 0.9004 would seem to keep 0.90."""
    milliseconds = COST.model_copy(update={"unit": "ms"})
    tokens = COST.model_copy(update={"unit": "tokens"})
    assert [formatting.exact(ppm, 1_000_000, 2) for ppm in (900_000, 900_400, 1_234_567_000_000)] == [
        "0.90",
        "0.9004",
        "1,234,567.00",
    ]
    assert formatting.exact_difference(-500_000, COST) == f"{MINUS}$0.0005"
    assert formatting.exact_difference(19_702_636, COST) == "+$0.019702636"
    assert formatting.exact_difference(-10_500, milliseconds) == f"{MINUS}10.5{THIN}ms"
    assert formatting.exact_difference(-1_000_000, tokens) == f"{MINUS}1,000"
    assert formatting.exact_difference(-50_000, SHARE) == f"{MINUS}5.0{THIN}pp"
    assert formatting.exact_difference(333_333, SHARE) == f"+33.3333{THIN}pp"


def test_numbers_agree_with_their_nouns() -> None:
    """One block, two blocks, one repetition."""
    assert formatting.counted(1, "block") == "1 block"
    assert formatting.counted(1_200, "block") == "1,200 blocks"
    assert formatting.counted(2, "repetition") == "2 repetitions"
