"""What the tests of real image building share: downloads, made once in a session."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from runner.adapters.apt import AptPackages
from runner.adapters.bytecode import ImageInterpreter
from runner.adapters.wheels import PipWheels
from runner.images.build import build_image
from runner.images.inputs import Build, Tools, host_arch
from runner.images.store import Store

if TYPE_CHECKING:
    from runner.images.oci import BuiltImage

IMAGES = Path(__file__).resolve().parents[3] / "images"


def real_build(cache: Path) -> Build:
    tools = Tools(AptPackages(cache / "apt"), PipWheels(), ImageInterpreter())
    return Build(IMAGES, Store(cache), tools, host_arch())


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> tuple[BuiltImage, Build]:
    """The smallest of our images, built from the locks of this repository."""
    build = real_build(tmp_path_factory.mktemp("images"))
    return build_image("gateway", build), build
