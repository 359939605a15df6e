"""Writes a directory as one archive, and lays such an archive out: a tar whose holes cost nothing.

The format is POSIX tar with GNU's sparse 1.0 members, so GNU tar and Python's `tarfile` read it too. Compression would
cost half a second for tens of megabytes of zeros and would make the bytes depend on the version of zlib. Names are
sorted, times are 0, the owner is the sidecar's: equal directories give equal archives.

The reader takes exactly what the writer makes and nothing else: no links, no devices, no absolute names, no `..`.
"""

from __future__ import annotations

import os

from sidecar.holes import data_extents, write_all
from sidecar.refusal import FatalError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

OWNER = 10003
UNIT = 512
DEPTH_LIMIT = 16
NAME_BYTES_LIMIT = 255
_END = bytes(2 * UNIT)
_HEADER_LIMIT = 64 * 1024
_MAP_LIMIT = 16 * 1024 * 1024


def write_tree(directory: str, out: BinaryIO) -> None:
    """Write everything below `directory` to `out`.

    Raises:
        FatalError: when something else than a directory or a file is there.
    """
    for number, (name, is_directory) in enumerate(_names(directory, "")):
        path = os.path.join(directory, name)
        if is_directory:
            _write_header(out, f"directory.{number}", b"5", 0, {"path": name})
        else:
            _write_file(out, path, name, number)
    out.write(_END)


def _names(root: str, prefix: str) -> Iterator[tuple[str, bool]]:
    for entry in sorted(os.scandir(os.path.join(root, prefix)), key=lambda entry: entry.name.encode()):
        name = f"{prefix}{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            yield name, True
            yield from _names(root, f"{name}/")
        elif entry.is_file(follow_symlinks=False):
            yield name, False
        else:
            raise FatalError(f"{entry.path}: neither a directory nor a file")


def _write_file(out: BinaryIO, path: str, name: str, number: int) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        size = os.fstat(descriptor).st_size
        extents = list(data_extents(descriptor, size))
    finally:
        os.close(descriptor)
    places = [(offset, len(data)) for offset, data in extents]
    if not places or sum(places[-1]) < size:
        places.append((size, 0))
    numbers = [len(places), *(number for place in places for number in place)]
    sparse_map = _padded("".join(f"{number}\n" for number in numbers).encode())
    stored = len(sparse_map) + sum(length for _, length in places)
    fields = {
        "GNU.sparse.major": "1",
        "GNU.sparse.minor": "0",
        "GNU.sparse.name": name,
        "GNU.sparse.realsize": str(size),
    }
    _write_header(out, f"GNUSparseFile.0/{number}", b"0", stored, fields)
    out.write(sparse_map)
    out.writelines(data for _, data in extents)
    out.write(bytes(-stored % UNIT))


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % UNIT)


def _write_header(out: BinaryIO, name: str, kind: bytes, size: int, fields: dict[str, str]) -> None:
    records = b"".join(_record(key, value) for key, value in sorted(fields.items()))
    out.write(_ustar("PaxHeaders/header", b"x", len(records)))
    out.write(_padded(records))
    out.write(_ustar(name, kind, size))


def _record(key: str, value: str) -> bytes:
    content = f" {key}={value}\n".encode()
    length = len(content)
    while len(str(length)) + len(content) != length:
        length = len(str(length)) + len(content)
    return str(length).encode() + content


def _ustar(name: str, kind: bytes, size: int) -> bytes:
    mode = b"0000755\0" if kind == b"5" else b"0000644\0"
    owner = f"{OWNER:07o}\0".encode()
    fields = (
        name.encode().ljust(100, b"\0"),
        mode,
        owner,
        owner,
        f"{size:011o}\0".encode(),
        b"00000000000\0",
        b" " * 8,
        kind,
        bytes(100),
        b"ustar\x0000",
        bytes(247),
    )
    block = b"".join(fields)
    checksum = f"{sum(block):06o}\0 ".encode()
    return block[:148] + checksum + block[156:]


def read_tree(source: BinaryIO, directory: str, bytes_limit: int) -> tuple[int, int]:
    """Lay the archive out below `directory`; return the number of files, and of the bytes that they seem to have.

    Raises:
        FatalError: when the archive isn't one of ours, is cut short, or has files of more than `bytes_limit` bytes.
    """
    files = apparent = 0
    known: set[str] = {""}
    while True:
        head = _exactly(source, UNIT)
        if head == bytes(UNIT):
            if _exactly(source, UNIT) != bytes(UNIT) or source.read(1):
                raise FatalError("the archive has something after its end")
            return files, apparent
        fields = _fields(source, _checked(head, b"x"))
        member = _exactly(source, UNIT)
        if member[156:157] == b"5":
            _checked(member, b"5")
            name = _new_name(fields, {"path"}, "path", known)
            os.mkdir(os.path.join(directory, name))
            os.chmod(os.path.join(directory, name), 0o755)  # noqa: S103  # the sidecar has another uid
            known.add(name)
            continue
        stored = _checked(member, b"0")
        keys = {"GNU.sparse.major", "GNU.sparse.minor", "GNU.sparse.name", "GNU.sparse.realsize"}
        name = _new_name(fields, keys, "GNU.sparse.name", known)
        size = _number(fields["GNU.sparse.realsize"])
        files, apparent = files + 1, apparent + size
        if apparent > bytes_limit:
            raise FatalError(f"{name}: the archive's files have more than {bytes_limit} bytes")
        _read_file(source, os.path.join(directory, name), size, stored)


