"""One attempt as a Compose file, with which a person makes it again without Pairbench.

Made of the very specifications that the engine was given. What else it takes lies beside the file or in the run's
folder, and is named by relative path; what comes out is written nowhere in the run's folder.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from runner.core import layout
from runner.core.evidence import COMPOSE, GATEWAY_CONFIG, IN_FILES, LAUNCH
from runner.core.gateway import KEY_FOLDER, KEY_NAME
from runner.core.owner import volume_name
from runner.execute.compose import Interpolated, bind, named, pinned, rendered, service, volume, walled
from runner.execute.containers import gateway_spec, sidecar_spec, trial_spec, volumes
from runner.execute.playing_again import player_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.execute.order import PodOrder
    from runner.execute.playing_again import Player
    from runner.execute.yaml_text import Node

RUN_FOLDER: Final = "../../.."
"""From an attempt's folder."""

_NO_NETWORK: Final = {"network_mode": "none", "hostname": "pod"}
_ROLES: Final = ("gateway", "sidecar", "trial")
_KEY_FILE: Final = "PAIRBENCH_KEY_FILE"
KEY_PATH: Final = Interpolated(f"${{{_KEY_FILE}:?the path of a file that holds the key alone}}")
WAY_OUT: Final[dict[str, Node]] = {"way-out": {"driver_opts": {"com.docker.network.bridge.enable_icc": "false"}}}
"""The networks of a file whose gateway asks a provider."""

_INPUTS: Final = """\
import base64, json, shutil, tarfile
for name, text in json.load(open("/from/in.json"))["files"].items():
    with open("/trial-in/" + name, "wb") as file:
        file.write(text.encode() if isinstance(text, str) else base64.b64decode(text["base64"]))
shutil.copyfile("/from/launch.json", "/trial-in/launch.json")
"""
_WORKSPACE: Final = 'tarfile.open("/from/workspace.tar").extractall("/workspace")\n'
# The gateway writes it when it is told to end, which is a moment ago.
_SEALED: Final = """\
import os, time
sealed = "/pod/gateway/replayed.json"
for _ in range(100):
    if os.path.exists(sealed) and os.path.getsize(sealed):
        break
    time.sleep(0.1)
"""
_OUT: Final = """\
import os, sys, tarfile
with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as tar:
    for folder in "/pod/out", "/pod/gateway":
        for entry in os.scandir(folder):
            if entry.is_file(follow_symlinks=False):
                tar.add(entry.path, "by-hand/" + entry.name)
"""
_KEY: Final = f"""\
with open("/from/{KEY_NAME}") as key, open("{KEY_FOLDER}/{KEY_NAME}", "w") as file:
    file.write(key.read().strip())
"""


def compose_file(order: PodOrder, identities: Mapping[str, str], *, recorded: bool) -> bytes:
    """The file; `identities` holds the engine's id of each container's image by role, as far as it is known."""
    player = player_of(order, RUN_FOLDER, recorded=recorded)
    images = {role: pinned(getattr(order.images, role), identities.get(role, "")) for role in _ROLES}
    out = _SEALED + _OUT if player.plays_cassette else _OUT
    document = {
        "services": {
            **_fillers(order, player, images),
            **_pod(order, player, images),
            "out": _own(images["gateway"], out, ["pod:/pod:ro,nocopy"]) | {"profiles": ["out"]},
        },
        "volumes": _volumes(order, player),
    }
    if player.asks_provider:
        document["networks"] = WAY_OUT
    return rendered([*_header(order, player), *_image_lines(order, identities)], document)


def _header(order: PodOrder, player: Player) -> list[str]:
    planned = order.planned
    place = f"{layout.attempt_folder(planned.trial, order.attempt)}/{COMPOSE}"
    lines = [
        f"Trial {planned.trial}, attempt {order.attempt}, once more by hand (docs/howto/by-hand.md).",
        f"In a folder of your own, with the path of this file ({place}) for FILE:",
        "",
    ]
    if player.asks_provider:
        lines += [
            f"  export {_KEY_FILE}=/path/of/a/file/that/holds/the/key",
            "  docker-compose -f FILE up -d gateway",
            "  docker-compose -f FILE run --rm key",
            "  docker-compose -f FILE kill -s SIGUSR2 gateway",
        ]
    lines.append("  docker-compose -f FILE up trial")
    if player.plays_cassette:
        lines.append("  docker-compose -f FILE kill -s SIGUSR1 gateway")
    if order.prints_store:
        lines.append("  docker-compose -f FILE stop sidecar")
    lines += [
        "  docker-compose -f FILE run --rm -T out | tar -x          # what came out, to by-hand/",
        "  docker-compose -f FILE logs --no-color --no-log-prefix sidecar | grep '^{' >by-hand/sidecar.jsonl",
        "  docker-compose -f FILE down --volumes",
        "",
        *player.told,
    ]
    return lines


