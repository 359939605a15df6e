"""Who plays the model when a person makes an attempt again, and what does its gateway find in `/in` for that?

Nothing here asks a provider where something was recorded, or holds a provider's key.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from runner.core import layout
from runner.core.evidence import BODIES, RECORDING
from runner.core.gateway import CA_NAME, CASSETTE_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.execute.order import PodOrder

_AS_IT_WAS: Final = 'shutil.copyfile("/from/gateway.json", "/gateway-in/gateway.json")\n'

_ENTRIES_OF_THE_TRIAL: Final = """\
with open("/from/cassette.jsonl", "rb") as whole, open("/gateway-in/cassette.jsonl", "wb") as own:
    for line in whole:
        entry = json.loads(line)
        if (entry.get("task"), entry.get("arm"), entry.get("repetition")) == PLACE:
            own.write(line)
"""

# What a recording lacks to be a cassette: whose entries they are, the bytes of the answers, and a digest of it all.
_ENTRIES_OF_THE_RECORDING: Final = """\
sys.path.insert(0, "/opt/pairbench")
from gateway.cassette import entry_digest
with open("/from/bodies.jsonl.zst", "rb") as packed:
    lines = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True).read().split(b"\\n")
answers = {body["seq"]: body["response"] for body in map(json.loads, filter(None, lines))}
with open("/from/recording.jsonl", "rb") as recording, open("/gateway-in/cassette.jsonl", "w") as own:
    for entry in map(json.loads, recording):
        entry |= {"task": PLACE[0], "arm": PLACE[1], "repetition": PLACE[2], "body": answers[entry["seq"]]}
        entry["entry_sha256"] = entry_digest(entry)
        print(json.dumps(entry), file=own)
config = json.load(open("/from/gateway.json"))
config |= {"mode": "replay", "cassette": "/in/cassette.jsonl", "upstream": None, "recording": False}
with open("/gateway-in/gateway.json", "w") as file:
    json.dump(config, file)
"""

_AUTHORITY: Final = """\
with open("/gateway-in/ca.pem", "w") as file:
    file.write(json.load(open("/from/study.json"))["model_ca"])
"""


@dataclass(frozen=True)
class Player:
    """Who plays the model."""

    told: tuple[str, ...]
    """What a person is told of it."""
    program: str
    """Python that lays out `/gateway-in`."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Further files in `/from`, and where they lie, as seen from the attempt's folder."""
    asks_provider: bool = False
    plays_cassette: bool = False
    """When it is told to end, its gateway says what of the cassette nobody asked for."""


def player_of(order: PodOrder, run_folder: str, *, recorded: bool) -> Player:
    """Who plays the model of the attempt; `run_folder` leads from its folder to the run's."""
    gateway, planned = order.gateway, order.planned
    place = f"PLACE = ({json.dumps(planned.task)}, {json.dumps(planned.arm)}, {planned.repetition})\n"
    match gateway.mode:
        case "replay":
            return Player(
                (f"The model: the run's cassette ({layout.PLAYED}) plays what it played.",),
                place + _ENTRIES_OF_THE_TRIAL + _AS_IT_WAS,
                {CASSETTE_NAME: f"{run_folder}/{layout.PLAYED}"},
                plays_cassette=True,
            )
        case "record" if recorded:
            return Player(
                (f"The model: what this attempt recorded ({RECORDING}, {BODIES}) is played; no provider is asked.",),
                f"import sys, zstandard\n{place}{_ENTRIES_OF_THE_RECORDING}",
                {RECORDING: f"./{RECORDING}", BODIES: f"./{BODIES}"},
                plays_cassette=True,
            )
        case "live" | "record":
            where = gateway.upstream.base_url if gateway.upstream is not None else "a provider"
            told = (
                f"The model: {where} was asked, and nothing was recorded, so its answers can't be had again.",
                "The provider can be asked anew: that costs, takes a way out and a key, and gives other answers.",
            )
            has_authority = CA_NAME in order.gateway_files
            return Player(
                told,
                (_AUTHORITY if has_authority else "") + _AS_IT_WAS,
                {"study.json": f"{run_folder}/{layout.STUDY}"} if has_authority else {},
                asks_provider=True,
            )
        case "none":
            return Player(("The model: none is served, as none was.",), _AS_IT_WAS)
    policy = f"{gateway.policy.name} {gateway.policy.version}" if gateway.policy is not None else "its policy"
    return Player((f"The model: the gateway's policy {policy} answers as it did.",), _AS_IT_WAS)
