"""What requests may cost and what answers did: every rate that an answer may bring is reserved, and none is guessed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from gateway.asked import asked_of
from gateway.exchange import Request, Usage
from gateway.spending import Spending, read_spending

CLASSES = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_write_5m_input_tokens",
    "cache_write_1h_input_tokens",
)
BOUNDS = {
    "input_tokens_per_1000_bytes": 0,
    "hidden_input_tokens": 999,
    "image_tokens": 0,
    "document_tokens": 0,
    "server_tool_input_tokens": 0,
    "output_tokens": 500,
}
# Two dollars per million tokens of whatever class.
USAGE = Usage(1000, 500, 0, 0, 0)


def price(model: str) -> dict[str, Any]:
    return {"model": model, **dict.fromkeys(CLASSES, 2_000_000), "long_context": None}


def surcharge(detail: str, value: str, permille: int, *models: str) -> dict[str, Any]:
    return {"detail": detail, "value": value, "permille": permille, "models": models}


SPENDING: Spending = read_spending(
    {
        "grant_microusd": 10**9,
        "grant_of": "trial",
        "request_microusd": None,
        "bounds": BOUNDS,
        "prices": [price("tiered"), price("tiered-mini"), price("plain")],
        "surcharges": [
            surcharge("inference_geo", "us", 1100),
            surcharge("inference_geo", "eu", 1200),
            surcharge("service_tier", "priority", 2000, "tiered"),
            surcharge("service_tier", "flex", 500, "tiered"),
            surcharge("speed", "fast", 3000, "tiered"),
            surcharge("speed", "fast", 7000, "tiered"),
        ],
        "server_tools": {"web_search_requests": 10_000},
    }
)


@pytest.mark.parametrize(
    ("model", "details", "microusd"),
    [
        ("plain", None, 3_000),
        ("plain", {"service_tier": "standard", "inference_geo": "not_available", "speed": "standard"}, 3_000),
        ("plain", {"thinking_tokens": 7}, 3_000),
        ("plain", {"inference_geo": "us"}, 3_300),
        ("tiered", {"service_tier": "priority", "inference_geo": "eu"}, 7_200),
        ("tiered-20260101", {"service_tier": "flex"}, 1_500),
        ("tiered", {"speed": "fast"}, 9_000),
        ("plain", {"server_tools": {"web_search_requests": 2}}, 23_000),
    ],
)
def test_an_answer_costs_what_its_details_say(model: str, details: dict[str, Any] | None, microusd: int) -> None:
    """Factors multiply each other; of two declarations of one the first counts."""
    assert SPENDING.cost_microusd(model, USAGE, details) == microusd


@pytest.mark.parametrize(
    ("model", "details"),
    [
        ("plain", {"service_tier": "priority"}),
        ("tiered-mini", {"service_tier": "flex"}),
        ("tiered", {"service_tier": "ultrafast"}),
        ("plain", {"speed": "fast"}),
        ("plain", {"inference_geo": "moon"}),
        ("plain", {"server_tools": {"web_search_requests": 1, "code_execution_requests": 1}}),
        ("nobody-knows-it", None),
    ],
)
def test_what_has_no_price_is_no_cost(model: str, details: dict[str, Any] | None) -> None:
    """So that its worst case is charged: never the standard rate, never that of a model that is called alike."""
    assert SPENDING.cost_microusd(model, USAGE, details) is None


def worst(model: str, **parts: Any) -> int | None:
    request = Request("POST", "/v1/responses", (), json.dumps({"model": model, **parts}).encode())
    return SPENDING.worst_microusd(model, asked_of(request, BOUNDS))


@pytest.mark.parametrize(
    ("model", "parts", "microusd"),
    [
        ("plain", {}, 3_600),
        ("tiered-mini", {}, 3_600),
        ("tiered", {}, 7_200),
        ("tiered", {"service_tier": None}, 7_200),
        ("tiered", {"service_tier": "auto"}, 7_200),
        ("tiered", {"service_tier": "priority"}, 7_200),
        ("tiered", {"service_tier": "default"}, 3_600),
        ("tiered", {"service_tier": "flex"}, 3_600),
        ("plain", {"service_tier": "standard_only", "inference_geo": "us", "speed": "standard"}, 3_600),
        ("tiered", {"service_tier": "default", "speed": "fast"}, 25_200),
    ],
)
def test_the_dearest_rate_that_an_answer_may_bring_is_reserved(
    model: str, parts: dict[str, Any], microusd: int
) -> None:
    """Of a region, and of a tier that the request leaves open, an account may have any value: the dearest counts once."""
    assert worst(model, **parts) == microusd


@pytest.mark.parametrize(
    "parts",
    [{"service_tier": "priority"}, {"service_tier": {}}, {"speed": "fast"}, {"inference_geo": "moon"}, {"speed": 1}],
)
def test_what_is_asked_for_without_a_price_has_no_bound(parts: dict[str, Any]) -> None:
    """Whatever a client puts there."""
    assert worst("plain", **parts) is None
