"""Can the certificates of a study be trusted with? Reads PEM; trusts nobody."""

from __future__ import annotations

import re
import ssl
from typing import Final

_CERTIFICATE: Final = re.compile(
    r"-----BEGIN (?P<kind>(?:X509 |TRUSTED )?CERTIFICATE)-----.*?-----END (?P=kind)-----", re.DOTALL
)


def certificates_fault(text: str) -> str:
    """Why the gateway couldn't take its authorities from `text`; "" where it can."""
    # What stands between certificates is for people, in any alphabet.
    found = [match.group() for match in _CERTIFICATE.finditer(text)]
    if not found:
        return "it holds no certificate in PEM (-----BEGIN CERTIFICATE-----)"
    for number, certificate in enumerate(found, 1):
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=certificate)
        except (ssl.SSLError, ValueError, TypeError):
            return f"certificate {number} of {len(found)} is damaged"
    return ""
