"""Who answers? The provider, asked by the `anthropic` SDK, whose types stay in here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anthropic
import httpx2
from messages.assembly import Assembly
from messages.events import say
from messages.replies import ProviderError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from messages.replies import Reply

HTTP_ERROR = 400
SDK_VERSION: str = anthropic.__version__


class Provider:
    """The Messages API at the address that the environment names."""

    def __init__(self, max_retries: int) -> None:
        hooks = {"request": [_notice_retry]}
        self._client = anthropic.AsyncAnthropic(
            max_retries=max_retries, http_client=anthropic.DefaultAsyncHttpxClient(event_hooks=hooks)
        )

    async def ask(self, request: Mapping[str, Any]) -> Reply:
        """The whole answer, which is streamed: the SDK refuses to wait for long ones otherwise.

        Raises:
            ProviderError: there is none, or it broke off.
        """
        answer = Assembly()
        try:
            async with await self._client.messages.create(**request, stream=True) as stream:
                async for event in stream:
                    answer.take(event.to_dict())
        except anthropic.APIStatusError as error:
            body = error.body if isinstance(error.body, dict) else {}
            inner = body.get("error") if isinstance(body.get("error"), dict) else {}
            # An error within a stream comes after a status of success.
            status = error.status_code if error.status_code >= HTTP_ERROR else None
            raise ProviderError(status, _text(inner.get("type")), str(inner.get("message") or error)) from error
        except anthropic.APIConnectionError as error:
            raise ProviderError(None, "connection", f"{error}: {error.__cause__}") from error
        except anthropic.AnthropicError as error:
            raise ProviderError(None, None, f"{type(error).__name__}: {error}") from error
        except (httpx2.HTTPError, ValueError) as error:
            raise ProviderError(None, "connection", f"the answer broke off: {type(error).__name__}: {error}") from error
        return answer.reply()


async def _notice_retry(request: httpx2.Request) -> None:
    attempt = request.headers.get("x-stainless-retry-count", "0")
    if attempt != "0":
        say("retry", attempt=int(attempt))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
