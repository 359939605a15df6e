"""Small runs, images and code to archive, and archives that nobody would write."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runner.archives.frame import SEAL, blob_entry, seal_of
from runner.archives.harness import HarnessFiles, harness_of
from runner.archives.index import ArchivedRun, ArchiveIndex, BlobPin, TextPin, content_digest
from runner.archives.reading import open_archive
from runner.archives.readme import readme_of
from runner.archives.writing import ArchivableImage, Contents, LayerSource
from runner.core.canonical import canonical_bytes, canonical_line, sha256_digest
from runner.core.harness import Installation
from runner.core.lock import HarnessPin, ImagePin
from runner.images.oci import manifest_of
from runner.images.store import Blob
from runner.images.tarball import end_of_archive, file_header, padding

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from runner.archives.index import Role

PIN = HarnessPin(version="0.1.0", source_sha256="sha256:" + "5" * 64, python="3.11.7")


LOCK = canonical_line({"run": "demo", "harness": PIN.json_value()})
LEDGER = b'{"seq":1}\n{"seq":2}\n'


def code() -> HarnessFiles:
    """A harness of two files."""
    installed = Installation(
        version="0.1.0",
        python="3.11.7",
        requires_python=">=3.11",
        licence="Apache-2.0",
        requires=("click>=8.1",),
        scripts={"pairbench": "runner.cli:main"},
        requirements=b"click==8.1\n",
    )
    return harness_of({"runner/__init__.py": b'"""Ours."""\n', "runner/cli.py": b"def main(): ...\n"}, installed)


def image(name: str, *layers: bytes, role: Role = "pod") -> ArchivableImage:
    """An image of these layers."""
    blobs = [Blob(sha256_digest(layer), len(layer)) for layer in layers]
    config = canonical_bytes(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Labels": {"name": name}},
            "rootfs": {"type": "layers", "diff_ids": [blob.digest for blob in blobs]},
        }
    )
    manifest, identity = manifest_of(config, blobs), sha256_digest(config)
    pin = ImagePin(
        name=name,
        tag=f"pairbench/{name}:{identity.removeprefix('sha256:')}",
        config_digest=identity,
        manifest_digest=sha256_digest(manifest),
        diff_ids=tuple(blob.digest for blob in blobs),
        drifted=(),
    )
    sources = {
        str(blob.digest): LayerSource(blob.size_bytes, _again(data)) for blob, data in zip(blobs, layers, strict=True)
    }
    return ArchivableImage(pin, "amd64", role, config, manifest, sources)


def _again(data: bytes) -> Callable[[], list[bytes]]:
    return lambda: [data[start : start + 1000] for start in range(0, len(data), 1000)]


def run_files(name: str = "demo", **more: bytes) -> dict[str, bytes]:
    """The files of a run with two trials; `more` stand there besides, `__` for `/` and `_` for `.`."""
    return {
        "lock.json": canonical_line({"run": name, "harness": PIN.json_value()}),
        "plan.json": b"{}\n",
        "ledger.jsonl": LEDGER,
        "summary.json": canonical_line({"of": name}),
        "inputs/study.json": b'{"study":"demo"}\n',
        "inputs/corpora/notes.tar": b"corpus " * 300,
        "trials/first.r1.off/attempt-1/stdout.jsonl": f"said by {name}\n".encode() * 20,
        "trials/first.r1.off/attempt-1/empty.txt": b"",
        "trials/first.r1.on/attempt-1/stdout.jsonl": b"said\n",
        **{path.replace("__", "/").replace("_", "."): data for path, data in more.items()},
    }


def lay(folder: Path, files: Mapping[str, bytes]) -> Path:
    """`folder` holds `files`."""
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return folder


def laid(folder: Path) -> dict[str, bytes]:
    """The files of `folder`."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def contents(runs: Mapping[str, Path], images: Sequence[ArchivableImage] = ()) -> Contents:
    """Runs and images, archived by today's code."""
    return Contents(created_by=PIN, images=images, runs=runs, harnesses=[code()])


