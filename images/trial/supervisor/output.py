"""What did the client write? Its two streams, unchanged, up to a limit."""

from __future__ import annotations

import fcntl
import os

CHUNK_BYTES = 64 * 1024
# The most that anyone may ask for (/proc/sys/fs/pipe-max-size by default): a client should not wait for us.
_PIPE_BYTES = 1024 * 1024
_PIPE_MODE = 0o622


class CappedStream:
    """A pipe of the client's whose bytes end up in a file that can't grow beyond its limit."""

    def __init__(self, path: str, limit_bytes: int) -> None:
        """The file exists and is empty; the pipe's writing end, `write_fd`, is for the client."""
        self.limit_bytes = limit_bytes
        self.kept_bytes = 0
        self.truncated = False
        self.failure = ""
        self.open = True
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        self._file_fd = os.open(path, flags, 0o600)
        self.read_fd, self.write_fd = os.pipe()
        os.set_blocking(self.read_fd, False)
        # Programs open /dev/stdout and /dev/stderr anew: another uid may, for writing. Nobody may for reading.
        os.fchmod(self.write_fd, _PIPE_MODE)
        try:
            fcntl.fcntl(self.write_fd, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        except OSError:
            return  # the default size serves too

    def close_client_end(self) -> None:
        """Only the client and its descendants hold the writing end from now on."""
        os.close(self.write_fd)

    def pump(self) -> None:
        """One chunk went from the pipe to the file, if there was one; at the end of the stream `open` is false."""
        try:
            data = os.read(self.read_fd, CHUNK_BYTES)
        except BlockingIOError:
            return
        if data:
            self._keep(data)
        else:
            self.open = False

    def _keep(self, data: bytes) -> None:
        room = self.limit_bytes - self.kept_bytes
        if len(data) > room:
            self.truncated = True
        left = memoryview(data)[: max(room, 0)]
        while left and not self.failure:
            try:
                written = os.write(self._file_fd, left)
            except OSError as error:
                # The evidence volume is full: what isn't there any more must not look complete.
                self.truncated = True
                self.failure = f"{error.strerror} after {self.kept_bytes} bytes"
                return
            self.kept_bytes += written
            left = left[written:]

    def close(self) -> None:
        """The file is on its disk, and both descriptors are closed."""
        os.fsync(self._file_fd)
        os.close(self._file_fd)
        os.close(self.read_fd)
        self.open = False
