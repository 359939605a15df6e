"""Who answers where a study has no model? Nobody: a request is evidence that something asked, and is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.provider_errors import LIMIT_STATUS, RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.exchange import Answer, Exchange


class NoUpstream:
    """Refuses whatever it is asked."""

    async def answer(self, exchange: Exchange, take_model_request: Callable[[], None]) -> Answer:
        """Nothing.

        Raises:
            RefusedError: always.
        """
        del exchange, take_model_request
        raise RefusedError(LIMIT_STATUS, "not_served", "Pairbench refused this request: this study has no model.")
