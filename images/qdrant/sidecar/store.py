"""The collections of a storage directory: opened, created, deleted, closed.

The layout is `collections/<name>/`, the same in an index. One lock covers everything that writes.
"""

from __future__ import annotations

import os
import threading

from sidecar.collection import META, Collection
from sidecar.refusal import FatalError, Refused, not_found, wrong_input

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sidecar.creation import Creation

COLLECTIONS = "collections"
NAME_BYTES_LIMIT = 255
# Qdrant's own rule; the two names of directories, which it would refuse as well, are added.
_FORBIDDEN = frozenset('<>:"/\\|?*') | {chr(code) for code in range(32)} | {"\x7f"}


def check_name(name: str) -> None:
    """Accept a name that a collection may have.

    Raises:
        Refused: with 422, for one that is empty, too long, or could be taken for a path.
    """
    if not name or len(name.encode("utf-8", "replace")) > NAME_BYTES_LIMIT:
        raise Refused(422, f"Validation error: a collection name has from 1 to {NAME_BYTES_LIMIT} bytes")
    found = sorted(set(name) & _FORBIDDEN)
    if found:
        raise Refused(422, f"Validation error: a collection name can't contain {found[0]!r}")
    if name.startswith("."):
        raise Refused(422, "Validation error: a collection name can't start with a dot")


def remove_tree(path: str) -> None:
    """Remove a directory and all that it holds; links in it are removed, not followed."""
    for parent, directories, files in os.walk(path, topdown=False):
        for name in files:
            os.unlink(os.path.join(parent, name))
        for name in directories:
            child = os.path.join(parent, name)
            if os.path.islink(child):
                os.unlink(child)
            else:
                os.rmdir(child)
    os.rmdir(path)


class Store:
    """The open collections."""

    def __init__(self, root: str) -> None:
        """Hold the storage directory; nothing is opened yet."""
        self.root = os.path.join(root, COLLECTIONS)
        self.writing = threading.RLock()
        self._open: dict[str, Collection] = {}

    def load(self) -> None:
        """Open every collection on disk; what a creation left unfinished is removed.

        Raises:
            FatalError: when one can't be opened.
        """
        os.makedirs(self.root, exist_ok=True)
        for name in sorted(os.listdir(self.root)):
            directory = os.path.join(self.root, name)
            if not os.path.isfile(os.path.join(directory, META)):
                remove_tree(directory)
                continue
            try:
                check_name(name)
            except Refused as error:
                raise FatalError(f"{directory}: {error.message}") from error
            self._open[name] = Collection.load(directory)

    def names(self) -> list[str]:
        """Return the names of the collections, in order."""
        return sorted(self._open)

    def points_count(self) -> int:
        """Return the number of points in all collections."""
        return sum(collection.points_count() for collection in list(self._open.values()))

    def has(self, name: str) -> bool:
        """Tell whether a collection exists."""
        return name in self._open

    def collection(self, name: str) -> Collection:
        """Return a collection.

        Raises:
            Refused: with 404, when it doesn't exist.
        """
        collection = self._open.get(name)
        if collection is None:
            raise not_found(f"Collection `{name[:NAME_BYTES_LIMIT]}` doesn't exist!")
        return collection

    def create(self, name: str, creation: Creation) -> None:
        """Create a collection.

        Raises:
            Refused: with 409 when it exists, 422 for a name that it may not have, 400 when the engine refuses.
        """
        check_name(name)
        with self.writing:
            if name in self._open:
                raise Refused(409, f"Wrong input: Collection `{name}` already exists!")
            directory = os.path.join(self.root, name)
            try:
                self._open[name] = Collection.create(directory, creation)
            except (ValueError, TypeError) as error:
                remove_tree(directory)
                raise wrong_input(str(error).split("\n", 1)[0]) from error

    def delete(self, name: str) -> bool:
        """Delete a collection; tell whether there was one."""
        with self.writing:
            collection = self._open.pop(name, None)
            if collection is None:
                return False
            collection.shard.close()
            os.unlink(os.path.join(collection.directory, META))
            remove_tree(collection.directory)
            return True

    def stop(self) -> None:
        """Let a request that writes end at its next point, and refuse every later one."""
        for collection in self._open.values():
            collection.stopping = True

    def close(self) -> None:
        """Put every collection on disk and give its files back; a request that writes ends at its next point."""
        self.stop()
        with self.writing:
            while self._open:
                self._open.popitem()[1].close()
