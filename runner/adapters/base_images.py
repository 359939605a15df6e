"""A pinned base image through a Docker-compatible engine: pulled by digest where it isn't there, then saved."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import docker
import docker.errors
import requests

from runner.core.errors import EngineError, EnvironmentNotReady

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_TIMEOUT_S = 600


@dataclass(frozen=True)
class EngineBaseImages:
    """Base images of the engine whose address `address` finds, or of none."""

    address: Callable[[], str | None]

    def save(self, reference: str, destination: Path) -> None:
        """`destination` is the engine's archive of the image `name@sha256:<hex>`.

        Raises:
            EnvironmentNotReady: no engine answers, or it neither has the image nor can pull it.
        """
        address = self.address()
        if address is None:
            raise EnvironmentNotReady(
                "neither apt-get nor a container engine is here to bring a base", document=reference
            )
        try:
            with closing(docker.APIClient(base_url=address, version="auto", timeout=_TIMEOUT_S)) as api:
                _pull(api, reference)
                with destination.open("wb") as stream:
                    for chunk in api.get_image(reference):
                        stream.write(chunk)
        except docker.errors.APIError as error:
            raise EngineError(str(error.explanation or error), document=reference) from error
        except (docker.errors.DockerException, requests.exceptions.RequestException, OSError) as error:
            raise EngineError(str(error), document=reference, hint="is the engine running?") from error


def _pull(api: docker.APIClient, reference: str) -> None:
    try:
        api.inspect_image(reference)
    except docker.errors.ImageNotFound:
        for said in api.pull(reference, stream=True, decode=True):
            if "error" in said:
                raise EnvironmentNotReady(f"it can't be pulled: {said['error']}", document=reference) from None
