"""A gateway with caps: what goes out was reserved before, what isn't used comes back, and a refusal is final."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from runner.core.prices import LIST_PRICES
from runner.core.spending import spending_for
from runner.core.study import Caps
from tests.contract.gateway.conftest import RunningGateway, start
from tests.fakes.orders import capped_study

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["start"]

HEADERS = {"x-api-key": "client-token"}
BODY: dict[str, Any] = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 1000,
    "messages": [{"role": "user", "content": "What does `x` do?"}],
}
# 106 bytes and one token for rounding, at 3 dollars per million; 1000 tokens at 15. Then a tenth more for a region.
WORST = 16_854


def spending(grant: int, **caps: Any) -> dict[str, Any]:
    study = capped_study(Caps(**{"hidden_input_tokens": 0, "output_tokens": 1000} | caps))
    return dict(json.loads(spending_for(study, LIST_PRICES, grant, "trial").model_dump_json()))


def ask(gateway: RunningGateway, path: str = "/v1/messages", **changes: Any) -> httpx.Response:
    return httpx.post(f"{gateway.url}{path}", json=BODY | changes, headers=HEADERS)


def test_what_is_not_used_comes_back(start: Callable[..., RunningGateway]) -> None:
    """One worst case at a time is enough for many requests that use little."""
    gateway = start(spending=spending(WORST + 5000))
    assert [ask(gateway).status_code for _ in range(3)] == [200, 200, 200]
    lines = gateway.exchanges()
    assert {line["reserved_microusd"] for line in lines} == {WORST}
    assert all(0 < line["charged_microusd"] < 2000 for line in lines)


def test_a_request_that_may_cost_too_much_is_refused_for_good(start: Callable[..., RunningGateway]) -> None:
    """One micro-dollar less than the worst case: the client is told so in the provider's shape, and doesn't try again."""
    gateway = start(spending=spending(WORST - 1))
    answer = ask(gateway)
    assert (answer.status_code, answer.json()["error"]["type"]) == (402, "billing_error")
    assert answer.headers["x-should-retry"] == "false"
    assert "the cap of the trial leaves 16853" in answer.json()["error"]["message"]
    (line,) = gateway.exchanges()
    assert line["refused"] == "cap_exceeded"
    assert line["difference"] == ["it may cost up to 16854 micro-dollars", "the cap of the trial leaves 16853"]


def test_a_cap_of_the_request_stands_beside_the_grant(start: Callable[..., RunningGateway]) -> None:
    """There may be money for the trial and none for so large a request."""
    gateway = start(spending=spending(10**9, request_microusd=WORST - 1))
    assert ask(gateway).status_code == 402
    assert ask(gateway, max_tokens=900).status_code == 200


@pytest.mark.parametrize(
    "changes",
    [
        {"model": "nobody-knows-this-model"},
        {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
        {"container": "c"},
        {"mcp_servers": [{"type": "url", "url": "https://x", "name": "n"}]},
        {"service_tier": "priority"},
        {"service_tier": ["priority"]},
        {"speed": "fast"},
        {"inference_geo": "moon"},
        {"messages": [{"role": "user", "content": [{"type": "document", "source": {"type": "base64", "data": "x"}}]}]},
    ],
    ids=[
        "unknown price",
        "server tool",
        "kept context",
        "remote servers",
        "dearer tier",
        "no tier",
        "speed",
        "region",
        "document",
    ],
)
def test_what_cannot_be_bounded_does_not_go_out(start: Callable[..., RunningGateway], changes: dict[str, Any]) -> None:
    """Where there is a cap, a request whose cost nobody knows is refused, however much is left."""
    gateway = start(spending=spending(10**12))
    answer = ask(gateway, **changes)
    assert answer.status_code == 402
    assert "can't be bounded" in answer.json()["error"]["message"]


@pytest.mark.parametrize("path", ["/v1/messages/batches", "/v1/files", "/v1/complete"])
def test_other_ways_to_spend_are_closed(start: Callable[..., RunningGateway], path: str) -> None:
    """A batch is a model request by another name."""
    gateway = start(spending=spending(10**12))
    assert ask(gateway, path).status_code == 402


def test_counting_tokens_is_free(start: Callable[..., RunningGateway]) -> None:
    """It needs nothing of the grant."""
    assert ask(start(spending=spending(0)), "/v1/messages/count_tokens").status_code == 200
