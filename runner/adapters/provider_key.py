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


def provider_key(environment: Mapping[str, str]) -> Secret:
    """The key that `environment` leads to; a descriptor is read once and closed.

    Raises:
        EnvironmentNotReady: it leads to none, or to what can't be a key.
    """
    descriptor, path = environment.get(KEY_DESCRIPTOR), environment.get(KEY_FILE)
    try:
        if descriptor is not None:
            data, where = _read(int(descriptor)), f"file descriptor {int(descriptor)}"
        elif path:
            data, where = _read(os.open(path, os.O_RDONLY | os.O_CLOEXEC)), path
        else:
            raise EnvironmentNotReady(
                "a live model needs the provider's key",
                document="environment",
                key=KEY_FILE,
                hint=f"name a file that holds it in {KEY_FILE}, or an open file descriptor in {KEY_DESCRIPTOR}",
            )
    except (OSError, ValueError) as error:
        raise EnvironmentNotReady(f"the provider's key can't be read: {error}", document="environment") from error
    text = data.decode("ascii", "replace").strip()
    if not text or not text.isprintable() or not text.isascii() or len(data) > _LIMIT_BYTES:
        raise EnvironmentNotReady("it holds no key: one line of printable ASCII", document=where)
    return Secret(text)


def _read(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb") as file:
        return file.read(_LIMIT_BYTES + 1)
