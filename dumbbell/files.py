"""Writing files so that they are there as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def write_file(path: Path, data: bytes, *, sync: bool) -> None:
    """Writes a file as a whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as stream:
            stream.write(data)
            if sync:
                stream.flush()
                os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    if sync:
        sync_path(path.parent)


def sync_path(path: Path) -> None:
    """Makes a file or folder survive a power failure."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
