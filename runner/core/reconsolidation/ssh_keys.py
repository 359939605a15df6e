"""Is a line a public SSH key? Told by its bytes, so that a key that can't be one is refused before anybody needs it."""

from __future__ import annotations

import base64
import binascii
from typing import Final

_PARTS: Final = {
    "ssh-ed25519": 2,
    "ssh-rsa": 3,
    "ecdsa-sha2-nistp256": 3,
    "ecdsa-sha2-nistp384": 3,
    "ecdsa-sha2-nistp521": 3,
    "sk-ssh-ed25519@openssh.com": 3,
    "sk-ecdsa-sha2-nistp256@openssh.com": 4,
}
"""Kind of key -> strings of its blob: RFC 4253 section 6.6, RFC 5656 section 3.1, RFC 8709 section 4, and OpenSSH's
PROTOCOL.u2f. Those that `ssh-keygen -Y` signs with."""
_ED25519_BYTES: Final = 32
_LEAST_BYTES: Final = 32
"""Of the longest string of a key of any other kind: what is shorter is no key that anybody may rely on."""
_LENGTH_BYTES: Final = 4


def key_fault(line: str) -> str:
    """Why `line` isn't a public key, as a file `*.pub` holds one; "" when it is."""
    kind, _, rest = line.partition(" ")
    if kind not in _PARTS:
        return f"{kind!r} is no kind of key that signs: {', '.join(_PARTS)}"
    parts = _strings(_blob(rest))
    if len(parts) != _PARTS[kind] or parts[0] != kind.encode("ascii"):
        return f"what follows {kind} is no key of that kind: it was cut, or mistyped"
    longest = max(len(part) for part in parts[1:])
    if ("ed25519" in kind and len(parts[1]) != _ED25519_BYTES) or longest < _LEAST_BYTES:
        return f"what follows {kind} is no key of that kind: it has another length"
    return ""


def key_identity(line: str) -> bytes:
    """What tells one key from another: its blob, whatever comment follows it."""
    return _blob(line.partition(" ")[2])


def _blob(text: str) -> bytes:
    try:
        return base64.b64decode(text.split(" ", maxsplit=1)[0], validate=True)
    except (binascii.Error, ValueError):
        return b""


def _strings(blob: bytes) -> list[bytes]:
    """The strings of RFC 4251 section 5 that `blob` consists of; none of one that doesn't consist of strings."""
    found = []
    while blob:
        length = int.from_bytes(blob[:_LENGTH_BYTES], "big")
        part = blob[_LENGTH_BYTES : _LENGTH_BYTES + length]
        if len(blob) < _LENGTH_BYTES or len(part) != length:
            return []
        found.append(part)
        blob = blob[_LENGTH_BYTES + length :]
    return found
