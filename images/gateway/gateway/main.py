"""Starts the gateway: `python3 main.py CONFIG [--tcp HOST:PORT]`, ready when it says so.

In modes that go to a provider SIGUSR2 makes it take the provider's key from its file, which it removes: `keyed` says
that it did, `unkeyed` why not. A key that is there at the start is taken then.

SIGUSR1 seals the evidence and says `sealed`: nothing is answered or written any more, and the process holds the volume
until SIGTERM ends it. SIGTERM alone does both.

Exit codes: 0 ended as asked, 2 the configuration is wrong, 3 it can't start, 4 evidence was lost.
"""

from __future__ import annotations

import os
import sys

if not __package__:
    # Run as a script: the package's parent takes the place of the package's own directory, whose modules must not be
    # taken for anybody else's.
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

import asyncio
import contextlib
import gc

from gateway.admission import Admission
from gateway.cassette import CassetteError
from gateway.config import Config, ConfigError, parse_config
from gateway.connection import WireLimits
from gateway.evidence import Evidence, EvidenceError
from gateway.gateway import Gateway, say
from gateway.modes import Upstreams
from gateway.server import Server, Signals

# Of a few hundred bytes each, between two looks for cycles.
GARBAGE_OBJECTS = 20_000
USAGE = "usage: main.py CONFIG [--tcp HOST:PORT]"


def main(arguments: list[str]) -> int:
    """The exit code, after the gateway has ended."""
    try:
        path, tcp = parse_arguments(arguments)
        with open(path, encoding="utf-8") as file:
            config = parse_config(file.read())
        upstreams = Upstreams(config)
    except (ConfigError, CassetteError, OSError, UnicodeDecodeError) as error:
        problems = error.problems if isinstance(error, ConfigError) else [str(error)]
        say("refused", document=" ".join(arguments[:1]), problems=problems)
        return 2
    os.umask(0o077)
    try:
        evidence = Evidence(
            config.evidence_dir, config.record_limit_bytes, recording=config.recording, bodies=config.bodies
        )
        return asyncio.run(serve(config, upstreams, evidence, tcp))
    except (EvidenceError, OSError) as error:
        say("failed", reason=str(error))
        return 3


def parse_arguments(arguments: list[str]) -> tuple[str, tuple[str, int] | None]:
    """The path of the configuration, and the TCP address to listen on besides.

    Raises:
        ConfigError: when the arguments are others.
    """
    if len(arguments) == 1:
        return arguments[0], None
    if len(arguments) == 3 and arguments[1] == "--tcp":
        host, colon, port = arguments[2].rpartition(":")
        if host and colon and port.isdigit() and int(port) < 65536:
            return arguments[0], (host, int(port))
    raise ConfigError([USAGE])


async def serve(config: Config, upstreams: Upstreams, evidence: Evidence, tcp: tuple[str, int] | None) -> int:
    """The exit code, after SIGTERM came and everything was recorded."""
    admission = Admission(config.tokens, config.request_limit)
    gateway = Gateway(admission, upstreams.upstream, evidence, config.seed)
    server = Server(gateway, WireLimits())
    signals = Signals(upstreams.take_key)
    address = await server.listen(config.socket, tcp)
    # What start-up made lives as long as the process, and what an exchange makes goes without help but for little.
    gc.freeze()
    gc.set_threshold(GARBAGE_OBJECTS)
    say("ready", mode=config.mode, socket=config.socket, tcp=address, **upstreams.facts())
    await signals.any()
    await server.close()
    replayed = upstreams.replayed()
    if replayed is not None:
        with contextlib.suppress(EvidenceError):
            evidence.note_replay(replayed)
    evidence.close()
    totals = {
        "exchanges": gateway.exchanges,
        "unrecorded": evidence.unrecorded,
        "record_limit_reached": evidence.full,
        "evidence_lost": evidence.broken,
    }
    if not signals.ended:
        # The evidence lies in memory that lives as long as a container holds it: wait until the host has it.
        say("sealed", **totals)
        await signals.end()
    say("stopped", **totals)
    return 4 if evidence.broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
