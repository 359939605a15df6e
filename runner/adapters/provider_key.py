"""The provider's key, from a file or a descriptor that the environment names: never from an argument or a variable.

A variable with the key itself would stand in `docker inspect`, in `/proc/<pid>/environ` of every child and in shells'
histories; a file's name or a descriptor's number may stand anywhere.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from runner.core.errors import EnvironmentNotReady
from runner.core.secret import Secret

if TYPE_CHECKING:
    from collections.abc import Mapping

KEY_FILE: Final = "PAIRBENCH_PROVIDER_KEY_FILE"
KEY_DESCRIPTOR: Final = "PAIRBENCH_PROVIDER_KEY_FD"
_LIMIT_BYTES: Final = 16384
_DESCRIPTOR_DIGITS: Final = 9


def provider_key(environment: Mapping[str, str]) -> Secret:
    """The key that `environment` leads to; a descriptor is read once and closed.

    Raises:
        EnvironmentNotReady: it leads to none, or to what can't be a key. No error tells what a variable holds: it may
            be the key, in the wrong place.
    """
    descriptor, path = environment.get(KEY_DESCRIPTOR), environment.get(KEY_FILE)
    if descriptor is not None:
        return _key(KEY_DESCRIPTOR, _from_descriptor(descriptor))
    if path:
        return _key(KEY_FILE, _from_file(path))
    raise EnvironmentNotReady(
        "a live model needs the provider's key",
        document="environment",
        key=KEY_FILE,
        hint=f"name a file that holds it in {KEY_FILE}, or an open file descriptor in {KEY_DESCRIPTOR}",
    )


def _from_descriptor(number: str) -> bytes:
    is_one = number.isascii() and number.isdigit() and len(number) <= _DESCRIPTOR_DIGITS
    try:
        # A negative one is no descriptor.
        return _read(int(number) if is_one else -1)
    except (OSError, ValueError) as error:
        hint = "open the file in the shell: 3< KEYFILE, and the number is 3"
        # From None: what Python says of a value quotes it.
        raise _refusal(KEY_DESCRIPTOR, "must hold the number of an open file descriptor", _why(error), hint) from None


def _from_file(path: str) -> bytes:
    try:
        return _read(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
    except (OSError, ValueError) as error:
        hint = "write the key into a file that only you can read, and give that file's path"
        raise _refusal(KEY_FILE, "must hold the path of a file that can be read", _why(error), hint) from None


def _key(variable: str, data: bytes) -> Secret:
    text = data.decode("ascii", "replace").strip()
    if not text or not text.isprintable() or not text.isascii() or len(data) > _LIMIT_BYTES:
        hint = "the key alone, without a name before it or quotes around it"
        raise _refusal(variable, "must lead to one line of printable ASCII, the key", "what it leads to is none", hint)
    return Secret(text)


def _why(error: Exception) -> str:
    """What the system says of it, or that the value can't be one at all."""
    return os.strerror(error.errno) if isinstance(error, OSError) and error.errno else "what it holds is none"


def _refusal(variable: str, must: str, why: str, hint: str) -> EnvironmentNotReady:
    return EnvironmentNotReady(f"{must}: {why}", document="environment", key=variable, hint=hint)


def _read(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb") as file:
        return file.read(_LIMIT_BYTES + 1)
