"""Images are built once, loaded once, and believed only when the engine says what was built."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from runner.core.errors import EnvironmentNotReady, EvidenceError
from runner.pipeline import imaging
from runner.ports.engine import ImageFacts
from tests.fakes.engine import FakeEngine

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.fakes.surroundings import Surroundings


def test_what_is_missing_is_loaded_once(outside: Surroundings) -> None:
    """The second time the engine is only asked."""
    built = imaging.build(outside.world)
    assert [image.name for image in built] == ["gateway", "qdrant", "retrieval", "trial"]
    imaging.load(outside.world, outside.engine, built)
    imaging.load(outside.world, outside.engine, built)
    assert [call for call, _ in outside.engine.calls].count("load_images") == 1
    assert outside.watcher.steps == ["loading gateway, qdrant, retrieval, trial into the engine"]
    facts = outside.engine.image(built[0].tag)
    assert facts is not None
    assert (facts.identity, facts.diff_ids) == (built[0].config_digest, built[0].diff_ids)


def test_only_named_images_are_built(outside: Surroundings) -> None:
    """In the order of the names."""
    assert [image.name for image in imaging.build(outside.world, ("trial", "gateway"))] == ["trial", "gateway"]


def test_an_engine_that_calls_images_by_their_manifest_is_believed(outside: Surroundings) -> None:
    """Engines with the containerd store do."""
    (image,) = imaging.build(outside.world, ("trial",))
    outside.engine.images[image.tag] = ImageFacts(image.manifest_digest, image.diff_ids, "amd64")
    imaging.load(outside.world, outside.engine, (image,))
    assert [call for call, _ in outside.engine.calls] == ["image", "image"]


@pytest.mark.parametrize("change", ["identity", "layers"])
def test_another_image_under_our_name_is_refused(outside: Surroundings, change: str) -> None:
    """Somebody tagged something else."""
    (image,) = imaging.build(outside.world, ("trial",))
    facts = ImageFacts(image.config_digest, image.diff_ids, "amd64")
    other = replace(facts, identity="sha256:0") if change == "identity" else replace(facts, diff_ids=("sha256:0",))
    outside.engine.images[image.tag] = other
    with pytest.raises(EvidenceError, match=image.tag):
        imaging.load(outside.world, outside.engine, (image,))


class Forgetful(FakeEngine):
    """An engine that takes an archive and keeps nothing."""

    def load_images(self, chunks: Iterable[bytes]) -> None:
        self._enter("load_images", "")
        for _ in chunks:
            continue


def test_an_engine_that_keeps_nothing_is_told(outside: Surroundings) -> None:
    """After loading, an image is there or it isn't."""
    outside.engine.__class__ = Forgetful
    built = imaging.build(outside.world)
    with pytest.raises(EnvironmentNotReady, match="the engine has no such image"):
        imaging.load(outside.world, outside.engine, built)


def test_a_pin_names_an_image_by_all_its_names(outside: Surroundings) -> None:
    """Configuration, manifest, layers, and what drifted."""
    (image,) = imaging.build(outside.world, ("trial",))
    pin = imaging.pin_of(image)
    assert pin.tag == f"pairbench/trial:{image.config_digest.removeprefix('sha256:')}"
    assert (pin.name, pin.config_digest, pin.manifest_digest) == ("trial", image.config_digest, image.manifest_digest)
    assert (pin.diff_ids, pin.drifted) == (image.diff_ids, ())


def test_an_image_without_a_model_gives_no_model_folder(outside: Surroundings) -> None:
    """Whoever lists one image learns its digests all the same."""
    assert imaging.model_folder(outside.world, imaging.build(outside.world)) is None
