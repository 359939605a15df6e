"""Starts the gateway: `python3 main.py CONFIG [--tcp HOST:PORT]`, ready when it says so.

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
import gc

from gateway.admission import Admission
from gateway.config import Config, ConfigError, parse_config
from gateway.connection import WireLimits
from gateway.evidence import Evidence, EvidenceError
from gateway.gateway import Gateway, say
from gateway.scripted import MODEL, ScriptedUpstream
from gateway.server import Server, Signals
from gateway.usage import RULE

USAGE = "usage: main.py CONFIG [--tcp HOST:PORT]"


def main(arguments: list[str]) -> int:
    """The exit code, after the gateway has ended."""
    try:
        path, tcp = parse_arguments(arguments)
        with open(path, encoding="utf-8") as file:
            config = parse_config(file.read())
    except (ConfigError, OSError, UnicodeDecodeError) as error:
        problems = error.problems if isinstance(error, ConfigError) else [str(error)]
        say("refused", document=" ".join(arguments[:1]), problems=problems)
        return 2
    os.umask(0o077)
    try:
        evidence = Evidence(config.evidence_dir, config.record_limit_bytes)
        return asyncio.run(serve(config, evidence, tcp))
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


async def serve(config: Config, evidence: Evidence, tcp: tuple[str, int] | None) -> int:
    """The exit code, after SIGTERM came and everything was recorded."""
    admission = Admission(config.tokens, config.request_limit)
    gateway = Gateway(admission, ScriptedUpstream(config.seed, config.script), evidence, config.seed)
    server = Server(gateway, WireLimits())
    signals = Signals()
    address = await server.listen(config.socket, tcp)
    # What start-up made lives as long as the process.
    gc.freeze()
    policy = f"{config.policy} {config.policy_version}"
    say(
        "ready",
        mode=config.mode,
        socket=config.socket,
        tcp=address,
        model=MODEL,
        policy=policy,
        usage_rule=RULE,
    )
    await signals.any()
    await server.close()
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
