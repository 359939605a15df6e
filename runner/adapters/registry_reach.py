"""Where a registry may lead: not further into a network than it stands itself.

A registry is a stranger. What it redirects to, or names as its token server, is asked from here, where services answer
that no stranger could ask: those of this machine, and those of its network. What a host is called says nothing about
that; the addresses that it has do.
"""

from __future__ import annotations

import ipaddress
import socket
import urllib.parse
from enum import IntEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_PORTS: Final = {"http": 80, "https": 443}
# RFC 6052: an IPv4 address as networks without IPv4 write it.
_TRANSLATED: Final = ipaddress.IPv6Network("64:ff9b::/96")


class Reach(IntEnum):
    """How far inside a host stands; a larger one is further in."""

    PUBLIC = 0
    """The whole internet reaches it, or nobody here knows where it is."""
    NETWORK = 1
    """This network reaches it."""
    MACHINE = 2
    """This machine, or its own link, reaches it: loopback, and where clouds tell a machine about itself."""


def addresses_of(host: str) -> tuple[str, ...]:
    """The addresses that this machine knows for `host`; none where it knows none, as behind a proxy."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ()
    return tuple(str(address[0]) for *_, address in found)


def reach_of(addresses: Iterable[str]) -> tuple[Reach, Reach]:
    """The outermost and the innermost of the `addresses`; PUBLIC for none."""
    found = [_reach(address) for address in addresses] or [Reach.PUBLIC]
    return min(found), max(found)


def leads_no_further_in(start: str, target: str, resolve: Callable[[str], tuple[str, ...]]) -> bool:
    """Whether the host of the address `target` stands no further in than that of `start`."""
    hosts = [urllib.parse.urlsplit(url).hostname or "" for url in (start, target)]
    if hosts[0] == hosts[1]:
        return True
    outermost, _ = reach_of(resolve(hosts[0]))
    _, innermost = reach_of(resolve(hosts[1]))
    return innermost <= outermost


def joined(base: str, reference: str) -> str:
    """Where `reference` leads from `base`; "" when that is no address."""
    try:
        url = urllib.parse.urljoin(base, reference)
        port = urllib.parse.urlsplit(url).port
    except ValueError:
        return ""
    return "" if port == 0 else url


def origin(url: str) -> tuple[str, str | None, int | None]:
    """Who serves `url`: scheme, host and port."""
    parts = urllib.parse.urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)


def bare(url: str) -> str:
    """An address without what may be secret in it: the user, and the query by which storage is signed."""
    parts = urllib.parse.urlsplit(joined(url, ""))
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _reach(text: str) -> Reach:
    try:
        # An address of the link names its interface.
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return Reach.PUBLIC
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in _TRANSLATED:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
        address = inner or address
    if address.is_loopback or address.is_link_local or address.is_unspecified:
        return Reach.MACHINE
    return Reach.PUBLIC if address.is_global else Reach.NETWORK
