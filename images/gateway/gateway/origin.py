"""Where is the provider, and which headers may pass? URLs and header lists only: no sockets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable

Auth = Literal["api-key", "bearer"]
Headers = tuple[tuple[bytes, bytes], ...]
AUTHS = ("api-key", "bearer")
# RFC 9110 section 7.6.1, and what its predecessors listed: they describe one connection, not the request.
HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
# The secret is the gateway's; the address and the framing are those of the connection to the provider.
REPLACED = frozenset({b"authorization", b"x-api-key", b"host", b"content-length", b"expect"})


@dataclass(frozen=True)
class Origin:
    """A provider's address; `prefix` stands before every path."""

    scheme: str
    host: str
    port: int
    prefix: str

    @property
    def authority(self) -> str:
        """As a `host` header says it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == {"http": 80, "https": 443}[self.scheme] else f"{host}:{self.port}"


def parse_origin(url: str) -> Origin:
    """The origin that `url` names.

    Raises:
        ValueError: when it names none, or holds more than an address and a path.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("must be an http or https URL with a host")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("must hold no user, query or fragment")
    port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    return Origin(parts.scheme, parts.hostname, port, parts.path.rstrip("/"))


def forwarded_headers(headers: Headers, origin: Origin, auth: Auth, key: bytes, body_bytes: int | None) -> Headers:
    """The client's headers as the provider gets them: in their order and spelling, with the gateway's secret."""
    dropped = _dropped(headers) | REPLACED
    kept = [(name, value) for name, value in headers if name.lower() not in dropped]
    secret = (b"x-api-key", key) if auth == "api-key" else (b"authorization", b"Bearer " + key)
    length = [] if body_bytes is None else [(b"content-length", str(body_bytes).encode())]
    return ((b"host", origin.authority.encode()), *kept, secret, *length)


def returned_headers(headers: Iterable[tuple[bytes, bytes]]) -> tuple[tuple[str, str], ...]:
    """The provider's headers as the client gets them; the framing is the gateway's own."""
    held = tuple(headers)
    dropped = _dropped(held) | {b"content-length"}
    return tuple(
        (name.decode("latin-1"), value.decode("latin-1")) for name, value in held if name.lower() not in dropped
    )


def _dropped(headers: Headers) -> frozenset[bytes]:
    named = (
        part.strip().lower() for name, value in headers if name.lower() == b"connection" for part in value.split(b",")
    )
    return HOP_BY_HOP | frozenset(named)
