"""Is a URL the address of a provider that a key may be sent to? By its text alone; nobody is asked."""

from __future__ import annotations

import ipaddress
import re
from typing import Final
from urllib.parse import urlsplit

# Names that no public server has (RFC 6761, 6762, 8375, and what is reserved for private use).
_PRIVATE_NAMES: Final = ("localhost", "local", "internal", "lan", "test", "home.arpa")
# Resolvers take a name whose last label is a number for an address (inet_aton), whatever it looks like.
_NUMBER: Final = re.compile(r"(0x[0-9a-f]*|[0-9]+)", re.IGNORECASE)


def address_fault(url: str) -> str:
    """Why nothing can, or may, be sent to `url`; "" where it may."""
    if not url.isascii():
        return "must be ASCII; a name of other letters has a spelling that begins with xn--"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        return f"is no address: {error}"
    if not host or port == 0:
        return "is no address: it has no host" if not host else "is no address: port 0"
    if parts.path.rstrip("/").endswith("/v1"):
        return "must stand without /v1, with which every request's path begins"
    if _looks_like_a_number(host):
        return f"is no address: {host}"
    if parts.scheme == "http" and not _is_private(host):
        return "must be https: over http the key would pass a public network in the clear"
    return ""


def _address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return None
    return found.ipv4_mapped or found if isinstance(found, ipaddress.IPv6Address) else found


def _looks_like_a_number(host: str) -> bool:
    return _address_of(host) is None and _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]) is not None


def _is_private(host: str) -> bool:
    address = _address_of(host)
    if address is not None:
        return not address.is_global
    name = host.rstrip(".")
    return "." not in name or any(name.endswith(f".{private}") for private in _PRIVATE_NAMES)
