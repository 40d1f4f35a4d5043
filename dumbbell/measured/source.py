"""Bytes of a file, also compressed, of a bounded size."""

from __future__ import annotations

import bz2
import zlib
from pathlib import Path

from dumbbell.files.input import TooLargeError, read_file
from dumbbell.measured.values import MeasuredError

#: Largest file, and largest content of a compressed file.
MOST_BYTES = 64 << 20
_STEP = 1 << 20


def read_source(path: Path) -> bytes:
    """Content of a file. Raises `MeasuredError` without its name."""
    try:
        return read_file(path, MOST_BYTES)
    except TooLargeError:
        raise MeasuredError("", f"larger than {MOST_BYTES >> 20} MiB") from None
    except OSError as error:
        raise MeasuredError("", error.strerror or str(error)) from None


def unpacked(data: bytes) -> bytes:
    """Content of gzip or bzip2; other data as they are. Raises `MeasuredError`."""
    if data.startswith(b"\x1f\x8b"):
        return _gzip(data)
    if data.startswith(b"BZh"):
        return _bzip2(data)
    return data


def _gzip(data: bytes) -> bytes:
    whole = bytearray()
    while data:  # a file may have several members
        one = zlib.decompressobj(wbits=31)
        try:
            while not one.eof:
                part = one.decompress(data, _STEP)
                data = one.unconsumed_tail
                whole += part
                _bounded(whole)
                if not part and not data and not one.eof:
                    raise MeasuredError(f"byte {len(whole)} of its content", "gzip is cut off")
        except zlib.error as error:
            raise MeasuredError(f"byte {len(whole)} of its content", f"gzip: {error}") from None
        data = one.unused_data.lstrip(b"\0")
        if data and not data.startswith(b"\x1f\x8b"):
            raise MeasuredError(f"byte {len(whole)} of its content", "something behind the gzip")
    return bytes(whole)


def _bzip2(data: bytes) -> bytes:
    whole, one = bytearray(), bz2.BZ2Decompressor()
    try:
        while not one.eof:
            part = one.decompress(data, _STEP)
            data = b""
            whole += part
            _bounded(whole)
            if not part and one.needs_input:
                raise MeasuredError(f"byte {len(whole)} of its content", "bzip2 is cut off")
    except OSError as error:
        raise MeasuredError(f"byte {len(whole)} of its content", f"bzip2: {error}") from None
    return bytes(whole)


def _bounded(whole: bytearray) -> None:
    if len(whole) > MOST_BYTES:
        raise MeasuredError("", f"its content is larger than {MOST_BYTES >> 20} MiB")
