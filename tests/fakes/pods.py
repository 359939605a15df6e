"""What runs in the containers of a run, as behaviours of the engine in memory; a test changes one of them.

Each does what the program of its image promises in `docs/reference/pod.md`, and no more.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runner.core.owner import ATTEMPT, ROLE, TRIAL
from runner.core.prices import FIXTURE_MODEL
from tests.fakes.attempts import exchange, exit_report, init, lines, result
from tests.fakes.bodies import packed
from tests.fakes.engine import Behaviour, Hang

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.ports.engine import ContainerSpec
from tests.fakes.engine import Box, Script

READY_NS = 2_000_000_000


def gateway(box: Box) -> Script:
    """A gateway that answers two requests of every client that asks, and seals when it is told to."""
    box.read("/in/gateway.json")
    box.tell("ready")
    while True:
        if (yield Hang()) == "SIGUSR1":
            if "gateway/exchanges.jsonl" not in box.names("/pod"):
                box.write("/pod/gateway/exchanges.jsonl", b"")
                box.write("/pod/gateway/bodies.jsonl.zst", b"")
            box.tell("sealed")


def sidecar(box: Box) -> Script:
    """A sidecar whose index is laid out."""
    box.read("/index/index")
    box.tell("ready", port=6333)
    yield Hang()
    return 0


def client(stdout: bytes = b"an answer\n", **report: Any) -> Behaviour:
    """A supervisor and its client: the client printed `stdout`, and its end is as `report` changes it."""

    def run(box: Box) -> int:
        box.read("/in/launch.json")
        neighbour = box.neighbour()
        if neighbour is not None:
            neighbour.say(json.dumps(_request("/readyz")).encode() + b"\n")
        leave(box, stdout, **report)
        return 0

    return run


def asking_client(box: Box) -> int:
    """Claude Code, which has the servers that its launch declares, asks the model twice and answers."""
    argv = json.loads(box.read("/in/launch.json"))["argv"]
    servers = json.loads(box.read("/in/mcp.json"))["mcpServers"]
    tools = [*_option(argv, "--tools"), *_option(argv, "--allowedTools")]
    neighbour = box.neighbour()
    events = [init(tools=tuple(tools), servers=dict.fromkeys(servers, "connected"))]
    if neighbour is not None:
        for path in ("/readyz", "/collections/memory/points/query"):
            neighbour.say(json.dumps(_request(path)).encode() + b"\n")
    box.write("/pod/gateway/exchanges.jsonl", lines(*(_exchange(number) for number in (1, 2))))
    box.write("/pod/gateway/bodies.jsonl.zst", packed(*({"seq": n, "request": "", "response": ""} for n in (1, 2))))
    leave(box, lines(*events, result(result="See notes/plan.md:1-2.")))
    return 0


def leave(box: Box, stdout: bytes, stderr: bytes = b"", **report: Any) -> None:
    """The evidence of a supervisor is in the pod."""
    box.write("/pod/out/stdout.jsonl", stdout)
    box.write("/pod/out/stderr.txt", stderr)
    counts = {"stdout_bytes": len(stdout), "stderr_bytes": len(stderr)}
    box.write("/pod/out/exit.json", json.dumps({**exit_report(**counts), **report}).encode())


def unpack(box: Box) -> int:
    """The sidecar's `unpack`: an archive is laid out, or there is none to lay out."""
    if "index.tar" in box.names("/in"):
        box.write("/index/index", box.read("/in/index.tar"))
        return 0
    return 1


def embed(box: Box) -> int:
    """The embedder: vectors that follow from the texts."""
    if "identity" in (box.spec.entrypoint or ()):
        box.say(b'{"model": "fake", "tokenizer": "fake"}\n')
        return 0
    texts = [json.loads(line)["text"] for line in box.read("/in/texts.jsonl").splitlines()]
    box.write("/out/vectors.jsonl", lines(*({"vector": vector_text(text)} for text in texts)))
    return 0


def weigh(box: Box) -> int:
    """The program of sparse vectors: one term a text, as heavy as the text is long."""
    texts = [json.loads(line)["text"] for line in box.read("/in/texts.jsonl").splitlines()]
    made = [{"indices": [7], "values": [len(text) / 2]} for text in texts]
    box.write("/out/vectors.jsonl", b"".join(json.dumps(line).encode() + b"\n" for line in made))
    return 0


def vector_text(text: str) -> str:
    """A vector of 384 numbers as it stands in files."""
    return base64.b64encode(struct.pack("<384f", *hashlib.sha256(text.encode()).digest() * 12)).decode("ascii")


def build(box: Box) -> int:
    """The sidecar's `build`: an archive that holds the points."""
    points = b"".join(box.read(f"/in/{name}") for name in sorted(box.names("/in")) if "/" in name)
    box.write("/out/index.tar", b"index of " + points)
    digest = hashlib.sha256(points).hexdigest()
    box.say(b"building\n")
    box.say(lines({"points": len(points.splitlines()) - 1, "logical_digest": f"sha256:{digest}"}))
    return 0


def version(box: Box) -> int:
    """The client that is asked for its version."""
    box.say(b"2.1.332 (Claude Code)\n")
    return 0


def fill(_box: Box) -> int:
    """A container that is never started."""
    return 1


@dataclass
class Pods:
    """The behaviour of every container, by its role; of trials by name and attempt too."""

    roles: dict[str, Behaviour] = field(
        default_factory=lambda: {
            "gateway": gateway,
            "sidecar": sidecar,
            "trial": client(),
            "workspace-filler": fill,
            "index-filler": unpack,
            "embed": embed,
            "weigh": weigh,
            "build": build,
            "version": version,
        }
    )
    attempts: dict[tuple[str, int], dict[str, Behaviour]] = field(default_factory=dict)
    """(trial, attempt) -> role -> behaviour, before what stands in `roles`."""

    def __call__(self, spec: ContainerSpec) -> Behaviour:
        """What a container made to `spec` does."""
        labels: Mapping[str, str] = spec.labels
        role = labels[ROLE]
        own = self.attempts.get((labels.get(TRIAL, ""), int(labels.get(ATTEMPT, "0"))), {})
        return own.get(role) or self.roles[role]


def _exchange(number: int) -> dict[str, Any]:
    return exchange(number, model_resolved=FIXTURE_MODEL)


def _request(path: str) -> dict[str, Any]:
    return {
        "event": "request",
        "seq": 1,
        "method": "GET",
        "path": path,
        "status": 200,
        "received_ns": READY_NS,
        "duration_us": 60,
    }


def _option(argv: list[str], name: str) -> list[str]:
    found = [word.partition("=")[2] for word in argv if word.startswith(f"{name}=")]
    return found[0].split(",") if found else []
