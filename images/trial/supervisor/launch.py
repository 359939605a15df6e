"""What did the host ask for? The launch specification, checked whole before anything starts.

Knows nothing of processes, users or time. See `docs/reference/pod.md` for the format.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection

FORMAT = "pairbench/launch"
VERSION = 1
DOCUMENT_LIMIT_BYTES = 4 * 1024 * 1024


class LaunchError(ValueError):
    """The launch specification can't be obeyed; the text says why."""


class Forward(NamedTuple):
    """A port of the trial's loopback that leads to the gateway's Unix socket."""

    listen_port: int
    socket: str


class Ready(NamedTuple):
    """What has to answer before the client starts."""

    timeout_ms: int
    http: tuple[str, ...]


class Launch(NamedTuple):
    """One client, its limits and its surroundings."""

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    uid: int
    gid: int
    deadline_ms: int
    grace_ms: int
    stdout_limit_bytes: int
    stderr_limit_bytes: int
    forward: Forward | None
    ready: Ready
    stdin: str | None = None
    """None: nothing is there to read."""


def read(path: str) -> Launch:
    """The specification in the file at `path`.

    Raises:
        LaunchError: the file can't be read, or isn't a launch specification of this version.
    """
    try:
        with open(path, "rb") as file:
            data = file.read(DOCUMENT_LIMIT_BYTES + 1)
    except OSError as error:
        raise LaunchError(f"{path}: {error.strerror}") from error
    if len(data) > DOCUMENT_LIMIT_BYTES:
        raise LaunchError(f"{path}: larger than {DOCUMENT_LIMIT_BYTES} bytes")
    return parse(data)


def parse(data: bytes) -> Launch:
    """The specification that `data` holds.

    Raises:
        LaunchError: it isn't one, or isn't of this version.
    """
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise LaunchError(f"launch: not JSON: {error}") from error
    top = _table(document, "launch", {"format", "version", *Launch._fields} - {"stdin"}, optional={"stdin"})
    if top["format"] != FORMAT or type(top["version"]) is not int or top["version"] != VERSION:
        raise LaunchError(f"launch: expected {FORMAT} {VERSION}, found {top['format']!r} {top['version']!r}")
    forward = top["forward"]
    ready = _table(top["ready"], "ready", set(Ready._fields))
    return Launch(
        argv=_argv(top["argv"]),
        env=_env(top["env"]),
        cwd=_absolute(top["cwd"], "cwd"),
        uid=_whole(top["uid"], "uid", 1, 2**32 - 2),
        gid=_whole(top["gid"], "gid", 1, 2**32 - 2),
        deadline_ms=_whole(top["deadline_ms"], "deadline_ms", 1),
        grace_ms=_whole(top["grace_ms"], "grace_ms", 0),
        stdout_limit_bytes=_whole(top["stdout_limit_bytes"], "stdout_limit_bytes", 0),
        stderr_limit_bytes=_whole(top["stderr_limit_bytes"], "stderr_limit_bytes", 0),
        forward=None if forward is None else _forward(forward),
        ready=Ready(_whole(ready["timeout_ms"], "ready.timeout_ms", 1), _urls(ready["http"])),
        stdin=None if top.get("stdin") is None else _absolute(top["stdin"], "stdin"),
    )


def _table(value: Any, where: str, keys: set[str], optional: Collection[str] = ()) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise LaunchError(f"{where}: expected an object")
    unknown, missing = sorted(set(value) - keys - set(optional)), sorted(keys - set(value))
    if unknown or missing:
        raise LaunchError(f"{where}: unknown keys {unknown}, missing keys {missing}")
    return value


def _text(value: Any, where: str) -> str:
    # NUL and lone surrogates are what the kernel can't be given.
    try:
        fits = isinstance(value, str) and b"\0" not in value.encode()
    except UnicodeEncodeError:
        fits = False
    if not fits:
        raise LaunchError(f"{where}: expected text without NUL")
    return str(value)


def _absolute(value: Any, where: str) -> str:
    if not _text(value, where).startswith("/"):
        raise LaunchError(f"{where}: expected an absolute path, found {value!r}")
    return str(value)


def _whole(value: Any, where: str, least: int, most: int = 2**53) -> int:
    if type(value) is not int or not least <= value <= most:
        raise LaunchError(f"{where}: expected a whole number from {least} to {most}, found {value!r}")
    return value


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise LaunchError(f"{where}: expected a list")
    return value


def _argv(value: Any) -> tuple[str, ...]:
    argv = tuple(_text(item, f"argv[{place}]") for place, item in enumerate(_list(value, "argv")))
    if not argv or not argv[0]:
        raise LaunchError("argv: expected a command")
    return argv


def _env(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise LaunchError("env: expected an object")
    for name, content in value.items():
        if not _text(name, "env") or "=" in name:
            raise LaunchError(f"env: {name!r} can't name a variable")
        _text(content, f"env.{name}")
    return value


def _forward(value: Any) -> Forward:
    table = _table(value, "forward", set(Forward._fields))
    port = _whole(table["listen_port"], "forward.listen_port", 1, 65535)
    return Forward(port, _absolute(table["socket"], "forward.socket"))


def _urls(value: Any) -> tuple[str, ...]:
    urls = tuple(_text(item, f"ready.http[{place}]") for place, item in enumerate(_list(value, "ready.http")))
    for url in urls:
        split_url(url)
    return urls


def split_url(url: str) -> tuple[str, int, str]:
    """Host, port and path of a plain `http://host:port/path`.

    Raises:
        LaunchError: it is another kind of URL.
    """
    rest = url.removeprefix("http://")
    authority, slash, path = rest.partition("/")
    host, _, port = authority.partition(":")
    digits = port.isascii() and port.isdigit() and 0 < int(port) < 65536
    if rest == url or not host or not digits or not all("!" <= sign <= "~" for sign in rest):
        raise LaunchError(f"ready.http: expected http://host:port/path, found {url!r}")
    return host, int(port), slash + path or "/"
