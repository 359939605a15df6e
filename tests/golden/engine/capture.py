"""Write down what a real engine says when something is wrong: `DOCKER_HOST=… python tests/golden/engine/capture.py IMAGE`.

The image needs a `python3`. Texts differ between versions of engines: the file says which one spoke, and a reader of them
may rely on kinds and statuses only. Run it against another engine and keep both answers, by adding to the file's list.
"""

from __future__ import annotations

import io
import json
import os
import sys
import tarfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import docker
import docker.errors
import requests

HERE: Final = Path(__file__).resolve().parent
Act = Callable[[], object]
_MIB: Final = 1 << 20


class Bench:
    """Makes containers and volumes that are gone at the end."""

    def __init__(self, api: docker.APIClient, image: str, cleanup: ExitStack) -> None:
        """Nothing is made yet."""
        self.api, self.image, self._cleanup = api, image, cleanup
        self._number = 0

    def volume(self, **options: Any) -> str:
        """A new volume."""
        self._number += 1
        name = f"pairbench-capture-{os.getpid()}-{self._number}"
        self.api.create_volume(name, labels={"pairbench.test": "capture"}, **options)
        self._cleanup.callback(self.api.remove_volume, name, force=True)
        return name

    def container(self, command: list[str], image: str = "", name: str | None = None, **host: Any) -> str:
        """A new container."""
        made = self.api.create_container(
            image or self.image,
            entrypoint=command,
            command=[],
            name=name,
            labels={"pairbench.test": "capture"},
            host_config=self.api.create_host_config(**{"network_mode": "none", **host}),
        )
        self._cleanup.callback(self.api.remove_container, made["Id"], force=True)
        return str(made["Id"])

    def mounted(self, command: list[str], volume: str) -> str:
        """A new container that has the volume at `/out`."""
        return self.container(command, mounts=[docker.types.Mount("/out", volume, type="volume")])


def cases(bench: Bench) -> Iterator[tuple[str, Act]]:
    """What is tried, by name; each of them fails."""
    api = bench.api
    name = f"pairbench-capture-{os.getpid()}"
    ended = bench.container(["python3", "-c", ""], name=name)
    yield "image missing", lambda: bench.container(["true"], image="pairbench/absent:none")
    yield "name taken", lambda: bench.container(["true"], name=name)
    yield "program missing", lambda: api.start(bench.container(["/nowhere/program"]))
    yield "program not executable", lambda: api.start(bench.container(["/etc/passwd"]))
    yield "mount option unknown", lambda: api.start(bench.container(["true"], tmpfs={"/x": "nonsense=1"}))
    yield (
        "network of an ended container",
        lambda: api.start(bench.container(["true"], network_mode=f"container:{ended}")),
    )
    yield "memory limit too small", lambda: bench.container(["true"], mem_limit=1 << 20)
    yield "kill of an ended container", lambda: api.kill(ended)
    yield "container missing", lambda: api.start("0" * 64)
    yield "path missing", lambda: api.get_archive(ended, "/nowhere")
    used = bench.volume()
    bench.mounted(["true"], used)
    yield "volume in use", lambda: api.remove_volume(used)
    yield "volume full", lambda: fill(bench)
    yield "socket missing", lambda: docker.APIClient(base_url="unix:///nowhere/docker.sock", version="1.41").version()
    yield "nobody listens", lambda: docker.APIClient(base_url="tcp://127.0.0.1:1", version="1.41").version()


def fill(bench: Bench) -> None:
    """A volume in memory gets more than it holds."""
    volume = bench.volume(driver_opts={"type": "tmpfs", "device": "tmpfs", "o": "size=65536"})
    holder = bench.mounted(["python3", "-c", "import time; time.sleep(60)"], volume)
    bench.api.start(holder)
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        member = tarfile.TarInfo("big")
        member.size = _MIB
        tar.addfile(member, io.BytesIO(bytes(_MIB)))
    bench.api.put_archive(holder, "/out", archive.getvalue())


def captured(act: Act) -> dict[str, object]:
    """What the act raised."""
    try:
        act()
    except docker.errors.APIError as error:
        return {"kind": "answer", "status": error.status_code, "text": str(error.explanation or error)}
    except (docker.errors.DockerException, requests.exceptions.RequestException, OSError) as error:
        names = [kind.__name__ for kind in type(error).__mro__ if kind.__module__.startswith(("requests", "docker"))]
        return {"kind": "transport", "types": names, "text": str(error)}
    raise AssertionError("it went through")


def main(image: str) -> None:
    """The file is written again, with what this engine says."""
    api = docker.APIClient(base_url=os.environ["DOCKER_HOST"], version="auto")
    with ExitStack() as cleanup:
        bench = Bench(api, image, cleanup)
        found = {name: captured(act) for name, act in cases(bench)}
        broken = bench.container(["/nowhere/program"])
        found["state of a container that did not start"] = {**captured(lambda: api.start(broken)), **state(api, broken)}
    version = api.version()
    document = {"engine": version["Version"], "api": version["ApiVersion"], "cases": found}
    (HERE / "errors.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def state(api: docker.APIClient, container: str) -> dict[str, object]:
    """What the engine keeps of a container's end."""
    kept = api.inspect_container(container)["State"]
    return {"state": {name: kept[name] for name in ("ExitCode", "Error", "OOMKilled", "StartedAt", "FinishedAt")}}


if __name__ == "__main__":
    main(sys.argv[1])
