"""How is the client started? `/in/messages.json`, `/in/mcp.json` and the texts beside them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from messages.files import SCHEMAS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FORMAT = "pairbench/messages"
VERSION = 1


class ConfigError(Exception):
    """The configuration is wrong, or a file of it can't be read."""


@dataclass(frozen=True)
class Server:
    """An MCP server over stdio; `env` is added to a bare environment."""

    name: str
    command: str
    arguments: tuple[str, ...]
    env: Mapping[str, str]


@dataclass(frozen=True)
class Config:
    """All that a conversation needs; the provider's address and key are in the environment."""

    model: str
    tools: tuple[str, ...]
    mcp_tools: tuple[str, ...]
    """As the model sees them; others that a server has aren't offered."""
    max_turns: int | None
    max_output_tokens: int
    max_retries: int
    server_start_s: float
    workspace: str
    prompt: str
    instructions: str
    servers: tuple[Server, ...]


def read_config(arguments: Sequence[str]) -> Config:
    """The configuration that the command line names, with the files beside it.

    Raises:
        ConfigError: something is missing or isn't what it should be.
    """
    if len(arguments) != 1:
        raise ConfigError("usage: main.py CONFIG | --version")
    (path,) = arguments
    folder = os.path.dirname(os.path.abspath(path))
    try:
        given = json.loads(_text(path))
        servers = json.loads(_text(os.path.join(folder, "mcp.json")))["mcpServers"]
        if (given["format"], given["version"]) != (FORMAT, VERSION):
            raise ConfigError(f"{path}: not {FORMAT} {VERSION}")
        return Config(
            model=_is(given["model"], str),
            tools=tuple(_tool(name) for name in given["tools"]),
            mcp_tools=tuple(given["mcp_tools"]),
            max_turns=None if given["max_turns"] is None else _is(given["max_turns"], int),
            max_output_tokens=_is(given["max_output_tokens"], int),
            max_retries=_is(given["max_retries"], int),
            server_start_s=_is(given["server_start_ms"], int) / 1000,
            workspace=_is(given["workspace"], str),
            prompt=_text(os.path.join(folder, "prompt.txt")),
            instructions=_text(os.path.join(folder, "instructions.md")) if given["instructions"] else "",
            servers=tuple(
                Server(name, server["command"], tuple(server["args"]), dict(server["env"]))
                for name, server in sorted(servers.items())
            ),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{path}: {type(error).__name__}: {error}") from error


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error


def _tool(name: str) -> str:
    if name not in SCHEMAS:
        raise ConfigError(f"no tool is called {name!r}; there are {', '.join(sorted(SCHEMAS))}")
    return name


def _is(value: Any, kind: type) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ConfigError(f"{value!r} is not of the type {kind.__name__}")
    return value
