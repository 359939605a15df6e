"""Does an answer hold the provider's key? Looks through it before it passes; changes nothing of it.

A provider that quotes a request's headers in an error would tell the key to the client, and to the evidence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.decoding import DecodingError, Identity, decoder_of

if TYPE_CHECKING:
    from gateway.decoding import Decoder
    from gateway.exchange import Burst
    from gateway.origin import Headers


class Search:
    """One text that comes in pieces."""

    def __init__(self, key: bytes) -> None:
        """Nothing came."""
        self._key = key
        self._tail = b""

    def finds(self, data: bytes) -> bool:
        """Whether the key ends within `data`, wherever it begins."""
        beside = len(self._key) - 1
        if data.find(self._key) >= 0 or (self._tail + data[:beside]).find(self._key) >= 0:
            return True
        if beside:
            self._tail = data[-beside:] if len(data) >= beside else (self._tail + data)[-beside:]
        return False


class KeyWatch:
    """One answer: its head, its bytes as they pass, and what they unpack to as far as that can be read."""

    def __init__(self, key: bytes, coding: str) -> None:
        """Nothing of the body came; `coding` is its `content-encoding`."""
        self._body, self._framed, self._text = Search(key), Search(key), Search(key)
        decoder = decoder_of(coding)
        self._decoder: Decoder | None = None if isinstance(decoder, Identity) else decoder

    def finds(self, burst: Burst) -> bool:
        """Whether the key is complete with this burst: in the body, in what frames it, or in what it unpacks to."""
        if self._body.finds(burst.body) or (burst.framed and self._framed.finds(burst.framed)):
            return True
        if self._decoder is None:
            return False
        try:
            return any(self._text.finds(text) for text in self._decoder.decode(burst.body))
        except DecodingError:
            self._decoder = None
            return False


def is_in_head(key: bytes, headers: Headers) -> bool:
    """Whether a header holds the key."""
    return any(key in name or key in value for name, value in headers)
