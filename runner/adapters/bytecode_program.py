"""Compiles Python sources from standard input to standard output, as a program for the interpreter of an image.

The runner never imports it. Both streams are frames of a path and frames of data in turn, each its length (8 bytes,
big-endian) and its bytes; nothing is read from or written to a file system, and what is compiled is not run. The bytes
that come out follow from a source, its path and the interpreter alone:

* the file header says "unchecked hash" (PEP 552), so neither a file's time nor its presence counts when it is imported;
* version 2 of the marshal format has no references between objects; later ones write them by reference count, which
  depends on whatever else the compiling process holds.
"""

import _imp
import marshal
import sys
from importlib.util import MAGIC_NUMBER, cache_from_source

_UNCHECKED_HASH = 0b01
_MARSHAL_VERSION = 2


def _read() -> bytes | None:
    prefix = sys.stdin.buffer.read(8)
    return sys.stdin.buffer.read(int.from_bytes(prefix, "big")) if prefix else None


def _write(data: bytes) -> None:
    sys.stdout.buffer.write(len(data).to_bytes(8, "big") + data)


def _compiled(path: str, source: bytes) -> bytes | None:
    try:
        code = compile(source, path, "exec", dont_inherit=True, optimize=0)
    except (SyntaxError, ValueError):
        return None
    key = int.from_bytes(MAGIC_NUMBER, "little")
    header = MAGIC_NUMBER + _UNCHECKED_HASH.to_bytes(4, "little") + _imp.source_hash(key, source)
    return header + marshal.dumps(code, _MARSHAL_VERSION)


def main() -> None:
    """Every source that came was answered, compiled or left out."""
    while (name := _read()) is not None:
        source_path = name.decode()
        compiled = _compiled(source_path, _read() or b"")
        if compiled is not None:
            _write(cache_from_source(source_path, optimization="").encode())
            _write(compiled)


if __name__ == "__main__":
    main()
