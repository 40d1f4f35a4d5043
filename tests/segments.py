"""Segments of TCP and files of them, byte by byte, for tests of captures."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

FIN, SYN, ACK = 1, 2, 16


def frame(source: int, target: int, flags: int, seq: int, ack: int, data: int = 0) -> bytes:
    """Raw IPv4 with TCP between ports of one host; a sum of 0 is none that anybody checks."""
    address = bytes([10, 0, 0, 1])
    tcp = struct.pack(">HHIIBBHHH", source, target, seq, ack, 5 << 4, flags, 65535, 0, 0)
    length = 20 + len(tcp) + data
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, length, 1, 0, 64, 6, 0, address, address)
    return ip + tcp + bytes(data)


def icmp(kind: int, code: int, value: int, quoted: bytes) -> bytes:
    """Raw IPv4 with an ICMP error of a router, which quotes a packet's header and 8 bytes."""
    message = struct.pack(">BBHI", kind, code, 0, value) + quoted[:28]
    router, host = bytes([10, 0, 0, 254]), quoted[12:16]
    length = 20 + len(message)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, length, 1, 0, 64, 1, 0, router, host)
    return ip + message


def pcap(frames: Iterable[tuple[float, bytes]], path: Path) -> Path:
    """Frames with their times (s) as a file, link type raw IP."""
    parts = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)]
    for time, data in frames:
        micro = round(time * 1e6)
        parts.append(struct.pack("<IIII", *divmod(micro, 10**6), len(data), len(data)))
        parts.append(data)
    path.write_bytes(b"".join(parts))
    return path


def transfer(
    port: int, size: int, *, up: int = 0, at: float = 0.0, rtt: float = 0.02, opened: bool = True
) -> list[tuple[float, bytes]]:
    """A server at port 80 sends so many bytes to a client, and gets `up`, seen at the client."""
    found = []
    if opened:
        found += [
            (at, frame(port, 80, SYN, 0, 0)),
            (at + rtt, frame(80, port, SYN | ACK, 0, 1)),
            (at + rtt, frame(port, 80, ACK, 1, 1)),
        ]
    sent = 0
    while sent < size:
        part = min(1000, size - sent)
        found.append((at + 2 * rtt, frame(80, port, ACK, 1 + sent, 1, part)))
        sent += part
        found.append((at + 2 * rtt, frame(port, 80, ACK, 1, 1 + sent)))
    if up:
        found.append((at + 3 * rtt, frame(port, 80, ACK, 1, 1 + sent, up)))
    return found
