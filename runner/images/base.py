"""The root file system that images start from, and the interpreter in it that compiles what comes on top."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.core.canonical import digest_of
from runner.core.errors import EvidenceError
from runner.images.compiled import Interpreter, unpacked, with_compiled
from runner.images.deb import merged_usr_links, package_tree
from runner.images.inputs import checked
from runner.images.layer import Layer, held_to_lock
from runner.images.licences import debian_licence
from runner.images.locks import read_base_lock
from runner.images.origins import Origin
from runner.images.packages import base_key, chosen, deb_path
from runner.images.records import recorded_layer
from runner.images.spec import BASE_FOLDER
from runner.images.stack import stacked
from runner.images.tree import FileEntry, FolderEntry, Held, LinkEntry, Tree, merged

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from runner.core.canonical import Digest
    from runner.images.inputs import Build
    from runner.images.packages import Drift
    from runner.images.spec import BaseSpec
    from runner.ports.fetching import DebianPackage

LOCKED = "locked"
_STANDARD_LIBRARY = "/usr/lib"


@dataclass(frozen=True)
class Base:
    """A base that exists: its layers, its Python, where that looks for packages, and how it compares with the lock.

    `state` is for people: `locked`, or what the base is instead. Only on a locked base must an image's layers be those
    of its lock.
    """

    layers: tuple[Layer, ...]
    key: Digest
    python: str
    python_version: str
    site: str
    state: str = LOCKED
    drifted: tuple[Drift, ...] = ()

    @property
    def locked(self) -> bool:
        """Whether it is exactly what the lock says."""
        return self.state == LOCKED

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
    blob = recorded_layer(key, lambda: _built(spec, packages, key, build), build)
    if not drifted:
        held_to_lock("base", blob, lock.layer, build)
    layer = Layer("base", blob, f"Debian {spec.suite}: {len(packages)} packages", key)
    changes = " ".join(f"{drift.package}={drift.taken or 'gone'}" for drift in drifted)
    state = f"drifted: {changes}" if drifted else LOCKED
    return Base((layer,), key, spec.python, spec.python_version, spec.site, state, drifted)


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
    return tree.out_of(declaration(spec))


def declaration(spec: BaseSpec) -> Origin:
    """What `spec` writes out came out of it."""
    return Origin("declaration", f"images/{BASE_FOLDER}/base.toml", "", "", digest_of(spec.model_dump(mode="json")))


def _built(spec: BaseSpec, packages: Sequence[DebianPackage], key: Digest, build: Build) -> Tree:
    missing = [package for package in packages if not deb_path(package, build).exists()]
    if missing:
        build.say(f"downloading {len(missing)} Debian packages")
        folder = build.store.downloads("debs")
        build.tools.packages.download(missing, folder, suite=spec.suite, arch=build.arch)
    build.say(f"unpacking {len(packages)} Debian packages")
    tree = _unpacked(spec, packages, build)
    interpreter = unpacked(tree, spec.python, key, build)
    build.say("compiling the standard library")
    return with_compiled(tree, [_STANDARD_LIBRARY], interpreter, build)


def _unpacked(spec: BaseSpec, packages: Sequence[DebianPackage], build: Build) -> Tree:
    debs = {package: checked(deb_path(package, build), package.sha256) for package in sorted(packages)}
    tree = merged(_package(package, path) for package, path in debs.items()).without(spec.drop, spec.keep)
    tree = merged([tree, merged_usr_links(tree).out_of(declaration(spec))])
    for path, entry in declared_tree(spec).entries.items():
        tree.put(path, entry)
    if not isinstance(tree.entries.get(spec.python), FileEntry):
        raise EvidenceError(f"the locked packages bring no {spec.python}", document="base")
    return tree


def _package(package: DebianPackage, path: Path) -> Tree:
    tree = package_tree(path.read_bytes(), package.name)
    stated = tree.entries.get(f"/usr/share/doc/{package.name}/copyright")
    licence = debian_licence(stated.data()) if isinstance(stated, FileEntry) else ""
    file = f"{package.name}_{package.version}_{package.arch}.deb"
    return tree.out_of(Origin("debian", package.name, package.version, file, package.sha256, licence))
