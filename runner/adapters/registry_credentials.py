"""Who this user is to a registry: from Docker's own configuration, and by the token that the registry asks for.

`docker login` writes that configuration; its credential helpers are asked by the Docker SDK. Nothing that is secret is
in an error, a log or a `repr`.
"""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import docker.auth
import docker.errors

from runner.core.errors import EnvironmentNotReady
from runner.core.secret import Secret

if TYPE_CHECKING:
    from collections.abc import Iterable

_PARAMETER: Final = re.compile(r'([A-Za-z_-]+)=(?:"([^"]*)"|([^\s,"]+))')
_DOCKER_HUB: Final = "docker.io"


@dataclass(frozen=True)
class Credentials:
    """A user's name and password, or a token in their place; whichever isn't there is empty."""

    username: str
    password: Secret
    identity_token: Secret

    def basic(self) -> Secret:
        """What goes into a header for basic authentication (RFC 7617)."""
        pair = f"{self.username}:{self.password.text}".encode()
        return Secret(f"Basic {base64.b64encode(pair).decode('ascii')}")

    def secrets(self) -> tuple[str, ...]:
        """Every text of it that no error may hold."""
        texts = (self.password.text, self.identity_token.text, self.basic().text.removeprefix("Basic "))
        return tuple(text for text in texts if text)


@dataclass(frozen=True)
class Challenge:
    """How a registry wants to be asked."""

    scheme: str
    """`basic` or `bearer`."""
    realm: str
    service: str
    scopes: tuple[str, ...]


def docker_credentials(host: str) -> Credentials | None:
    """What Docker's configuration holds for the registry at `host`; None when it holds nothing.

    Raises:
        EnvironmentNotReady: the configuration can't be read, or its credential helper fails.
    """
    hint = f"try `docker login {host}`"
    try:
        found = docker.auth.load_config().resolve_authconfig(host)
    except (docker.errors.DockerException, ValueError, TypeError, AttributeError, OSError):
        # From None: a helper's own words, and what Python says of a value, may quote a secret.
        message = f"Docker's configuration, or its credential helper, gives no credentials for {host}"
        raise EnvironmentNotReady(message, document="~/.docker/config.json", hint=hint) from None
    given = {str(key).lower(): str(value) for key, value in (found or {}).items() if value}
    credentials = Credentials(
        given.get("username", ""), Secret(given.get("password", "")), Secret(given.get("identitytoken", ""))
    )
    return credentials if credentials.password.text or credentials.identity_token.text else None


def challenge_in(headers: Iterable[str]) -> Challenge | None:
    """How a registry wants to be asked, by a token where it takes one; None when it names no way that we know."""
    known = {}
    for header in headers:
        scheme, _, rest = header.strip().partition(" ")
        named = {key.lower(): quoted or plain for key, quoted, plain in _PARAMETER.findall(rest)}
        scopes = tuple(named.get("scope", "").split())
        known[scheme.lower()] = Challenge(scheme.lower(), named.get("realm", ""), named.get("service", ""), scopes)
    return known.get("bearer") or known.get("basic")


def token_in(answer: bytes) -> Secret | None:
    """The token of a token server's answer, if there is one that a header can hold."""
    value = value_in(answer)
    token = (value.get("token") or value.get("access_token")) if isinstance(value, dict) else None
    usable = isinstance(token, str) and token.isascii() and token.isprintable()
    return Secret(token) if usable and isinstance(token, str) else None


def refusal_in(answer: bytes) -> str:
    """What a registry says of its refusal, in a few words; "" where it says nothing that could be read."""
    value = value_in(answer)
    errors = value.get("errors") if isinstance(value, dict) else None
    told = (
        [item for item in errors[:3] if isinstance(item, dict) and "code" in item] if isinstance(errors, list) else []
    )
    return "; ".join(f"{item['code']} {item.get('message', '')}".strip() for item in told)[:300]


def value_in(answer: bytes) -> object:
    """The value that a server's JSON has; None where it isn't any, or where it is nested beyond reading."""
    try:
        return json.loads(answer)
    except (ValueError, RecursionError):
        return None


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """`text` without any of the `secrets` that a server may have put into it."""
    for secret in secrets:
        text = text.replace(secret, "(withheld)")
    return text
