"""Files of a store: atomic writes, and checksums that detect damage."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dumbbell.files.whole import TEMPORARY

DIGEST_BYTES = 16
#: Bytes that are read at once.
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class FileMark:
    """Length and checksum (BLAKE2b, 128 bits) of a file."""

    size: int
    hash: str


def mark_of(data: bytes) -> FileMark:
    """Mark of a file with the contents `data`."""
    return FileMark(len(data), hashlib.blake2b(data, digest_size=DIGEST_BYTES).hexdigest())


def problem(path: str | Path, mark: FileMark) -> str | None:
    """Damage of a file; None: length and checksum match. Reads the file in blocks."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            size = os.fstat(handle).st_size
            if size != mark.size:
                return f"{size} bytes long, was written with {mark.size}"
            hashed = hashlib.blake2b(digest_size=DIGEST_BYTES)
            while block := os.read(handle, _BLOCK):
                hashed.update(block)
        finally:
            os.close(handle)
    except FileNotFoundError:
        return "missing"
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    same = hashed.hexdigest() == mark.hash
    return None if same else "altered: its checksum is not the one recorded"


def is_temporary(name: str) -> bool:
    """Returns true if a name belongs to an unfinished file or folder."""
    return name.startswith(".") and name.endswith(TEMPORARY)


def owner_of(name: str) -> str:
    """Writer in the name of an unfinished file."""
    return name.removesuffix(TEMPORARY).rpartition(".")[2]


def remove(path: Path) -> None:
    """Removes a file or folder. No error if it is already gone."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def size_of(path: Path) -> int:
    """Size in bytes of a file, or of all files below a folder."""
    try:
        if not path.is_dir() or path.is_symlink():
            return path.lstat().st_size
        return sum(one.lstat().st_size for one in path.rglob("*") if one.is_file())
    except FileNotFoundError:
        return 0


def is_locked(path: Path) -> bool:
    """Returns true if a living process holds the lock of a journal."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Context of one process at a time, where the file system has locks."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def listed(folder: Path, pattern: str = "*") -> Iterator[Path]:
    """Sorted entries of a folder, including hidden ones; none if the folder is missing."""
    with contextlib.suppress(FileNotFoundError):
        yield from sorted(path for path in folder.iterdir() if path.match(pattern))


def is_refused(error: OSError) -> bool:
    """Returns true for a lack of permission or a read-only file system."""
    return error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
