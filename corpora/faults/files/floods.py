"""Writes, asks and connects without end."""

import contextlib
import os
import socket

import asking

OUTPUT_BYTES = 5 * (1 << 30)
_PIECE = b"x" * (1 << 20)


def output() -> None:
    """Five gigabytes on standard output."""
    for _ in range(OUTPUT_BYTES // len(_PIECE)):
        os.write(1, _PIECE)


def errors() -> None:
    """The same on standard error."""
    for _ in range(OUTPUT_BYTES // len(_PIECE)):
        os.write(2, _PIECE)


def binary() -> None:
    """Bytes that are no text, and a last line without an end."""
    os.write(1, bytes(range(256)) * 64 + b'\n{"type":')


def requests() -> None:
    """More model requests than the study allows, whatever the gateway says."""
    for number in range(40):
        asking.request(f"Question {number}")


def record() -> None:
    """Long requests, until the gateway may record no more."""
    for number in range(8):
        asking.request(f"{number} " + "word " * 100_000)


def gateway() -> None:
    """Connections that are opened and left, and bytes that aren't HTTP; then one honest question."""
    held = []
    for number in range(200):
        with contextlib.suppress(OSError):
            connection = socket.create_connection(("127.0.0.1", 8787), timeout=0.2)
            if number % 2:
                connection.sendall(b"\x00\xff not http at all \r\n\r\n")
            held.append(connection)
    for connection in held:
        connection.close()
    status, _ = asking.request("Do you still answer?")
    print(f"status {status}")


def sidecar() -> None:
    """A body that takes thirty times its size to read, beside one that is held while it comes: more than there is."""
    body = b"[" + b'{"":0},' * 4_750_000 + b"0]"
    head = b"PUT /collections/memory/points HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    head += b"content-length: %d\r\n\r\n" % len(body)
    held = []
    try:
        for part in (body[:-1], body):
            connection = socket.create_connection(("127.0.0.1", 6333), timeout=10)
            held.append(connection)
            connection.sendall(head + part)
        held[-1].recv(1000)
    except ConnectionRefusedError:
        print("out of reach")
    except OSError as error:
        print(f"broke: {error}")
