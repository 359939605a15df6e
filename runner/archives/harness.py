"""The code of a run as a wheel, which says by its bytes alone which code it is.

A wheel is made of the sources that ran and of what their installation says of itself; the same of both give the same
bytes on every machine, since nothing in it is compressed, dated or compiled. Who reads one looks at every member: code
beside the package, which no digest of the package names, isn't taken for a part of it.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core import layout
from runner.core.canonical import sha256_digest
from runner.core.errors import EvidenceError
from runner.core.harness import NAME, REQUIREMENTS, pin_of, source_digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from runner.core.canonical import Digest
    from runner.core.harness import Installation
    from runner.core.lock import HarnessPin

PACKAGE: Final = "runner"
MAX_WHEEL_BYTES: Final = 64 << 20

# The earliest time that a zip can hold.
_TIME: Final = (1980, 1, 1, 0, 0, 0)
_UNIX: Final = 3
# How each member's entry in the list of all begins (APPNOTE.TXT section 4.3.12).
_LISTED: Final = b"PK\x01\x02"
_MOST_MEMBERS: Final = 10_000
_FILE_MODE: Final = 0o100644
_VERSION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+!]*")


@dataclass(frozen=True)
class HarnessFiles:
    """The code of a run, and the versions of what it needs beside itself."""

    pin: HarnessPin
    wheel_name: str
    wheel: bytes
    requirements: bytes


def harness_of(sources: Mapping[str, bytes], installed: Installation) -> HarnessFiles:
    """The wheel of `sources`, each by its path from the folder that holds the package, and what goes with it."""
    info = f"{NAME}-{installed.version}.dist-info"
    members = dict(sorted(sources.items()))
    members[f"{info}/METADATA"] = _metadata(installed)
    members[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: {NAME}\nRoot-Is-Purelib: true\nTag: py3-none-any\n".encode()
    )
    scripts = "".join(f"{name} = {target}\n" for name, target in sorted(installed.scripts.items()))
    members[f"{info}/entry_points.txt"] = f"[console_scripts]\n{scripts}".encode()
    members[f"{info}/RECORD"] = _record(members, f"{info}/RECORD")
    return HarnessFiles(
        pin=pin_of(sources, installed.version, installed.python, installed.requirements),
        wheel_name=wheel_name(installed.version),
        wheel=_zipped(members),
        requirements=installed.requirements,
    )


def harness_inputs(harness: HarnessFiles) -> dict[str, bytes]:
    """Where the code of a run lies in its folder."""
    return {
        f"{layout.HARNESS}/{harness.wheel_name}": harness.wheel,
        f"{layout.HARNESS}/{REQUIREMENTS}": harness.requirements,
    }


def installed_files(harness: HarnessFiles) -> dict[str, bytes]:
    """What an installation of the code consists of, by path; what else it needed lies beside its metadata.

    Raises:
        EvidenceError: the wheel is no wheel of ours.
    """
    members = wheel_members(harness.wheel, harness.wheel_name)
    return {**members, f"{NAME}-{harness.pin.version}.dist-info/{REQUIREMENTS}": harness.requirements}


def harness_in(pin: HarnessPin, kept: Mapping[str, bytes]) -> HarnessFiles:
    """The code of a run whose lock says `pin`, of the files that its folder keeps for it, by name.

    Raises:
        EvidenceError: they aren't a wheel and its requirements, or the wheel isn't of that code.
    """
    name = wheel_name(pin.version)
    for missing in {name, REQUIREMENTS} - set(kept):
        raise EvidenceError("the file is missing", document=f"{layout.HARNESS}/{missing}")
    for surplus in sorted(set(kept) - {name, REQUIREMENTS}):
        raise EvidenceError(f"it is neither {name} nor {REQUIREMENTS}", document=f"{layout.HARNESS}/{surplus}")
    for large in sorted(each for each, data in kept.items() if len(data) > MAX_WHEEL_BYTES):
        raise EvidenceError(f"it has more than {MAX_WHEEL_BYTES} bytes", document=f"{layout.HARNESS}/{large}")
    document = f"{layout.HARNESS}/{name}"
    found = source_digest_of_wheel(kept[name], document)
    if found != pin.source_sha256:
        raise EvidenceError(f"its code is {found}, and the lock says {pin.source_sha256}", document=document)
    needed = sha256_digest(kept[REQUIREMENTS])
    if pin.requirements_sha256 not in {"", needed}:
        raise EvidenceError(
            f"its digest is {needed}, and the lock says {pin.requirements_sha256}",
            document=f"{layout.HARNESS}/{REQUIREMENTS}",
        )
    return HarnessFiles(pin, name, kept[name], kept[REQUIREMENTS])


def wheel_name(version: str) -> str:
    """What the file of the wheel of `version` is called.

    Raises:
        EvidenceError: no version looks like that.
    """
    if not _VERSION.fullmatch(version):
        raise EvidenceError(f"{version!r} is no version of this program", key="harness.version")
    return f"{NAME}-{version}-py3-none-any.whl"


def source_digest_of_wheel(wheel: bytes, document: str = "the wheel") -> Digest:
    """The digest of the package in `wheel`: that of `HarnessPin.source_sha256`; raises as `wheel_members` does."""
    members = wheel_members(wheel, document)
    return source_digest({name: data for name, data in members.items() if name.startswith(f"{PACKAGE}/")})


def wheel_members(wheel: bytes, document: str = "the wheel") -> dict[str, bytes]:
    """The files of `wheel` by path: the package's and those that describe it, and nothing else.

    Raises:
        EvidenceError: it isn't a wheel, or it holds anything that a wheel of ours doesn't.
    """
    if len(wheel) > MAX_WHEEL_BYTES or wheel.count(_LISTED) > _MOST_MEMBERS:
        # Every member costs some memory before any can be looked at.
        told = f"it has more than {MAX_WHEEL_BYTES} bytes or {_MOST_MEMBERS} members, as no wheel of ours"
        raise EvidenceError(told, document=document)
    try:
        with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
            return dict(_members(archive, document))
    except (zipfile.BadZipFile, ValueError, OSError, EOFError, NotImplementedError, RuntimeError) as error:
        raise EvidenceError(f"it is no wheel: {error}", document=document) from error


def _members(archive: zipfile.ZipFile, document: str) -> Iterator[tuple[str, bytes]]:
    listed = archive.infolist()
    packed = next((member.filename for member in listed if member.compress_type != zipfile.ZIP_STORED), None)
    if packed is not None:
        # What a packed member comes to shows only when it is unpacked, whatever is said of it.
        raise EvidenceError(f"it holds {packed!r} packed, and ours pack nothing", document=document)
    total = sum(member.file_size for member in listed)
    if total > MAX_WHEEL_BYTES:
        raise EvidenceError(f"it says that it holds {total} bytes, more than any code of ours", document=document)
    seen: set[str] = set()
    for member in listed:
        fault = _fault(member, seen)
        if fault:
            raise EvidenceError(f"it holds {member.filename!r}, {fault}", document=document)
        seen.add(member.filename)
        yield member.filename, archive.read(member)


def _fault(member: zipfile.ZipInfo, seen: Iterable[str]) -> str:
    """Why a wheel of ours has no such member; "" for nothing."""
    parts = member.filename.split("/")
    if any(part in {"", ".", ".."} or "\\" in part or not part.isprintable() for part in parts):
        return "which leads elsewhere"
    if member.filename in seen:
        return "and that twice"
    if (member.external_attr >> 16) & 0o170000 not in {0, 0o100000}:
        return "which is no regular file"
    if "__pycache__" in parts:
        return "which is compiled"
    is_info = len(parts) == 2 and parts[0].startswith(f"{NAME}-") and parts[0].endswith(".dist-info")
    return "" if is_info or (parts[0] == PACKAGE and len(parts) > 1) else "which is no part of the package"


def _metadata(installed: Installation) -> bytes:
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {NAME}",
        f"Version: {installed.version}",
        *([f"License-Expression: {installed.licence}"] if installed.licence else []),
        *([f"Requires-Python: {installed.requires_python}"] if installed.requires_python else []),
        *(f"Requires-Dist: {requirement}" for requirement in sorted(installed.requires)),
        *(f"Provides-Extra: {name}" for name in sorted(_extras(installed.requires))),
    ]
    return ("\n".join(lines) + "\n").encode()


def _extras(requires: Iterable[str]) -> set[str]:
    return {found[1] for line in requires if (found := re.search(r"extra\s*==\s*[\"']([^\"']+)", line))}


def _record(members: Mapping[str, bytes], itself: str) -> bytes:
    """As the binary distribution format has it: each file, its digest and its size."""
    rows = []
    for name, data in members.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{_quoted(name)},sha256={digest},{len(data)}\n")
    return "".join([*rows, f"{itself},,\n"]).encode()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if set(name) & set(',"') else name


def _zipped(members: Mapping[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            member = zipfile.ZipInfo(name, _TIME)
            member.create_system = _UNIX
            member.external_attr = _FILE_MODE << 16
            archive.writestr(member, data)
    return stream.getvalue()
