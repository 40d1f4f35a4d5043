"""The kind of a file, by its first bytes."""

from __future__ import annotations

from pathlib import Path

#: First bytes of pcap in either order, pcapng, gzip, zstd, xz, snoop.
_CAPTURES = (
    b"\xa1\xb2",
    b"\x34\xcd\xb2\xa1",
    b"\xd4\xc3\xb2\xa1",
    b"\x4d\x3c\xb2\xa1",
    b"\n\r\r\n",
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
    b"\xfd7zX",
    b"snoo",
)


def is_capture(path: Path) -> bool:
    """Returns true if `path` is a capture, or compressed: what must not be overwritten."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(4).startswith(_CAPTURES)
    except (OSError, ValueError):
        return False
