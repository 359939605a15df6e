"""Tokens by class and model, as one side observed them."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from runner.core.documents import Part, QuantityField
from runner.core.quantities import Quantity, Unavailable, total

TOKEN_CLASSES: Final = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_write_5m_input_tokens",
    "cache_write_1h_input_tokens",
)
"""Every class that is billed by the token; none is contained in another."""

INPUT_CLASSES: Final = tuple(name for name in TOKEN_CLASSES if name != "output_tokens")
"""What a request's prompt is made of, read from a cache, written to one or neither."""

PROMPT_BANDS: Final = (100_000, 200_000, 272_000)
"""Providers charge prompts of more tokens than one of these at another rate: requests are summed up band by band."""


class ModelUsage(Part):
    """What one model used in one trial; a class that wasn't reported is unavailable, never zero."""

    model: str
    requests: int
    input_tokens: QuantityField
    output_tokens: QuantityField
    cache_read_input_tokens: QuantityField
    cache_write_5m_input_tokens: QuantityField
    cache_write_1h_input_tokens: QuantityField
    rate: tuple[str, ...] = ()
    """What else bears on the price, as `detail=value`; empty for the standard rate."""
    server_tools: dict[str, int] = Field(default_factory=dict)
    """Requests of tools that the provider ran, by its name for them."""
    thinking_tokens: QuantityField = Unavailable("not reported")
    """Part of the output."""
    shortest_prompt_tokens: QuantityField = Unavailable("not reported")
    longest_prompt_tokens: QuantityField = Unavailable("not reported")
    """Of one request, all input classes together: some rates depend on it."""

    def tokens(self, token_class: str) -> Quantity:
        """The tokens of `token_class`, one of `TOKEN_CLASSES`."""
        quantity: Quantity = getattr(self, token_class)
        return quantity


def class_total(usages: tuple[ModelUsage, ...], token_class: str) -> Quantity:
    """The tokens of one class over all models."""
    return total([usage.tokens(token_class) for usage in usages])


def all_tokens(usages: tuple[ModelUsage, ...]) -> Quantity:
    """The tokens of all classes over all models."""
    return total([usage.tokens(name) for usage in usages for name in TOKEN_CLASSES])
