"""`pairbench gc --archives`: images of studies' own go only when one asks for it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from runner import wiring
from runner.cli.retaining import clean_cache
from runner.core.canonical import canonical_bytes
from runner.images.store import Store
from runner.pipeline.world import Places

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fakes.surroundings import Surroundings


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize("user_images", [True, False])
def test_images_of_studies_go_when_one_asks(
    outside: Surroundings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    user_images: bool,
    dry_run: bool,
) -> None:
    """And a dry run takes nothing."""
    places = Places(images=tmp_path / "images", cache=tmp_path / "cache", runs=tmp_path / "runs")
    (places.images / "locks").mkdir(parents=True)
    (places.images / "locks" / "images.amd64.json").write_text("{}", "utf-8")
    places.runs.mkdir()
    store = Store(places.cache / "images")
    layer = store.add_blob([b"a layer of theirs"]).digest
    store.add_blob([canonical_bytes({"rootfs": {"type": "layers", "diff_ids": [layer]}})])
    world = replace(outside.world, places=places, build=replace(outside.world.build, store=store))
    monkeypatch.setattr(wiring, "make_world", lambda _watch: world)
    monkeypatch.chdir(tmp_path)
    clean_cache((), user_images=user_images, dry_run=dry_run, as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert (len(told["removed"]), len(told["kept"])) == ((2, 0) if user_images else (0, 2))
    assert store.blob_path(layer).exists() is (dry_run or not user_images)
