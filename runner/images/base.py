"""The root file system that images start from, and the interpreter in it that compiles what comes on top."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.core.errors import EvidenceError
from runner.images.compiled import Interpreter, unpacked, with_compiled
from runner.images.deb import merged_usr_links, package_tree
from runner.images.inputs import checked
from runner.images.layer import Layer, held_to_lock
from runner.images.locks import read_base_lock
from runner.images.packages import base_key, chosen, deb_path
from runner.images.tarball import read_tree, tree_chunks
from runner.images.tree import FileEntry, FolderEntry, Held, LinkEntry, Tree, merged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.core.canonical import Digest
    from runner.images.inputs import Build
    from runner.images.packages import Drift
    from runner.images.spec import BaseSpec
    from runner.images.store import Blob
    from runner.ports.fetching import DebianPackage

_STANDARD_LIBRARY = "/usr/lib"
_WHITEOUT = ".wh."
_OPAQUE = ".wh..wh..opq"


@dataclass(frozen=True)
class Base:
    """A base that exists: its layers, its Python and where that looks for packages, and what differs from the lock."""

    layers: tuple[Layer, ...]
    key: Digest
    python: str
    python_version: str
    site: str
    drifted: tuple[Drift, ...] = ()

    def interpreter(self, build: Build) -> Interpreter:
        """The base's Python, unpacked now where it wasn't."""
        root = build.store.interpreter_folder(self.key)
        if root.exists():
            return Interpreter(root, self.python, self.key)
        return unpacked(stacked([layer.blob for layer in self.layers], build), self.python, self.key, build)


def debian_base(spec: BaseSpec, build: Build) -> Base:
    """The base of Debian packages, in the store.

    Raises:
        EnvironmentNotReady: a package can't be had, or (frozen) not at its locked version.
        EvidenceError: a package or the layer isn't what the lock says.
        StudyError: the lock is missing or stale.
    """
    lock = read_base_lock(spec, build.arch, build.images_dir)
    packages, drifted = chosen(spec, lock, build)
    key = base_key(spec, packages, build)
    blob = build.store.layer(key) or _built(spec, packages, key, build)
    if not drifted:
        held_to_lock("base", blob, lock.layer, build)
    layer = Layer("base", blob, f"Debian {spec.suite}: {len(packages)} packages")
    return Base((layer,), key, spec.python, spec.python_version, spec.site, drifted)


def declared_tree(spec: BaseSpec) -> Tree:
    """The users, folders, links and files that `spec` writes out."""
    tree = Tree()
    for folder in spec.folders:
        tree.put(folder.path, FolderEntry(folder.mode, folder.uid, folder.gid))
    for link in spec.links:
        tree.put(link.path, LinkEntry(link.target))
    for file in spec.files:
        tree.put(file.path, FileEntry(Held(file.text.encode()), file.mode))
    passwd = [f"{user.name}:x:{user.id}:{user.id}:{user.name}:{user.home}:/bin/sh\n" for user in spec.users]
    group = [
        f"{user.name}:x:{user.id}:{','.join(other.name for other in spec.users if user.name in other.groups)}\n"
        for user in spec.users
    ]
    tree.put("/etc/passwd", FileEntry(Held("".join(passwd).encode())))
    tree.put("/etc/group", FileEntry(Held("".join(group).encode())))
    return tree


def stacked(blobs: Sequence[Blob], build: Build) -> Tree:
    """The file system that layers make one over another; names that begin with `.wh.` take away, as in OCI images."""
    result = Tree()
    for blob in blobs:
        with build.store.blob_path(blob.digest).open("rb") as stream:
            layer = read_tree(stream, blob.digest)
        for path in layer.entries:
            folder, _, name = path.rpartition("/")
            if name == _OPAQUE:
                _take_away(result, folder, itself=False)
            elif name.startswith(_WHITEOUT):
                _take_away(result, f"{folder}/{name.removeprefix(_WHITEOUT)}", itself=True)
        for path, entry in layer.entries.items():
            if not path.rpartition("/")[2].startswith(_WHITEOUT):
                result.put(path, entry)
    return result


def _take_away(tree: Tree, path: str, *, itself: bool) -> None:
    for found in [p for p in tree.entries if p.startswith(f"{path}/") or (itself and p == path)]:
        del tree.entries[found]


def _built(spec: BaseSpec, packages: Sequence[DebianPackage], key: Digest, build: Build) -> Blob:
    missing = [package for package in packages if not deb_path(package, build).exists()]
    if missing:
        build.say(f"downloading {len(missing)} Debian packages")
        folder = build.store.downloads("debs")
        build.tools.packages.download(missing, folder, suite=spec.suite, arch=build.arch)
    build.say(f"unpacking {len(packages)} Debian packages")
    tree = _unpacked(spec, packages, build)
    interpreter = unpacked(tree, spec.python, key, build)
    build.say("compiling the standard library")
    return build.store.add_layer(key, tree_chunks(with_compiled(tree, [_STANDARD_LIBRARY], interpreter, build)))


def _unpacked(spec: BaseSpec, packages: Sequence[DebianPackage], build: Build) -> Tree:
    debs = {package.name: checked(deb_path(package, build), package.sha256) for package in sorted(packages)}
    tree = merged(package_tree(path.read_bytes(), name) for name, path in debs.items()).without(spec.drop, spec.keep)
    tree = merged([tree, merged_usr_links(tree)])
    for path, entry in declared_tree(spec).entries.items():
        tree.put(path, entry)
    if not isinstance(tree.entries.get(spec.python), FileEntry):
        raise EvidenceError(f"the locked packages bring no {spec.python}", document="base")
    return tree
