"""Names that say nothing: made with a secret, so that nobody without it can link or guess them."""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from runner.core.canonical import canonical_bytes

_DIGITS: Final = 20
"""80 bits: among a million names two are alike with a probability below 1e-12."""


def keyed(secret: str, prefix: str, *parts: str) -> str:
    """`prefix`, a dash and 20 hexadecimal digits of HMAC-SHA-256 (RFC 2104) over `prefix` and `parts`."""
    message = canonical_bytes([prefix, *parts])
    return f"{prefix}-{hmac.new(secret.encode('utf-8'), message, hashlib.sha256).hexdigest()[:_DIGITS]}"
