"""Takes more memory than there is, and more room than HOME and /tmp have."""

import os
import sys

MIB = 1 << 20


def hog() -> None:
    """The client takes memory until the kernel ends it."""
    held = []
    while True:
        held.append(b"x" * MIB)


def hog_in_a_child() -> None:
    """A child takes memory until the kernel ends it, and the client ends as if nothing had happened."""
    child = os.fork()
    if child == 0:
        hog()
    _, status = os.waitpid(child, 0)
    print(f"the child ended with signal {os.WTERMSIG(status)}")


def _fill(folder: str) -> None:
    block = b"x" * MIB
    with open(os.path.join(folder, "full"), "wb", buffering=0) as file:
        try:
            while file.write(block):
                pass
            while file.write(block[:1]):
                pass
        except OSError as error:
            print(f"{folder}: {error.strerror}", flush=True)


def fill_home() -> None:
    """HOME is filled to its last byte, and the client says that all is well."""
    _fill("/home/agent")


def fill_tmp() -> int:
    """The same in /tmp, and the client gives up because of it."""
    _fill("/tmp")
    sys.stderr.write("no space left\n")
    return 1


def fill_and_tidy() -> None:
    """HOME is filled and emptied again: nothing is amiss when the client ends."""
    _fill("/home/agent")
    os.unlink("/home/agent/full")


def fill_all() -> None:
    """HOME and /tmp are filled, and then memory: the kernel ends the client."""
    _fill("/home/agent")
    _fill("/tmp")
    hog()


def many_files() -> None:
    """HOME is filled with empty files: each takes memory of the kernel's, and none takes room."""
    number = 0
    while True:
        try:
            os.close(os.open(f"/home/agent/{number}", os.O_CREAT | os.O_WRONLY))
        except OSError as error:
            print(error.strerror)
            return
        number += 1
