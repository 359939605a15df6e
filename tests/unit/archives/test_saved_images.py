"""What engines make of `docker save` differs; what comes out of it doesn't."""

from __future__ import annotations

import gzip
import io
import json
import os
import tarfile
from typing import TYPE_CHECKING

import pytest

from runner.archives.saved import read_saved
from runner.core.canonical import sha256_digest
from runner.core.errors import EvidenceError
from runner.images.store import Store
from tests.fakes.archives import saved_tar

if TYPE_CHECKING:
    from pathlib import Path

LAYERS = [b"base " * 1000, os.urandom(2 << 20)]
CONFIG = b'{"os":"linux"}'


def read(data: bytes, folder: Path) -> tuple[bytes, list[bytes]]:
    store = Store(folder)
    found = read_saved([data], store, "image trial")
    return found.config, [b"".join(store.read_blob(blob.digest)) for blob in found.layers]


def test_layers_large_and_small_come_out(tmp_path: Path) -> None:
    """Base first, whatever the order in the tar; only layers are left in the store."""
    assert read(saved_tar(CONFIG, LAYERS), tmp_path) == (CONFIG, LAYERS)
    kept = {path.name for path in (tmp_path / "blobs" / "sha256").iterdir()}
    assert kept == {sha256_digest(layer).removeprefix("sha256:") for layer in LAYERS}


def test_packed_layers_come_out_plain(tmp_path: Path) -> None:
    """An engine that keeps them as a registry gave them hands them out so; several members are one layer."""
    several = gzip.compress(LAYERS[1][:1000]) + gzip.compress(LAYERS[1][1000:])
    assert read(saved_tar(CONFIG, [gzip.compress(LAYERS[0]), several]), tmp_path) == (CONFIG, LAYERS)


def test_a_layer_that_is_a_link_to_another_is_followed(tmp_path: Path) -> None:
    """Engines before 25 write a layer that an image has twice once, and a link beside it."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        manifest = json.dumps(
            [{"Config": "c.json", "RepoTags": None, "Layers": ["a/layer.tar", "b/layer.tar"]}]
        ).encode()
        for name, data in (("a/layer.tar", LAYERS[0]), ("c.json", CONFIG), ("manifest.json", manifest)):
            item = tarfile.TarInfo(name)
            item.size = len(data)
            archive.addfile(item, io.BytesIO(data))
        link = tarfile.TarInfo("b/layer.tar")
        link.type, link.linkname = tarfile.SYMTYPE, "../a/layer.tar"
        archive.addfile(link)
    assert read(stream.getvalue(), tmp_path) == (CONFIG, [LAYERS[0], LAYERS[0]])


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"x" * 2000, id="no tar"),
        pytest.param(saved_tar(CONFIG, LAYERS)[:-5000], id="cut"),
        pytest.param(saved_tar(CONFIG, [gzip.compress(LAYERS[0])[:-9]]), id="a cut layer"),
        pytest.param(saved_tar(CONFIG, LAYERS, manifest=b"[]"), id="no image"),
        pytest.param(saved_tar(CONFIG, LAYERS, manifest=b"{"), id="no manifest"),
        pytest.param(saved_tar(CONFIG, LAYERS, manifest=b'[{"Config":"absent","Layers":[]}]'), id="no configuration"),
        pytest.param(saved_tar(CONFIG, LAYERS, manifest=b'[{"Config":"config.json","Layers":["x"]}]'), id="no layer"),
    ],
)
def test_what_isnt_an_image_is_refused(data: bytes, tmp_path: Path) -> None:
    """The image is named, whatever the engine gave."""
    with pytest.raises(EvidenceError, match="image trial: what the engine saved isn't an image"):
        read(data, tmp_path)
