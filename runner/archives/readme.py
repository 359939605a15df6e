"""What an archive says of itself to a person who has nothing but a tar and a checksum at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runner.archives.index import ArchivedImage, ArchivedRun
    from runner.core.canonical import Digest


def readme_of(content: Digest, images: Sequence[ArchivedImage], runs: Mapping[str, ArchivedRun]) -> bytes:
    """The bytes of `README.txt`."""
    return ("\n".join(_lines(content, images, runs)) + "\n").encode()


def _lines(content: Digest, images: Sequence[ArchivedImage], runs: Mapping[str, ArchivedRun]) -> Iterator[str]:
    yield "An archive of Pairbench, version 1. It is called FILE below."
    yield ""
    for name, run in runs.items():
        yield f"run {name}"
        yield f"  lock    {run.lock_sha256}"
        yield f"  summary {run.summary_sha256 or 'none'}"
        yield f"  code    pairbench {run.harness.version}, {run.harness.source_sha256}"
        if not run.verified:
            yield "  It did NOT verify, or wasn't verified, when it was archived."
    for image in images:
        yield f"image {image.pin.name} ({image.role}, {image.arch})"
        yield f"  {image.config}"
    yield ""
    yield "Cite what it holds, however it was packed, as"
    yield f"  {content}"
    yield ""
    yield "With Pairbench:"
    yield "  pairbench verify FILE          every byte is checked, every run recomputed"
    yield "  pairbench rerun FILE           a run again, in these images, by replay"
    yield "  pairbench images load FILE     the images alone, into a container engine"
    runner = next((image for image in images if image.role == "runner"), None)
    if runner is not None:
        yield ""
        yield "With a container engine and nothing else:"
        yield "  docker load -i FILE"
        yield f'  docker run --rm --network none -v "$PWD/FILE":/archive:ro {runner.pin.tag} verify /archive'
        if runs:
            # The socket is the whole engine: whoever has it is root of that machine.
            yield "or, giving it the engine, which is as good as giving it the machine:"
            yield "  docker run --rm --network none -v /var/run/docker.sock:/var/run/docker.sock \\"
            yield f'    -v "$PWD/FILE":/archive:ro -v "$PWD":/study {runner.pin.tag} rerun /archive'
    yield ""
    yield "By hand, with tar, sha256sum and zstd:"
    yield "  tar -xf FILE && sha256sum -c archive.sha256"
    yield "  archive.json names every blob by the digest of its bytes, and says how it is packed:"
    yield "  blobs/sha256/<digest> as it is, .zst by zstd, .gz by gzip."
    yield "  zstd -dc blobs/sha256/<digest>.zst | sha256sum"
    yield "  A run's `tree` lists its files by path and blob; a trial's folder is a tar."
    if runs:
        yield ""
        yield "Each attempt's compose.yaml makes it once more. It is a program with the rights of the container engine,"
        yield "which are those of the machine, and whoever made this archive wrote it: before you start one,"
        yield "verify FILE with a Pairbench that isn't out of it. `sha256sum` says nothing of what such a file does."
