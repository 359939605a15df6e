"""Who answers? The provider, asked by the `anthropic` SDK, whose types stay in here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anthropic
import httpx2
from messages.events import say
from messages.replies import ProviderError, Reply

if TYPE_CHECKING:
    from collections.abc import Mapping

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
        try:
            async with self._client.messages.stream(**request) as stream:
                async for event in stream:
                    ended = event.type == "message_stop"
                message = await stream.get_final_message()
        except anthropic.APIStatusError as error:
            body = error.body if isinstance(error.body, dict) else {}
            inner = body.get("error") if isinstance(body.get("error"), dict) else {}
            raise ProviderError(
                error.status_code, _text(inner.get("type")), str(inner.get("message") or error)
            ) from error
        except anthropic.APIConnectionError as error:
            raise ProviderError(None, "connection", f"{error}: {error.__cause__}") from error
        except anthropic.AnthropicError as error:
            raise ProviderError(None, None, f"{type(error).__name__}: {error}") from error
        except (httpx2.HTTPError, ValueError) as error:
            raise ProviderError(None, "connection", f"the answer broke off: {type(error).__name__}: {error}") from error
        if not ended:
            raise ProviderError(None, "connection", "the answer broke off")
        return Reply(
            model=message.model,
            stop_reason=message.stop_reason,
            content=[_block(block) for block in message.content],
            usage=message.usage.to_dict() if message.usage is not None else None,
        )


async def _notice_retry(request: httpx2.Request) -> None:
    attempt = request.headers.get("x-stainless-retry-count", "0")
    if attempt != "0":
        say("retry", attempt=int(attempt))


def _block(block: Any) -> dict[str, Any]:
    """A block as it is sent back: only what the provider takes."""
    if block.type == "text":
        return {"type": "text", "text": block.text}
    if block.type == "tool_use":
        return {"type": "tool_use", "id": block.id, "name": block.name, "input": block.input}
    plain: dict[str, Any] = block.to_dict()
    return plain


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
