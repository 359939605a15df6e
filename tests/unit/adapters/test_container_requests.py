"""What the engine is asked for when a container is made is what its specification says, wherever the runner runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import docker

from runner.adapters.docker_engine import DockerEngine
from runner.ports.engine import ContainerSpec

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

CONFIGURED = '{"proxies": {"default": {"httpProxy": "http://ada:secret@127.0.0.1:3128", "noProxy": "localhost"}}}'


def test_the_proxy_of_a_user_s_own_configuration_reaches_no_pod(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It often holds a password, and any variable that no pod gives is a hole in its isolation."""
    (tmp_path / "config.json").write_text(CONFIGURED, "utf-8")
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    asked: list[dict[str, Any]] = []

    def created(config: dict[str, Any], *_: object) -> dict[str, str]:
        asked.append(config)
        return {"Id": "made"}

    api = docker.APIClient(base_url="unix:///nowhere.sock", version="1.41")
    monkeypatch.setattr(api, "create_container_from_config", created)
    engine = DockerEngine.__new__(DockerEngine)
    engine._api = api
    spec = ContainerSpec(
        *("name", "image"), labels={}, user="1:1", memory_bytes=1, pids=1, cpus=1, environment={"LANG": "C.UTF-8"}
    )
    assert engine.create(spec) == "made"
    assert [config["Env"] for config in asked] == [["LANG=C.UTF-8"]]
