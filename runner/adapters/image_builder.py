"""An engine's own builder behind one call: the classic one, or BuildKit where the engine names that as its default.

Both take the context as a tar in the body of `POST /build` and need no session. They tell what they do differently: the
classic builder as text, BuildKit as base64 of its status messages (protocol buffers,
`moby.buildkit.v1.StatusResponse`), of which the names of steps and what they printed are read here.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import TYPE_CHECKING, Any

from runner.core.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.ports.engine import ImageBuild

CLASSIC, BUILDKIT = "1", "2"
_TRACE = "moby.buildkit.trace"
_LAST_LINES = 8
_LINE_CHARACTERS = 300
_SILENCE_S = 1800
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
# Of the status messages: `vertexes` with their `digest` and `name`, and `logs` with their `msg`.
_VERTEXES, _LOGS, _DIGEST, _NAME, _MESSAGE = 1, 3, 1, 3, 4
_LENGTH_DELIMITED = 2
_FIXED_BYTES = {1: 8, 5: 4}


def default_builder(api: Any) -> str:
    """The builder that the engine names as its default; one that names none has the classic one."""
    response = api.get(f"{api.base_url}/_ping")
    return BUILDKIT if response.headers.get("Builder-Version") == BUILDKIT else CLASSIC


def built(api: Any, build: ImageBuild, builder: str) -> str:
    """The id of the image that the engine's builder makes; its tag is `build.tag`.

    Raises:
        EngineError: the builder failed; with its own words and the last lines of what it printed.
    """
    parameters = {
        "dockerfile": build.dockerfile,
        "buildargs": json.dumps(dict(sorted(build.arguments.items()))),
        "t": build.tag,
        "version": builder,
        # Containers of failed steps go too.
        "rm": 1,
        "forcerm": 1,
    }
    # BuildKit wants the default network where there is none; the classic builder goes without one by itself.
    if builder == BUILDKIT and not api.networks(names=["bridge"]):
        parameters["networkmode"] = "none"
    response = api.post(
        api._url("/build"),  # noqa: SLF001 - `build` of the SDK reads a folder, and knows one builder only
        data=build.context,
        params=parameters,
        headers={"Content-Type": "application/x-tar"},
        stream=True,
        timeout=_SILENCE_S,
    )
    try:
        api._raise_for_status(response)  # noqa: SLF001 - the SDK's own translation of an error body
        _followed(response.iter_lines())
    finally:
        response.close()
    return str(api.inspect_image(build.tag)["Id"])


def _followed(lines: Iterable[bytes]) -> None:
    said: list[str] = []
    shown: set[str] = set()
    for line in lines:
        message = json.loads(line)
        if "error" in message:
            raise EngineError(_told(str(message["error"]), said), document="image builder")
        if message.get("id") == _TRACE:
            said += _plain("".join(_traced(message.get("aux"), shown)))
        else:
            said += _plain(str(message.get("stream") or ""))
        del said[:-_LAST_LINES]


def _told(error: str, said: list[str]) -> str:
    """One line: messages hold no other."""
    last = " | ".join(line[:_LINE_CHARACTERS] for line in said)
    return f"{_COLOURS.sub('', error).strip()}; it printed last: {last}" if last else _COLOURS.sub("", error).strip()


def _plain(text: str) -> list[str]:
    lines = _COLOURS.sub("", text).replace("\r", "\n").split("\n")
    return [line.rstrip() for line in lines if line.strip()]


def _traced(aux: object, shown: set[str]) -> Iterator[str]:
    """What one status message of BuildKit says to a person: steps that weren't named yet, and output."""
    try:
        fields = list(_fields(base64.b64decode(str(aux), validate=True)))
        for number, data in fields:
            parts = dict(_fields(data)) if number in (_VERTEXES, _LOGS) else {}
            if number == _VERTEXES and (name := _text(parts.get(_NAME))) and _text(parts.get(_DIGEST)) not in shown:
                shown.add(_text(parts.get(_DIGEST)))
                yield f"{name}\n"
            elif number == _LOGS:
                yield _text(parts.get(_MESSAGE))
    except (binascii.Error, IndexError, ValueError):
        # What it says on the way is for people only; whether it failed is told in plain words.
        return


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The length-delimited fields of a message of protocol buffers; numbers are passed over."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == _LENGTH_DELIMITED:
            size, at = _varint(data, at)
            yield key >> 3, data[at : at + size]
            at += size
        elif kind == 0:
            _, at = _varint(data, at)
        else:
            at += _FIXED_BYTES[kind] if kind in _FIXED_BYTES else len(data)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return value, at
