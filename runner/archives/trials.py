"""A trial's folder as one tar, whose bytes follow from its files alone; and such a tar, read without trust.

Regular files only. A header that isn't byte for byte the one that we write is refused, whatever it says: that leaves no
room for links, devices, owners, times or sizes of somebody else's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.archives.places import path_problems
from runner.core.errors import EvidenceError
from runner.images.tarball import end_of_archive, file_header, padding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import IO

_BLOCK: Final = 512
_PIECE_BYTES: Final = 1 << 20
_SIZE: Final = slice(124, 135)
_KIND: Final = slice(156, 157)
_LONGEST_RECORDS: Final = 4096
_HEADER_HINT: Final = "it is damaged, or another program made it"


@dataclass(frozen=True)
class Member:
    """A file of a tar: its path there, its size, and where its bytes begin."""

    path: str
    size: int
    start: int


def tar_size(files: Iterable[tuple[str, int]]) -> int:
    """How long the tar is that `tar_chunks` makes of files with these paths and sizes."""
    lengths = (len(file_header(path, size)) + size + len(padding(size)) for path, size in files)
    return sum(lengths) + len(end_of_archive())


def tar_chunks(files: Iterable[tuple[str, int]], read: Callable[[str], Iterable[bytes]]) -> Iterator[bytes]:
    """The tar of `files`, whose paths are sorted; `read` gives the bytes of one.

    Raises:
        EvidenceError: a file has another size by now.
    """
    for path, size in files:
        yield file_header(path, size)
        left = size
        for chunk in read(path):
            left -= len(chunk)
            if left < 0:
                break
            yield chunk
        if left:
            raise EvidenceError("it changes while it is archived", document=path, hint="wait until nobody writes to it")
        yield padding(size)
    yield end_of_archive()


def members(stream: IO[bytes], document: str) -> tuple[Member, ...]:
    """The files of the tar in `stream`, which stands at its beginning and ends where the tar does.

    Raises:
        EvidenceError: it isn't a tar that `tar_chunks` makes, or a path leaves its folder.
    """
    found: list[Member] = []
    while (header := stream.read(_BLOCK)) != bytes(_BLOCK):
        path, size = _member(header, stream, document)
        start = stream.tell()
        stream.seek(size, 1)
        if stream.read(-size % _BLOCK) != padding(size):
            raise EvidenceError("what follows it isn't empty", document=document, key=path)
        found.append(Member(path, size, start))
    if stream.read(_BLOCK + 1) != bytes(_BLOCK):
        raise EvidenceError("it doesn't end as a tar does", document=document, hint=_HEADER_HINT)
    paths = [member.path for member in found]
    if problems := tuple(path_problems(paths, document)):
        raise EvidenceError.of(problems)
    if paths != sorted(paths):
        raise EvidenceError("its files aren't sorted", document=document)
    return tuple(found)


def member_chunks(stream: IO[bytes], member: Member) -> Iterator[bytes]:
    """The bytes of `member` of the tar in `stream`."""
    stream.seek(member.start)
    left = member.size
    while left and (chunk := stream.read(min(left, _PIECE_BYTES))):
        left -= len(chunk)
        yield chunk


def _member(header: bytes, stream: IO[bytes], document: str) -> tuple[str, int]:
    written, name = header, ""
    if header[_KIND] == b"x":
        records_bytes = _size(header, document)
        if records_bytes > _LONGEST_RECORDS:
            raise EvidenceError("a path is too long", document=document)
        records = stream.read(records_bytes + -records_bytes % _BLOCK)
        header = stream.read(_BLOCK)
        written += records + header
        name = _record_path(records, document)
    try:
        path = name or header[:100].rstrip(b"\0").decode("utf-8")
    except UnicodeDecodeError as error:
        raise EvidenceError("a path isn't UTF-8", document=document) from error
    size = _size(header, document)
    if written != file_header(path, size):
        raise EvidenceError("its header isn't that of a regular file of ours", document=document, key=path)
    return path, size


def _size(header: bytes, document: str) -> int:
    digits = header[_SIZE]
    if len(header) != _BLOCK or not digits.isdigit() or digits.strip(b"01234567"):
        raise EvidenceError("a header is damaged, or missing", document=document, hint=_HEADER_HINT)
    return int(digits, 8)


def _record_path(records: bytes, document: str) -> str:
    # `<length> path=<path>\n`, the only record that we write.
    _, marker, rest = records.partition(b" path=")
    path, end, _ = rest.partition(b"\n")
    try:
        text = path.decode("utf-8")
    except UnicodeDecodeError as error:
        raise EvidenceError("a path isn't UTF-8", document=document) from error
    if not marker or not end or not text:
        raise EvidenceError("a header is damaged", document=document, hint=_HEADER_HINT)
    return text
