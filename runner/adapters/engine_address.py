"""Where a container engine of this machine answers.

This is the one place that knows the rule: `DOCKER_HOST`; else the current Docker context and the usual sockets, the
first that answers; else the private engine that `make engine` started. It needs the standard library only and nothing
of ours, because `make engine` asks it before anything is installed: `python3 -I engine_address.py CACHE` prints the
address, or ends 3 and says what it tried.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import socket
import ssl
import sys
import urllib.parse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

PROBE_TIMEOUT_S: Final = 5.0
DEFAULT_SOCKET: Final = "unix:///var/run/docker.sock"
ADDRESS_FILE: Final = Path("engine", "docker-host")
NOT_READY: Final = 3


@dataclass(frozen=True)
class Candidate:
    """An address that may be the engine's, and where it was read."""

    address: str
    origin: str


@dataclass(frozen=True)
class Tried:
    """A candidate and why it isn't the engine's address; an empty fault says that it answered."""

    candidate: Candidate
    fault: str


def find_engine_address(
    environ: Mapping[str, str], cache: Path, probe: Callable[[str, Mapping[str, str]], str] | None = None
) -> str | None:
    """The address of the engine, as `DOCKER_HOST` would hold it, or None when no candidate answers.

    `DOCKER_HOST` is returned without asking it: whoever set it is told by the first call that fails, and not sent
    elsewhere. `PAIRBENCH_ENGINE=private` passes over everything but the private engine. `cache` is the project's cache
    folder, which holds `engine/docker-host` while a private engine runs.
    """
    if environ.get("DOCKER_HOST") and not _private_only(environ):
        return environ["DOCKER_HOST"]
    for tried in try_candidates(environ, cache, probe or fault_of):
        if not tried.fault:
            return tried.candidate.address
    return None


def try_candidates(
    environ: Mapping[str, str], cache: Path, probe: Callable[[str, Mapping[str, str]], str]
) -> Iterator[Tried]:
    """Every candidate in the order of the rule, each asked only when the caller gets that far."""
    for candidate in candidates(environ, cache):
        yield Tried(candidate, probe(candidate.address, environ))


def candidates(environ: Mapping[str, str], cache: Path) -> Iterator[Candidate]:
    """Every address that the rule names, best first."""
    private = _private(cache)
    if _private_only(environ):
        yield from private
        return
    if environ.get("DOCKER_HOST"):
        yield Candidate(environ["DOCKER_HOST"], "DOCKER_HOST")
        return
    yield from _context(environ)
    yield Candidate(DEFAULT_SOCKET, "default socket")
    if environ.get("XDG_RUNTIME_DIR"):
        yield Candidate(f"unix://{environ['XDG_RUNTIME_DIR']}/docker.sock", "rootless socket")
    yield from private


def _private_only(environ: Mapping[str, str]) -> bool:
    return environ.get("PAIRBENCH_ENGINE") == "private"


def _private(cache: Path) -> list[Candidate]:
    try:
        address = (cache / ADDRESS_FILE).read_text(encoding="utf-8").strip()
    except OSError:
        return []
    return [Candidate(address, str(cache / ADDRESS_FILE))] if address else []


def _context(environ: Mapping[str, str]) -> Iterator[Candidate]:
    """The endpoint of the Docker context in use; the one called `default` is the default socket."""
    folder = Path(environ.get("DOCKER_CONFIG") or Path(environ.get("HOME", "/"), ".docker"))
    name = environ.get("DOCKER_CONTEXT") or _string(folder / "config.json", "currentContext")
    if not name or name == "default":
        return
    meta = folder / "contexts" / "meta" / hashlib.sha256(name.encode()).hexdigest() / "meta.json"
    host = _string(meta, "Endpoints", "docker", "Host")
    if host:
        yield Candidate(host, f"Docker context {name!r}")


def _string(file: Path, *keys: str) -> str:
    """The text at `keys` of a JSON file that belongs to Docker, or "" when it isn't there."""
    try:
        value: object = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return ""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def fault_of(address: str, environ: Mapping[str, str]) -> str:
    """Why nothing that speaks Docker's API answers at `address`, in a few words; "" when something does."""
    if urllib.parse.urlsplit(address).scheme == "ssh":
        return ""  # only the Docker client can ask through ssh; whoever named such an address means it
    try:
        connection = _connection(address, environ)
    except (OSError, ValueError) as error:
        return str(error)
    try:
        connection.request("GET", "/_ping")
        answer = connection.getresponse()
        answer.read()
    except (OSError, http.client.HTTPException) as error:
        return getattr(error, "strerror", None) or str(error) or type(error).__name__
    finally:
        connection.close()
    if answer.status == http.HTTPStatus.OK and answer.getheader("API-Version"):
        return ""
    return f"answers {answer.status}, not as a container engine"


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=PROBE_TIMEOUT_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _connection(address: str, environ: Mapping[str, str]) -> http.client.HTTPConnection:
    parts = urllib.parse.urlsplit(address)
    if parts.scheme == "unix":
        return _UnixConnection(parts.path)
    if parts.scheme not in {"tcp", "http", "https"} or not parts.hostname:
        raise ValueError(f"not an address of a container engine: {address!r}")
    if environ.get("DOCKER_TLS_VERIFY") or parts.scheme == "https":
        folder = Path(environ.get("DOCKER_CERT_PATH") or Path(environ.get("HOME", "/"), ".docker"))
        context = ssl.create_default_context(cafile=str(folder / "ca.pem"))
        context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
        return http.client.HTTPSConnection(parts.hostname, parts.port or 2376, timeout=PROBE_TIMEOUT_S, context=context)
    return http.client.HTTPConnection(parts.hostname, parts.port or 2375, timeout=PROBE_TIMEOUT_S)


def main(arguments: list[str]) -> int:
    """Print the address of the engine that answers and return 0, or print what was tried and return 3."""
    (cache,) = arguments
    faults = []
    for tried in try_candidates(os.environ, Path(cache), fault_of):
        if not tried.fault:
            sys.stdout.write(f"{tried.candidate.address}\n")
            return 0
        faults.append(f"  {tried.candidate.address} ({tried.candidate.origin}): {tried.fault}\n")
    sys.stderr.write("".join(faults))
    return NOT_READY


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
