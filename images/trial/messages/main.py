"""An agent loop over the Messages API: `python3 main.py /in/messages.json`, or `--version`.

Standard output is `pairbench/messages-events` 1; the last event is the result. Exit codes: 0 the model answered, 1 the
result says what went wrong, 2 the configuration is wrong (one line on standard error, no event).
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

# Thousands of classes are made below and none of them is garbage.
gc.disable()
sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from messages import lazy  # noqa: E402 - its own folder isn't a place for imports

lazy.make_lazy("anthropic", "mcp")

from messages.config import Config, ConfigError, read_config  # noqa: E402
from messages.conversation import End, converse  # noqa: E402
from messages.events import FORMAT, VERSION, Spent, say  # noqa: E402
from messages.files import SCHEMAS, Answer, FileTools  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Mapping

CLIENT_VERSION = "1"


async def conversation(config: Config) -> str:
    """The outcome of the conversation, which was said; its servers have been told to go."""
    files = FileTools(config.workspace)
    schemas: list[dict[str, Any]] = [SCHEMAS[name] for name in config.tools]
    async with AsyncExitStack() as stack:
        servers = None
        if config.servers:
            # The SDKs are imported when they are needed, the provider's while the servers start.
            servers = importlib.import_module("messages.servers").Servers()
            await servers.spawn(config.servers, stack)
        provider = importlib.import_module("messages.provider")
        model = provider.Provider(config.max_retries)
        if servers is not None:
            await servers.connect(config.mcp_tools, config.server_start_s, stack)
            schemas += servers.schemas
        states = servers.states if servers is not None else {}
        say(
            "start",
            format=FORMAT,
            version=VERSION,
            client=CLIENT_VERSION,
            sdk=provider.SDK_VERSION,
            model=config.model,
            tools=[schema["name"] for schema in schemas],
            servers=[{"name": name, "status": states[name]} for name in sorted(states)],
        )
        failed = sorted(name for name, state in states.items() if state != "connected")
        if failed:
            message = f"not connected: {', '.join(failed)}"
            error = {"status": None, "type": "server_failed", "message": message}
            return End("server_failed", "", 0, error, Spent()).say()

        async def run(name: str, arguments: Mapping[str, Any]) -> Answer:
            if name in config.tools:
                return files.call(name, arguments)
            if servers is not None and name in config.mcp_tools:
                answer: Answer = await servers.call(name, arguments)
                return answer
            return Answer(f"There is no tool {name!r}.", failed=True)

        gc.freeze()
        gc.enable()
        return (await converse(config, model, schemas, run)).say()


def main(arguments: list[str]) -> int:
    """The exit code, after the result was said."""
    if arguments == ["--version"]:
        sdk = importlib.import_module("anthropic._version").__version__
        print(f"{CLIENT_VERSION}+anthropic-{sdk}")
        return 0
    try:
        config = read_config(arguments)
    except ConfigError as error:
        sys.stderr.write(f"messages: {error}\n")
        return 2
    anyio = importlib.import_module("anyio")
    return 0 if anyio.run(conversation, config) == "completed" else 1


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    # Taking down an interpreter of this size costs more than a tenth of a second.
    os._exit(code)
