"""Reading files that a user names: regular files alone, of a bounded size."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

_KINDS = (
    (stat.S_ISDIR, "Is a directory"),
    (stat.S_ISFIFO, "a named pipe, not a file"),
    (stat.S_ISSOCK, "a socket, not a file"),
    (stat.S_ISCHR, "a device, not a file"),
    (stat.S_ISBLK, "a device, not a file"),
)


class TooLargeError(OSError):
    """A file larger than is read; `size` in bytes."""

    def __init__(self, size: int, most_bytes: int) -> None:
        super().__init__(errno.EFBIG, f"larger than {most_bytes} bytes")
        self.size = size


def read_file(path: Path, most_bytes: int) -> bytes:
    """The content of a file. What would block (a pipe without a writer) is refused at once.

    Raises:
        TooLargeError: It holds more than `most_bytes`.
        OSError: It cannot be read, or is no regular file.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except ValueError as error:  # a NUL in the name
        raise OSError(errno.EINVAL, str(error)) from None
    with os.fdopen(handle, "rb", closefd=True) as stream:
        return _read(stream.fileno(), most_bytes)


def _read(handle: int, most_bytes: int) -> bytes:
    found = os.fstat(handle)
    for is_kind, words in _KINDS:
        if is_kind(found.st_mode):
            raise OSError(errno.EINVAL, words)
    if found.st_size > most_bytes:
        raise TooLargeError(found.st_size, most_bytes)
    parts, left = [], most_bytes + 1
    while left > 0 and (part := os.read(handle, left)):
        parts.append(part)
        left -= len(part)
    if left <= 0:  # a file of the kernel's, whose size is not told
        raise TooLargeError(most_bytes + 1, most_bytes)
    return b"".join(parts)
