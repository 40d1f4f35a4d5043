"""Journal: an append-only file of finished runs. Complete entries survive the death of the writer.

A frame is a 16-byte head (magic, CRC-32 of the body, length of the body) and the body: the length
of a JSON header, the header, and blobs with their lengths in the header. The writer holds a lock
on the file. A file without a living writer belongs to the next process that locks it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import struct
import uuid
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dumbbell.files.whole import sync_path, write_all

_HEAD = struct.Struct("<4sIQ")
_LENGTH = struct.Struct("<I")
_MAGIC = b"DBJ1"


@dataclass(frozen=True, slots=True)
class Entry:
    """Finished run.

    Attributes:
        fields: Everything except tables: run, seed, engine, digest and so on.
        tables: Small tables as Arrow IPC streams, by name.
    """

    fields: Mapping[str, Any]
    tables: Mapping[str, bytes] = field(default_factory=dict)


def encode(entry: Entry) -> bytes:
    """Frame of an entry."""
    lengths = [[name, len(data)] for name, data in entry.tables.items()]
    header = json.dumps({"fields": dict(entry.fields), "tables": lengths}).encode()
    body = b"".join([_LENGTH.pack(len(header)), header, *entry.tables.values()])
    return _HEAD.pack(_MAGIC, zlib.crc32(body), len(body)) + body


def decode(data: bytes) -> Iterator[tuple[Entry, int]]:
    """Entries of a file with the offset after each. Stops at the first incomplete frame."""
    at = 0
    while at + _HEAD.size <= len(data):
        magic, checksum, length = _HEAD.unpack_from(data, at)
        begin = at + _HEAD.size
        body = data[begin : begin + length]
        if magic != _MAGIC or len(body) != length or zlib.crc32(body) != checksum:
            return
        at = begin + length
        (header_length,) = _LENGTH.unpack_from(body)
        position = _LENGTH.size + header_length
        header = json.loads(body[_LENGTH.size : position])
        tables = {}
        for name, size in header["tables"]:
            tables[name] = body[position : position + size]
            position += size
        yield Entry(header["fields"], tables), at


def read(path: Path) -> list[Entry]:
    """All complete entries of a file; none if the file is gone."""
    return read_whole(path)[0]


def read_whole(path: Path) -> tuple[list[Entry], int]:
    """All complete entries of a file, and the number of bytes after the last entry."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return [], 0
    entries, end = [], 0
    for entry, at in decode(data):
        entries.append(entry)
        end = at
    return entries, len(data) - end


class Journal:
    """Writer of one file.

    Any method raises `OSError` for an error of the disk. Earlier entries survive it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._file = os.open(path, flags, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(os.fstat(self._file), path.stat()):
                raise BlockingIOError(f"{path} was replaced")
        except OSError:
            os.close(self._file)
            raise
        self._size = os.fstat(self._file).st_size
        self._dirty = False

    @property
    def owner(self) -> str:
        """Name of the writer. Its unfinished files are abandoned once the lock is free."""
        return self.path.stem

    @classmethod
    def create(cls, folder: Path) -> Journal:
        """Creates a journal.

        Another process may adopt the empty file before it is locked; then a new one is created.
        """
        while True:
            path = folder / f"{os.getpid()}-{uuid.uuid4().hex[:8]}.log"
            with contextlib.suppress(BlockingIOError):
                try:
                    made = cls(path)
                    sync_path(folder)
                    return made
                except FileNotFoundError:
                    if not folder.is_dir():
                        raise

    @classmethod
    def adopt(cls, path: Path) -> Journal | None:
        """Journal of a dead writer; None: the writer lives, or the journal is gone."""
        if not path.exists():
            return None
        try:
            return cls(path)
        except (BlockingIOError, FileNotFoundError):
            return None

    def append(self, entry: Entry) -> None:
        """Adds an entry. It survives the process now, and a power failure after `sync`."""
        data = encode(entry)
        try:
            write_all(self._file, data)
        except BaseException:
            os.ftruncate(self._file, self._size)
            raise
        self._size += len(data)
        self._dirty = True

    def sync(self) -> None:
        """Flushes all entries to the disk."""
        if self._dirty:
            os.fsync(self._file)
            self._dirty = False

    def remove(self) -> None:
        """Deletes the file. Its entries must be in a segment."""
        self.path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Releases the lock."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
