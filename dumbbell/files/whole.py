"""Writing files so that they are there as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

#: How the names of files end that never got their own.
TEMPORARY = ".tmp"


def write_file(path: Path, data: bytes, *, sync: bool, owner: str = "") -> None:
    """Writes a file as a whole or not at all.

    What a crash leaves of it names its writer: `owner`, or this process.
    """
    temporary = temporary_of(path, owner or str(os.getpid()))
    try:
        write_plain(temporary, data, sync=sync)
        temporary.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    if sync:
        sync_path(path.parent)


def write_all(handle: int, data: bytes) -> None:
    """Writes all of `data` to an open file."""
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def write_plain(path: Path, data: bytes, *, sync: bool) -> None:
    """Writes a file in place: for what counts only once something else names it."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    try:
        write_all(handle, data)
        if sync:
            os.fsync(handle)
    finally:
        os.close(handle)


def temporary_of(path: Path, owner: str) -> Path:
    """Temporary place of a file or folder before it gets its name."""
    return path.with_name(f".{path.name}.{owner}{TEMPORARY}")


def sync_path(path: Path) -> None:
    """Makes a file or folder survive a power failure."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
