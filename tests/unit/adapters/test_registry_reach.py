"""How far inside a host stands follows from its addresses, however they are written."""

from __future__ import annotations

import pytest

from runner.adapters.registry_reach import Reach, addresses_of, bare, joined, leads_no_further_in, origin, reach_of

HOSTS = {
    "registry.example": ("93.184.216.34",),
    "storage.example": ("93.184.216.35", "2606:2800:220:1::1"),
    "inside.example": ("10.0.0.7",),
    "mixed.example": ("93.184.216.34", "127.0.0.1"),
    "here.example": ("127.0.0.1",),
}


def resolve(host: str) -> tuple[str, ...]:
    return HOSTS.get(host, ())


@pytest.mark.parametrize(
    ("address", "reach"),
    [
        *(("93.184.216.34", Reach.PUBLIC), ("2606:2800:220:1::1", Reach.PUBLIC), ("no address", Reach.PUBLIC)),
        *(("10.0.0.7", Reach.NETWORK), ("192.168.1.1", Reach.NETWORK), ("172.16.0.1", Reach.NETWORK)),
        *(("fd00::1", Reach.NETWORK), ("100.100.100.200", Reach.NETWORK)),
        *(("127.0.0.1", Reach.MACHINE), ("127.9.9.9", Reach.MACHINE), ("::1", Reach.MACHINE)),
        *(("0.0.0.0", Reach.MACHINE), ("::", Reach.MACHINE), ("169.254.169.254", Reach.MACHINE)),
        *(("fe80::1%eth0", Reach.MACHINE), ("::ffff:127.0.0.1", Reach.MACHINE), ("2002:7f00:1::", Reach.MACHINE)),
        *(("64:ff9b::a9fe:a9fe", Reach.MACHINE), ("64:ff9b::5db8:d822", Reach.PUBLIC)),
    ],
)
def test_an_address_tells_who_reaches_it(address: str, reach: Reach) -> None:
    """Also one that carries another within it."""
    assert reach_of((address,)) == (reach, reach)


def test_a_host_has_its_outermost_and_its_innermost_address() -> None:
    """One that isn't known here is public: whoever reaches it does so from elsewhere."""
    assert reach_of(HOSTS["mixed.example"]) == (Reach.PUBLIC, Reach.MACHINE)
    assert reach_of(()) == (Reach.PUBLIC, Reach.PUBLIC)


@pytest.mark.parametrize(
    ("start", "target", "allowed"),
    [
        ("registry.example", "storage.example", True),
        ("registry.example", "registry.example:8443", True),
        ("registry.example", "unknown.example", True),
        ("registry.example", "inside.example", False),
        ("registry.example", "mixed.example", False),
        ("registry.example", "here.example", False),
        ("inside.example", "inside.example", True),
        ("inside.example", "storage.example", True),
        ("inside.example", "here.example", False),
        ("here.example", "inside.example", True),
        ("mixed.example", "inside.example", False),
    ],
)
def test_nobody_leads_further_in_than_they_stand(start: str, target: str, *, allowed: bool) -> None:
    """Of several addresses, the registry's outermost counts, and the innermost of where it leads to."""
    assert leads_no_further_in(f"https://{start}", f"https://{target}/x", resolve) is allowed


def test_every_spelling_of_an_address_is_known() -> None:
    """The system's own reading of it counts, as it does when a connection is made."""
    for host in ("127.1", "2130706433", "0x7f.1", "127.0.0.1", "::1"):
        assert reach_of(addresses_of(host)) == (Reach.MACHINE, Reach.MACHINE)
    assert addresses_of("x" * 64 + ".example") == ()


def test_a_port_that_is_not_written_is_the_usual_one() -> None:
    """Both spellings are one origin."""
    assert origin("https://registry.example/x") == origin("https://registry.example:443/y")
    assert origin("http://registry.example/x") != origin("https://registry.example/x")


def test_what_is_no_address_is_empty() -> None:
    """And can be told in an error all the same."""
    assert joined("http://[::1/x", "") == ""
    assert joined("http://registry.example/v2/", "../x") == "http://registry.example/x"
    assert bare("http://[::1/x") == "://"
    assert bare("https://ada:secret@storage.example/layer?signature=abc") == "https://storage.example/layer"
