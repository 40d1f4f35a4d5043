"""Libraries that a program of this machine is linked with, without running it (ELF, 64 bit)."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

#: Little-endian ELF of 64 bit.
_MAGIC = b"\x7fELF\x02\x01"
_HEADER = struct.Struct("<16x8xQQ8x6x2H6x")
_SEGMENT = struct.Struct("<2I5Q8x")
_ENTRY = struct.Struct("<2Q")
#: Types of segments, and tags of the dynamic one (System V ABI, chapter 5).
_LOAD, _DYNAMIC, _INTERPRETER = 1, 2, 3
_END, _NEEDED, _STRINGS, _RPATH, _RUNPATH = 0, 1, 5, 15, 29
#: Libraries of one file, at most.
_MOST = 500
_FOLDERS = ("/lib", "/usr/lib", "/lib64", "/usr/lib64")


@dataclass(frozen=True, slots=True)
class Linked:
    """Libraries that a file needs.

    Attributes:
        loader: Path of the program that loads it; empty: none.
        names: Libraries that it needs, as `libc.so.6`.
        folders: Folders in which they are looked up first; `$ORIGIN` is the file's own.
    """

    loader: str = ""
    names: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


def linked(data: bytes) -> Linked:
    """Libraries of a file; none if it is no ELF file, or a damaged one."""
    if not data.startswith(_MAGIC):
        return Linked()
    try:
        return _linked(data)
    except (struct.error, ValueError, OverflowError):
        return Linked()


def _linked(data: bytes) -> Linked:
    _, start, size, count = _HEADER.unpack_from(data)
    segments = [_SEGMENT.unpack_from(data, start + size * n) for n in range(count)]
    loads = [
        (at, offset, length) for kind, _, offset, at, _, length, _ in segments if kind == _LOAD
    ]
    loader = ""
    entries: list[tuple[int, int]] = []
    for kind, _, offset, _, _, length, _ in segments:
        if kind == _INTERPRETER:
            loader = _text(data, offset)
        elif kind == _DYNAMIC:
            entries = list(_entries(data[offset : offset + length]))
    strings = next((value for tag, value in entries if tag == _STRINGS), None)
    if strings is None:
        return Linked(loader)
    tables = [offset + strings - at for at, offset, n in loads if at <= strings < at + n]
    if not tables:
        return Linked(loader)
    (table, *_) = tables
    of = [(tag, _text(data, table + value)) for tag, value in entries if tag in _NAMING]
    folders = [one for tag, text in of if tag != _NEEDED for one in text.split(":") if one]
    return Linked(loader, tuple(text for tag, text in of if tag == _NEEDED)[:_MOST], tuple(folders))


_NAMING = (_NEEDED, _RPATH, _RUNPATH)


def _entries(dynamic: bytes) -> Iterator[tuple[int, int]]:
    """Tags and values of the dynamic segment."""
    whole = len(dynamic) // _ENTRY.size * _ENTRY.size
    for tag, value in _ENTRY.iter_unpack(dynamic[:whole]):
        if tag == _END:
            return
        yield tag, value


def _text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode(errors="surrogateescape")


def library(name: str, folders: Sequence[str], origin: Path) -> Path | None:
    """Path of a library; None if it is not here.

    Args:
        name: Its name, or a path.
        folders: Folders of the file that needs it, and of `LD_LIBRARY_PATH`.
        origin: Folder of the file that needs it.
    """
    if "/" in name:
        return Path(name)
    for folder in folders:
        own = folder.replace("${ORIGIN}", str(origin)).replace("$ORIGIN", str(origin))
        if (path := Path(own) / name).is_file():
            return path
    if name in (known := _known_libraries()):
        return Path(known[name])
    found = (Path(folder) / name for folder in _FOLDERS)
    return next((path for path in found if path.is_file()), None)


@lru_cache(maxsize=1)
def _known_libraries() -> dict[str, str]:
    """Name → path of the libraries in the loader's cache (`/etc/ld.so.cache`)."""
    try:
        done = subprocess.run(
            ["/sbin/ldconfig", "-p"], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    found: dict[str, str] = {}
    for line in done.stdout.splitlines():
        name, _, path = line.strip().partition(" => ")
        name, _, kind = name.partition(" ")
        if "x86-64" in kind:
            found.setdefault(name, path)
    return found
