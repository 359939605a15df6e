"""The image of the program itself: what it runs in, and on top of that the code of one harness."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from runner.core.canonical import canonical_bytes, parse_json
from runner.core.errors import EvidenceError
from runner.images.layer import Layer
from runner.images.oci import manifest_of
from runner.images.tarball import FIXED_TIME, tree_chunks
from runner.images.tree import FileEntry, Held, Tree

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.core.canonical import Json
    from runner.images.oci import BuiltImage
    from runner.images.store import Store

RUNNER_IMAGE: Final = "runner"
HARNESS_FOLDER: Final = "/opt/pairbench/harness"
"""Where the image looks for the code; its program knows it too."""


def with_harness(image: BuiltImage, harness_files: Mapping[str, bytes], store: Store, made_of: str) -> BuiltImage:
    """`image` with one more layer, the files of a harness by path; `made_of` says to people whose code it is.

    Raises:
        EvidenceError: a path leaves the folder of the harness, or the image isn't one of ours.
    """
    tree = Tree()
    for path, data in harness_files.items():
        tree.add(f"{HARNESS_FOLDER}/{path}", FileEntry(Held(data)), made_of)
    layer = Layer("harness", store.add_blob(tree_chunks(tree)), made_of)
    changed = canonical_bytes(_with_layer(parse_json(image.config, image.tag), layer, image.tag))
    layers = (*image.layers, layer)
    manifest = manifest_of(changed, [one.blob for one in layers])
    return replace(image, config=changed, manifest=manifest, layers=layers)


def _with_layer(config: Json, layer: Layer, document: str) -> dict[str, Json]:
    match config:
        case {"rootfs": {"type": str(kind), "diff_ids": [*diff_ids]}, "history": [*history]} if isinstance(
            config, dict
        ):
            added = {"created": FIXED_TIME, "created_by": f"{layer.name}: {layer.made_of}"}
            rootfs: dict[str, Json] = {"type": kind, "diff_ids": [*diff_ids, layer.diff_id]}
            return {**config, "rootfs": rootfs, "history": [*history, added]}
        case _:
            raise EvidenceError("its configuration isn't that of an image of ours", document=document)