def _image_lines(order: PodOrder, identities: Mapping[str, str]) -> list[str]:
    lines = ["Its images:"]
    for role in _ROLES:
        identity = identities.get(role, "never had a container")
        lines.append(f"  {role:8}{identity} ({named(getattr(order.images, role))})")
    return lines


def _pod(order: PodOrder, player: Player, images: Mapping[str, str]) -> dict[str, Node]:
    own = {volume_name(order.prefix, role): role for role in volumes(order)}
    names = {**own, order.workspace_volume: "workspace", order.index_volume: "index"}
    gateway = gateway_spec(order)
    if not player.asks_provider:
        gateway = replace(gateway, mounts=tuple(one for one in gateway.mounts if one.destination != KEY_FOLDER))
    joined = {"network_mode": "service:sidecar"} if order.joins_sidecar else _NO_NETWORK
    way_out = {"networks": ["way-out"], "hostname": "pod"} if player.asks_provider else _NO_NETWORK
    found = {
        "gateway": service(gateway, names, images["gateway"], way_out)
        | _after(inputs="service_completed_successfully"),
        "sidecar": service(sidecar_spec(order), names, images["sidecar"], _NO_NETWORK),
        "trial": service(trial_spec(order, "sidecar"), names, images["trial"], joined)
        | _after(gateway="service_started", sidecar="service_started"),
    }
    if order.corpus:
        found["sidecar"] |= _after(index="service_completed_successfully")
    if order.prints_store:
        found["sidecar"]["stop_grace_period"] = "30s"
    return {**found}


def _fillers(order: PodOrder, player: Player, images: Mapping[str, str]) -> dict[str, Node]:
    """Services that fill the volumes and end."""
    sources = {name: f"./{name}" for name in (IN_FILES, LAUNCH, GATEWAY_CONFIG)} | dict(player.sources)
    program, filled = _INPUTS, ["gateway-in:/gateway-in:nocopy", "trial-in:/trial-in:nocopy"]
    found: dict[str, Node] = {}
    if order.corpus:
        sources["workspace.tar"] = f"{RUN_FOLDER}/{layout.corpus_tar(order.corpus)}"
        program += _WORKSPACE
        filled.append("workspace:/workspace:nocopy")
        found["index"] = _own(
            images["sidecar"],
            "",
            [bind(f"{RUN_FOLDER}/{layout.index_tar(order.corpus)}", "index.tar"), "index:/index:nocopy"],
        )
    binds = [bind(source, name) for name, source in sources.items()]
    found["inputs"] = _own(images["gateway"], program + player.program, [*binds, *filled])
    if player.asks_provider:
        key: list[Node] = [
            bind(KEY_PATH, KEY_NAME),
            f"secret:{KEY_FOLDER}:nocopy",
        ]
        found["key"] = _own(images["gateway"], _KEY, key) | {"profiles": ["key"]}
    return found


def _own(image: str, program: str, mounted: list[Node]) -> dict[str, Node]:
    """A service that does one thing as root, with nothing of root's but the way past the permissions of files.

    Not DAC_READ_SEARCH, though it would do for reading: it opens files by handle, and outside the container too.
    """
    return {
        **walled(image),
        "network_mode": "none",
        "user": "0:0",
        "cap_add": ["DAC_OVERRIDE"],
        "entrypoint": ["python3", "-c", program] if program else list(_UNPACK),
        "volumes": mounted,
    }


_UNPACK: Final = (
    *("python3", "/opt/pairbench/sidecar/main.py", "unpack"),
    *("--archive", "/from/index.tar", "--into", "/index"),
)


def _volumes(order: PodOrder, player: Player) -> dict[str, Node]:
    """Volumes with names of their own: two attempts never share one, and no run takes one of them for its own."""
    made = {role: tmpfs for role, tmpfs in volumes(order).items() if role != "secret" or player.asks_provider}
    return {
        role: volume(volume_name(order.prefix, "by hand", role), tmpfs)
        for role, tmpfs in {**made, "workspace": None, "index": None}.items()
    }


def _after(**conditions: str) -> dict[str, Node]:
    return {"depends_on": {name: {"condition": condition} for name, condition in conditions.items()}}