def read(path: Path, scratch: Path) -> ArchiveIndex:
    """The index of an archive that holds."""
    with open_archive(path, scratch) as archive:
        return archive.index


@dataclass
class Forger:
    """An archive of one run, unpacked, with whatever somebody would like it to say."""

    tree: bytes = b""
    """The list of the run's files; made of `blobs` when it is empty."""
    blobs: dict[str, bytes] = field(default_factory=dict)
    """Path, or trial's name behind `trial:`, -> bytes."""
    name: str = "demo"
    surplus: tuple[bytes, ...] = ()
    change: Callable[[dict[str, Any]], object] = dict
    """What is done to the index's JSON before it is sealed."""
    packed: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    """Digest -> encoding and packed bytes, in the place of the plain ones."""

    def lines(self) -> list[dict[str, Any]]:
        """The honest list."""
        files = {"lock.json": LOCK, "ledger.jsonl": LEDGER, **self.blobs}
        found: list[dict[str, Any]] = []
        for path, data in sorted(files.items()):
            kind, _, trial = path.rpartition("trial:")
            del kind
            key = {"trial": trial} if path.startswith("trial:") else {"path": path}
            found.append({**key, "sha256": sha256_digest(data), "size": len(data)})
        return sorted(found, key=lambda line: ("trial" in line, str(line.get("trial", line.get("path")))))

    def bytes(self) -> bytes:
        """The archive."""
        tree = self.tree or b"".join(canonical_line(line) for line in self.lines())
        raw = {sha256_digest(data): data for data in (LOCK, LEDGER, tree, *self.blobs.values(), *self.surplus)}
        stored = {digest: self.packed.get(digest, ("identity", data)) for digest, data in raw.items()}
        pins: dict[str, BlobPin] = {
            digest: BlobPin.model_validate(
                {
                    "size": len(raw[digest]),
                    "packed": len(data),
                    "packed_sha256": sha256_digest(data),
                    "encoding": encoding,
                }
            )
            for digest, (encoding, data) in stored.items()
        }
        run = ArchivedRun(
            lock_sha256=sha256_digest(LOCK),
            summary_sha256="",
            ledger_head=sha256_digest(b'{"seq":2}\n'),
            harness=PIN,
            verified=True,
            tree=sha256_digest(tree),
        )
        runs = {self.name: run}
        content = content_digest((), runs, {}, pins)
        readme = readme_of(content, (), runs)
        index = ArchiveIndex(
            created_by=PIN,
            content_sha256=content,
            images=(),
            runs=runs,
            harness={},
            readme=TextPin(size=len(readme), sha256=sha256_digest(readme)),
            blobs=pins,
        ).json_value()
        self.change(index)
        data = canonical_line(index)
        members = [(SEAL, seal_of(sha256_digest(data))), ("archive.json", data), ("README.txt", readme)]
        members += [(blob_entry(digest, pins[digest].encoding), stored[digest][1]) for digest in sorted(stored)]
        return tar(members)


def tar(members: Sequence[tuple[str, bytes]]) -> bytes:
    """A tar of `members` in their order, with headers as ours have them."""
    parts = [file_header(name, len(data)) + data + padding(len(data)) for name, data in members]
    return b"".join(parts) + end_of_archive()


def saved_tar(config: bytes, layers: Sequence[bytes], manifest: bytes | None = None) -> bytes:
    """An image as an engine saves it: layers in no order, the manifest last."""
    names = [f"{number}/layer.tar" for number in range(len(layers))]
    listed = [{"Config": "config.json", "RepoTags": ["demo:1"], "Layers": names}]
    members = [*reversed(list(zip(names, layers, strict=True))), ("config.json", config)]
    return tar([*members, ("manifest.json", canonical_bytes(listed) if manifest is None else manifest)])
