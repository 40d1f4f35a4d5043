"""Temporary stores: removed with their process, or collected later."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from dumbbell.store.files import is_locked, listed, remove
from dumbbell.store.place import is_store
from dumbbell.store.store import Store

_PREFIX = "dumbbell-"
#: Names of our folders, as `tempfile` makes them.
_NAME = re.compile(r"dumbbell-[a-z0-9_]{8}")


@contextlib.contextmanager
def temporary_store() -> Iterator[Store]:
    """Context with a store for one experiment. Removes the stores of killed processes first."""
    for old in forgotten():
        remove(old)
    with (
        tempfile.TemporaryDirectory(prefix=_PREFIX) as folder,
        Store(Path(folder), write=True) as store,
    ):
        yield store


def forgotten() -> list[Path]:
    """Temporary stores of dead processes: no journal in them is locked.

    An empty folder is left out: its process may be about to fill it.
    """
    found = []
    with contextlib.suppress(OSError):
        for path in listed(Path(tempfile.gettempdir()), f"{_PREFIX}*"):
            with contextlib.suppress(OSError):
                if _NAME.fullmatch(path.name) and _is_forgotten(path):
                    found.append(path)
    return found


def _is_forgotten(path: Path) -> bool:
    ours = path.is_dir() and not path.is_symlink() and path.stat().st_uid == os.geteuid()
    if not (ours and is_store(path) and (path / "journal").is_dir()):
        return False
    journals = list(listed(path / "journal", "*.log"))
    return bool(journals) and not any(map(is_locked, journals))
