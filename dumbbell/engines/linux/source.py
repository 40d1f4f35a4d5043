"""Source of a kernel: a tree of the user's, or an archive of Debian's (`debian.py`)."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from dumbbell.codes import Code
from dumbbell.errors import EngineError

_NEEDED = (
    "Makefile",
    "Kconfig",
    "scripts/kconfig/merge_config.sh",
    "arch/um/Kconfig",
    "arch/um/os-Linux/util.c",
    "drivers/char/random.c",
)
_PRODUCTS = (".o", ".a", ".ko", ".so", ".mod", ".order", ".symvers")
_PRODUCTS_AT_TOP = ("linux", "vmlinux", "System.map", "modules.builtin", "modules.builtin.modinfo")
_GENERATED = re.compile(r"include/(config|generated)|arch/[^/]+/include/generated")


class Source(Protocol):
    """Something that a kernel can be built from."""

    @property
    def label(self) -> str:
        """Name for people."""

    @property
    def identity(self) -> str:
        """Differs whenever the source does."""

    @property
    def partial(self) -> bool:
        """Can be unpacked without what User-Mode Linux does not compile."""

    def unpack(self, folder: Path, log: Path, *, whole: bool) -> None:
        """Puts the source into the new folder `folder`.

        Args:
            folder: Where to.
            log: Where everything is written that programs say.
            whole: Also what User-Mode Linux does not compile.

        Raises:
            EngineError: It cannot be obtained.
        """


class Tree:
    """A folder of the user's. It is read, never written.

    Raises:
        EngineError: It is no kernel tree.
    """

    partial = False

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()
        self.label = str(self._path)
        if not path.is_dir():
            raise EngineError(f"{path}: no such folder", code=Code.KERNEL_SOURCE)
        missing = [name for name in _NEEDED if not (path / name).is_file()]
        if missing:
            absent = ", no ".join(missing)
            raise EngineError(
                f"{path}: no source of Linux 5.19 or later: no {absent}", code=Code.KERNEL_SOURCE
            )
        self._files = sorted(_files(os.fspath(self._path)))
        hashed = hashlib.sha256()
        for name, size, changed_ns in self._files:
            hashed.update(f"{name}\0{size}\0{changed_ns}\n".encode(errors="surrogateescape"))
        self.identity = f"tree {hashed.hexdigest()}"

    def unpack(self, folder: Path, log: Path, *, whole: bool) -> None:
        """See :class:`Source`; always whole, since somebody may have changed any part of it."""
        del log, whole
        made: set[Path] = set()
        for name, _, _ in self._files:
            target = folder / name
            if target.parent not in made:
                target.parent.mkdir(parents=True, exist_ok=True)
                made.add(target.parent)
            shutil.copy2(self._path / name, target, follow_symlinks=False)
            if not target.is_symlink():
                target.chmod(target.stat().st_mode | 0o200)  # patches change it


def _files(top: str, below: str = "") -> Iterator[tuple[str, int, int]]:
    """Path, size and time of change (ns) of each file that is neither hidden nor built."""
    with os.scandir(os.path.join(top, below)) as entries:  # noqa: PTH118 (80 000 files)
        for entry in entries:
            if entry.name.startswith("."):
                continue
            name = f"{below}/{entry.name}" if below else entry.name
            if entry.is_dir(follow_symlinks=False):
                if not _GENERATED.fullmatch(name):
                    yield from _files(top, name)
            elif not entry.name.endswith(_PRODUCTS) and name not in _PRODUCTS_AT_TOP:
                about = entry.stat(follow_symlinks=False)
                yield name, about.st_size, about.st_mtime_ns
