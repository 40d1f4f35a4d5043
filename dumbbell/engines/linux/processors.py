"""One processor per guest, also among several programs that run guests."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def one_processor() -> Iterator[str]:
    """The number of a processor that no other guest of this user is bound to; `-` if none is left.

    Held by a lock on a file, which ends with the process that holds it.
    """
    folder = Path(tempfile.gettempdir()) / f"dumbbell-{os.getuid()}"
    with contextlib.ExitStack() as held:
        yield _taken(folder, held)


def _taken(folder: Path, held: contextlib.ExitStack) -> str:
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        for cpu in sorted(os.sched_getaffinity(0)):
            flags = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(folder / f"processor-{cpu}", flags, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
            else:
                held.callback(os.close, descriptor)
                return str(cpu)
    except OSError:
        pass  # A folder that cannot be had costs speed alone.
    return "-"
