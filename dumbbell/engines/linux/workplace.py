"""Where kernels are built: one folder, one build at a time; trees kept for the next build."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from dumbbell.engines.linux.compile import Progress
from dumbbell.errors import EngineError

#: Beginning of the names of folders of builds that are over.
_LEFT = ".build-left-"
#: Folder of kept trees.
TREES = "trees"


@contextlib.contextmanager
def alone(root: Path, progress: Progress) -> Iterator[Path]:
    """An empty folder to build in; one build at a time. The folder is removed at the end.

    It has the same name in every build, so that paths inside the executable do not differ.
    """
    root.mkdir(parents=True, exist_ok=True)
    work = root / ".build"
    with (root / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("waiting for another build", 0.0)
            fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            remove(work)
            for left in root.glob(f"{_LEFT}*"):
                remove(left)
            work.mkdir()
            yield work
        finally:
            _remove_later(work)


@contextlib.contextmanager
def kept_tree(root: Path, base: str, tree: Path) -> Iterator[bool]:
    """Puts the kept tree of a base, if there is one, at `tree`; keeps what is there at the end.

    A build that is killed loses the tree: the next one unpacks the source again. One that fails
    before the tree was ready keeps nothing.

    Args:
        root: Folder of kernels.
        base: Hash of the kernel without modules.
        tree: Where it is built.

    Yields:
        True if the tree is there: unpacked, patched and configured.
    """
    place = root / TREES / base
    found = place.is_dir()
    if found:
        place.rename(tree)
    try:
        yield found
    finally:
        if (tree / ".dumbbell.ready").exists():
            place.parent.mkdir(exist_ok=True)
            remove(place)
            tree.rename(place)


def tree_is_ready(tree: Path) -> None:
    """Notes that a tree is unpacked, patched and configured."""
    (tree / ".dumbbell.ready").touch()


def _remove_later(folder: Path) -> None:
    """Removes a folder in a process of its own: on a slow disk 80 000 files take minutes.

    If that process is killed, the next build removes what is left.
    """
    with contextlib.suppress(FileNotFoundError):
        left = folder.rename(folder.with_name(f"{_LEFT}{os.getpid()}-{time.time_ns()}"))
        script = 'nice rm -rf "$1" > /dev/null 2>&1 < /dev/null &'
        subprocess.run(["sh", "-c", script, "sh", os.fspath(left)], check=False)


def remove(folder: Path) -> None:
    """Removes a folder; waits for the compilers of a build that was killed to stop writing."""
    for _ in range(40):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.25)
    raise EngineError(f"{folder}: cannot be removed")
