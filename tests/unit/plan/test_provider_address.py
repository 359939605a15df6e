"""A provider's address is held against what its gateway, and the key, could come to harm by."""

from __future__ import annotations

import pytest
from gateway.origin import parse_origin

from runner.plan.provider_address import address_fault

CLEAR = "must be https: over http the key would pass a public network in the clear"


@pytest.mark.parametrize(
    "url",
    [
        "https://api.anthropic.com",
        "https://api.openai.com/",
        "https://api.example.com:8443/proxy/path",
        "https://8.8.8.8",
        "http://127.0.0.1:8080",
        "http://10.1.2.3",
        "http://192.168.0.7:65535/a",
        "http://100.64.0.1",
        "http://[::1]:80",
        "http://[fd00::1]",
        "http://[::ffff:10.0.0.1]",
        "http://localhost:4000",
        "http://models:4000",
        "http://models.internal",
        "http://models.lan.",
        "http://box.home.arpa",
        "https://h.example/v1beta",
    ],
)
def test_these_may_get_a_key(url: str) -> None:
    """And the gateway takes each of them."""
    assert address_fault(url) == ""
    assert parse_origin(url).host


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("https://api.anthropic.com/v1", "must stand without /v1, with which every request's path begins"),
        ("https://api.anthropic.com/v1/", "must stand without /v1, with which every request's path begins"),
        ("https://proxy.example/anthropic/v1", "must stand without /v1, with which every request's path begins"),
        ("http://8.8.8.8/", CLEAR),
        ("http://api.anthropic.com", CLEAR),
        ("http://[2001:4860:4860::8888]", CLEAR),
        ("http://[::ffff:8.8.8.8]", CLEAR),
        ("http://evil-local.com", CLEAR),
        ("http://134744072", "is no address: 134744072"),
        ("http://0x08080808", "is no address: 0x08080808"),
        ("http://8.8.2056", "is no address: 8.8.2056"),
        ("https://h.example:65536", "is no address: Port out of range 0-65535"),
        ("https://h.example:0", "is no address: port 0"),
        ("https://h.example:x", "is no address: Port could not be cast to integer value as 'x'"),
        ("https://:443", "is no address: it has no host"),
        ("https://[nonsense]", "is no address: 'nonsense' does not appear to be an IPv4 or IPv6 address"),
        ("https://bücher.example", "must be ASCII; a name of other letters has a spelling that begins with xn--"),
    ],
)
def test_these_may_not(url: str, fault: str) -> None:
    """It is said why."""
    assert address_fault(url) == fault
