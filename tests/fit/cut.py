"""Captures with faults: frames left out, times changed."""

from __future__ import annotations

import struct
from collections.abc import Callable

_ENHANCED = 6
#: Bytes of Ethernet and IPv4 headers before the TCP header.
_IP = 14
_TCP = 34


def edited(capture: bytes, change: Callable[[int, int, bytes], int | None]) -> bytes:
    """pcapng whose frames are kept with another time, or left out.

    `change` has the number of the frame (from 0), its time in ns and its bytes, and returns its new
    time, or None to leave it out.
    """
    out, at, number = [], 0, 0
    while at < len(capture):
        kind, length = struct.unpack_from("<II", capture, at)
        block = capture[at : at + length]
        at += length
        if kind == _ENHANCED:
            high, low, captured = struct.unpack_from("<III", block, 12)
            time = change(number, high << 32 | low, block[28 : 28 + captured])
            number += 1
            if time is None:
                continue
            block = block[:12] + struct.pack("<II", time >> 32, time & 0xFFFFFFFF) + block[20:]
        out.append(block)
    return b"".join(out)


def snapped(capture: bytes, most: int) -> bytes:
    """pcapng of which at most so many bytes of each frame are kept, as with tcpdump -s."""
    out, at = [], 0
    while at < len(capture):
        kind, length = struct.unpack_from("<II", capture, at)
        block = capture[at : at + length]
        at += length
        if kind == _ENHANCED:
            interface, high, low, captured, whole = struct.unpack_from("<IIIII", block, 8)
            kept = block[28 : 28 + min(captured, most)]
            fields = struct.pack("<IIIII", interface, high, low, len(kept), whole)
            body = fields + kept + bytes(-len(kept) % 4)
            size = struct.pack("<I", len(body) + 12)
            block = struct.pack("<I", kind) + size + body + size
        out.append(block)
    return b"".join(out)


def is_from_sender(frame: bytes) -> bool:
    """True for frames from the first host."""
    return frame[_IP + 15] == 1


def flags(frame: bytes) -> int:
    """TCP flags of a frame."""
    return frame[_TCP + 13]
