"""What tests of several stages share: a whole outside in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fakes.surroundings import make_images, surroundings

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fakes.surroundings import Surroundings


@pytest.fixture(scope="session")
def tiny_images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of three locked images that are built in no time."""
    folder = tmp_path_factory.mktemp("tiny-images")
    make_images(folder)
    return folder


@pytest.fixture
def outside(tiny_images: Path) -> Surroundings:
    """An outside with nothing in it but images that can be built."""
    return surroundings(tiny_images)
