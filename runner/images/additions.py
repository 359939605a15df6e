"""The layers that an image adds to its base: wheels, single files out of wheels, our programs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from runner.core.canonical import digest_of, sha256_digest
from runner.core.errors import StudyError
from runner.images.compiled import with_compiled
from runner.images.layer import Layer, held_to_lock
from runner.images.licences import wheel_licence
from runner.images.locks import RELOCK_HINT, locked_wheel
from runner.images.origins import Origin
from runner.images.records import recorded_layer
from runner.images.tree import FileEntry, FolderEntry, Held, Pinned, Tree, merged
from runner.images.wheel import wheel_member, wheel_metadata, wheel_tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from runner.core.canonical import Json
    from runner.images.base import Base
    from runner.images.inputs import Build
    from runner.images.locks import ImageLock, LockedWheel
    from runner.images.spec import ImageSpec, Program, WheelFile


def wheels_layer(spec: ImageSpec, lock: ImageLock, base: Base, build: Build) -> Layer | None:
    """The image's wheels in the base's site folder, compiled; None where it has none.

    Raises:
        EnvironmentNotReady: a wheel can't be had.
        EvidenceError: a wheel or the layer isn't what the lock says.
    """
    if not lock.wheels:
        return None
    pinned = sorted(wheel.sha256 for wheel in lock.wheels)
    key = build.key("wheels", {"base": base.key, "drop": list(spec.drop), "wheels": list(pinned), "site": base.site})

    def installed() -> Tree:
        paths = build.wheel_paths([wheel.wheel() for wheel in lock.wheels], base.python_version)
        by_digest = {wheel.sha256: wheel for wheel in lock.wheels}
        tree = merged(
            wheel_tree(path, base.site, spec.drop).out_of(_wheel(by_digest[digest], path))
            for digest, path in sorted(paths.items())
        )
        build.say(f"compiling {len(lock.wheels)} wheels")
        return with_compiled(tree, [base.site], base.interpreter(build), build)

    blob = recorded_layer(key, installed, build)
    if base.locked:
        held_to_lock("wheels", blob, lock.layers.get("wheels"), build)
    return Layer("wheels", blob, ", ".join(f"{wheel.name} {wheel.version}" for wheel in lock.wheels), key)


def file_layers(spec: ImageSpec, lock: ImageLock, python: str, build: Build) -> Iterator[Layer]:
    """A layer for each group of single files, in the order in which the groups are first named.

    Raises:
        EnvironmentNotReady: a wheel can't be had.
        EvidenceError: a wheel, a file or the layer isn't what the lock or the declaration says.
        StudyError: a declared file has no digest for this architecture.
    """
    for name in dict.fromkeys(file.layer for file in spec.files):
        files = [file for file in spec.files if file.layer == name]
        wheels = {file.to: _source(file, lock) for file in files}
        inputs: list[Json] = [[*_plain(file), wheels[file.to].sha256, _pinned(file, build)] for file in files]
        key = build.key("files", inputs)
        blob = recorded_layer(key, partial(_lent, name, files, wheels, python, build), build)
        held_to_lock(name, blob, lock.layers.get(name), build)
        yield Layer(name, blob, ", ".join(f"{file.to} of {file.wheel} {file.version}" for file in files), key)


def programs_layer(name: str, spec: ImageSpec, base: Base, build: Build) -> Layer | None:
    """Our programs, compiled, and the folders that the image declares; None where it has neither.

    Raises:
        StudyError: a declared folder isn't there, or it holds a link.
    """
    tree = Tree()
    for folder in spec.folders:
        tree.put(folder.path, FolderEntry(folder.mode, folder.uid, folder.gid))
    for program in spec.programs:
        found = dict(program_files(build.images_dir / (program.image or name), program))
        origin = program_origin(f"images/{program.image or name}/{program.source}", program.to, found)
        for path, data in found.items():
            tree.put(path, FileEntry(Held(data), origin=origin))
    if not tree.entries:
        return None
    contents = {
        path: sha256_digest(entry.data()) for path, entry in tree.entries.items() if isinstance(entry, FileEntry)
    }
    folders = [folder.model_dump(mode="json") for folder in spec.folders]
    key = build.key("programs", {"base": base.key, "files": dict(contents), "folders": folders})
    below = [program.to for program in spec.programs]
    blob = recorded_layer(key, lambda: with_compiled(tree, below, base.interpreter(build), build), build)
    return Layer("programs", blob, ", ".join(program.to for program in spec.programs), key)


def program_origin(name: str, to: str, files: Mapping[str, bytes]) -> Origin:
    """A folder of ours as what its files came out of: named by `name`, its digest over paths and contents."""
    contents: dict[str, Json] = {path.removeprefix(f"{to}/"): sha256_digest(data) for path, data in files.items()}
    return Origin("program", name, "", "", digest_of(contents))


def program_files(image_dir: Path, program: Program) -> Iterator[tuple[str, bytes]]:
    """The program's files by their path in the image; what Python or an editor leaves behind isn't among them.

    Raises:
        StudyError: there is no such folder, or it holds a link.
    """
    folder = image_dir / program.source
    if not folder.is_dir():
        raise StudyError(f"there is no folder {program.source}", document=str(image_dir / "image.toml"), key="programs")
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder)
        if path.is_symlink():
            raise StudyError(f"{program.source}/{inner} is a link", document=str(image_dir), hint="copy the file")
        left_behind = any(part == "__pycache__" or part.startswith(".") for part in inner.parts)
        if path.is_file() and not left_behind:
            yield f"{program.to}/{inner.as_posix()}", path.read_bytes()


def _plain(file: WheelFile) -> tuple[str, str, int]:
    return file.member, file.to, file.mode


def _source(file: WheelFile, lock: ImageLock) -> LockedWheel:
    found = locked_wheel(lock.sources, file.wheel)
    if found is None:
        raise StudyError(f"{file.wheel} {file.version} isn't locked", hint=RELOCK_HINT)
    return found


def _pinned(file: WheelFile, build: Build) -> str:
    if build.arch not in file.sha256:
        raise StudyError(f"{file.to} has no sha256 for {build.arch}", document="image.toml", key="files.sha256")
    return file.sha256[build.arch]


def _lent(name: str, files: Sequence[WheelFile], wheels: Mapping[str, LockedWheel], python: str, build: Build) -> Tree:
    paths = build.wheel_paths(list({wheel.sha256: wheel.wheel() for wheel in wheels.values()}.values()), python)
    build.say(f"taking {len(files)} files for {name}")
    tree = Tree()
    for file in files:
        wheel = wheels[file.to]
        entry = wheel_member(paths[wheel.sha256], file.member, file.mode)
        content = Pinned(entry.content, _pinned(file, build), f"{file.member} of {file.wheel} {file.version}")
        tree.put(file.to, replace(entry, content=content, origin=_wheel(wheel, paths[wheel.sha256])))
    return tree


def _wheel(wheel: LockedWheel, path: Path) -> Origin:
    licence = wheel_licence(wheel_metadata(path))
    return Origin("wheel", wheel.name, wheel.version, wheel.file, wheel.sha256, licence)