def _exactly(source: BinaryIO, count: int) -> bytes:
    data = source.read(count)
    if len(data) != count:
        raise FatalError("the archive is cut short")
    return data


def _checked(header: bytes, kind: bytes) -> int:
    """Return the size that a header of the expected kind has."""
    sums = sum(header[:148]) + 8 * 32 + sum(header[156:])
    if header[156:157] != kind or header[257:265] != b"ustar\x0000" or header[148:156] != f"{sums:06o}\0 ".encode():
        raise FatalError(f"the archive has a member that isn't a file or directory of ours (type {header[156:157]!r})")
    digits = header[124:135]
    if header[135:136] != b"\0" or not set(digits) <= set(b"01234567"):
        raise FatalError("the archive has a member with a malformed size")
    return int(digits, 8)


def _fields(source: BinaryIO, length: int) -> dict[str, str]:
    if not 0 < length <= _HEADER_LIMIT:
        raise FatalError("the archive has a header of an impossible size")
    rest = _exactly(source, length + -length % UNIT)[:length]
    fields: dict[str, str] = {}
    while rest:
        digits, _, _ = rest.partition(b" ")
        size = _number(digits.decode("latin-1"))
        key, equals, value = rest[len(digits) + 1 : size].partition(b"=")
        if not equals or not value.endswith(b"\n") or size > len(rest):
            raise FatalError("the archive has a malformed header")
        try:
            fields[key.decode()] = value[:-1].decode()
        except UnicodeDecodeError:
            raise FatalError("the archive has a header that isn't UTF-8") from None
        rest = rest[size:]
    return fields


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise FatalError(f"the archive has a malformed number: {text[:40]!r}")
    return int(text)


def _new_name(fields: dict[str, str], keys: set[str], key: str, known: set[str]) -> str:
    """Return a member's name: relative, plain, below a directory that came before, and not there yet."""
    if set(fields) != keys or (fields.get("GNU.sparse.major", "1"), fields.get("GNU.sparse.minor", "0")) != ("1", "0"):
        raise FatalError(f"the archive has a member with other fields than ours: {sorted(fields)}")
    name = fields[key]
    parts = name.split("/")
    is_plain = all(part not in ("", ".", "..") and len(part.encode()) <= NAME_BYTES_LIMIT for part in parts)
    if not is_plain or len(parts) > DEPTH_LIMIT or any(ord(character) < 32 for character in name):
        raise FatalError(f"{name[:200]!r}: a name that an archive can't have")
    if "/".join(parts[:-1]) not in known:
        raise FatalError(f"{name[:200]!r}: its directory doesn't come before it")
    return name


def _read_file(source: BinaryIO, path: str, size: int, stored: int) -> None:
    places, used = _places(source, size, stored)
    if used + sum(length for _, length in places) != stored:
        raise FatalError(f"{path}: the archive's map and size of this file disagree")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    try:
        os.fchmod(descriptor, 0o644)
        for offset, length in places:
            done = 0
            while done < length:
                data = _exactly(source, min(1 << 20, length - done))
                write_all(descriptor, offset + done, data)
                done += len(data)
        os.ftruncate(descriptor, size)
    finally:
        os.close(descriptor)
    _exactly(source, -stored % UNIT)


def _places(source: BinaryIO, size: int, stored: int) -> tuple[list[tuple[int, int]], int]:
    """Return where a file has data, and how many bytes the map itself took."""
    text = b""
    wanted = 1
    while text.count(b"\n") < wanted:
        if len(text) >= min(stored, _MAP_LIMIT):
            raise FatalError("the archive has a file with a malformed map")
        text += _exactly(source, UNIT)
        if wanted == 1 and b"\n" in text:
            wanted += 2 * _number(text.partition(b"\n")[0].decode("latin-1"))
    numbers = [_number(digits.decode("latin-1")) for digits in text.split(b"\n")[1:wanted]]
    places = list(zip(numbers[::2], numbers[1::2], strict=True))
    end = 0
    for offset, length in places:
        if offset < end or offset + length > size:
            raise FatalError("the archive has a file with an impossible map")
        end = offset + length
    return places, len(text)
