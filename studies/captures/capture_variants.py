"""Captures of the simulator changed into what is met in the field, for `tables.py`.

Frames captured twice, IPv6, hosts with one counter of identifications, filters, offload,
connections that close after a pause. Labels that hold in the original hold in the variant.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

#: Ethernet, then IPv4 without options.
IP, TCP = 14, 34
FIN_ACK = 0x11
#: The second sight of a frame, behind the first.
MIRRORED_NS = 20_000
#: Frames that offload joins follow each other within this.
JOINED_NS = 2_000_000
JOINED_MOST = 3
#: A connection closes so long after its last packet.
IDLE_NS = 47 * 10**9
ACKED_NS = 10**8
#: Length of a TCP header with timestamps alone, in words.
STAMPED_WORDS = 8
#: Comment of a FIN that comes late, once.
LATE = "late close"
#: Comment of a frame that is no transmission of its own.
DUPLICATED = "duplicated"

#: Who sends, to whom, by which ports.
Flow = bytes


@dataclass(frozen=True)
class Frame:
    """A captured frame and what the simulator says of it."""

    time_ns: int
    data: bytes
    bytes_on_wire: int
    comment: str

    @property
    def flow(self) -> Flow:
        """Addresses and ports."""
        return self.data[IP + 12 : IP + 20] + self.data[TCP : TCP + 4]

    @property
    def identification(self) -> int:
        """Of IPv4."""
        return int.from_bytes(self.data[IP + 4 : IP + 6], "big")

    @property
    def payload_bytes(self) -> int:
        """Of TCP."""
        total = int.from_bytes(self.data[IP + 2 : IP + 4], "big")
        return total - 20 - (self.data[TCP + 12] >> 4) * 4

    @property
    def sequence(self) -> int:
        """Of TCP."""
        return int.from_bytes(self.data[TCP + 4 : TCP + 8], "big")

    def with_bytes(self, at: int, value: bytes) -> Frame:
        """With other bytes from `at` on."""
        return replace(self, data=self.data[:at] + value + self.data[at + len(value) :])


def in_order(frames: Iterable[Frame]) -> list[Frame]:
    """By time."""
    return sorted(frames, key=lambda frame: frame.time_ns)


def doubled(frames: list[Frame]) -> list[Frame]:
    """A mirror port sees each frame before and behind a router."""

    def again(frame: Frame) -> Frame:
        hops = bytes([frame.data[IP + 8] - 1])
        routed = frame.with_bytes(0, b"\x02\0\0\0\0\x77").with_bytes(IP + 8, hops)
        return replace(routed, time_ns=frame.time_ns + MIRRORED_NS, comment=DUPLICATED)

    return in_order([*frames, *map(again, frames)])


def in_ipv6(frames: list[Frame]) -> list[Frame]:
    """The same segments in packets without identification."""

    def one(frame: Frame) -> Frame:
        ip = frame.data[IP:TCP]
        length = int.from_bytes(ip[2:4], "big") - 20
        header = struct.pack("!IHBB", 0x60000000 | (ip[1] << 20), length, 6, ip[8])
        ends = b"".join(bytes(12) + ip[at : at + 4] for at in (12, 16))
        data = frame.data[:12] + b"\x86\xdd" + header + ends + frame.data[TCP:]
        return replace(frame, data=data, bytes_on_wire=frame.bytes_on_wire + 20)

    return [one(frame) for frame in frames]


def one_counter(sent: list[Frame]) -> Callable[[list[Frame]], list[Frame]]:
    """Each host counts over all its connections, in the order in which `sent` has its packets."""
    counters: dict[bytes, int] = {}
    numbers: dict[tuple[Flow, int], int] = {}
    for frame in sent:
        key = (frame.flow, frame.identification)
        if key not in numbers:
            host = frame.flow[:4]
            counters[host] = counters.get(host, 0) + 1
            numbers[key] = counters[host]

    def renumbered(frames: list[Frame]) -> list[Frame]:
        known = ((frame, numbers.get((frame.flow, frame.identification), 0)) for frame in frames)
        return [f.with_bytes(IP + 4, struct.pack("!H", number & 0xFFFF)) for f, number in known]

    return renumbered


def every_second_connection(frames: list[Frame]) -> list[Frame]:
    """A filter has left out the others."""

    def kept(frame: Frame) -> bool:
        ports = struct.unpack("!HH", frame.data[TCP : TCP + 4])
        return sum(ports) % 2 == 0

    return [frame for frame in frames if kept(frame)]


def joined(frames: list[Frame]) -> list[Frame]:
    """Offload hands over up to three segments in one frame."""
    made: list[Frame] = []
    open_frames: dict[Flow, tuple[int, int]] = {}
    for frame in frames:
        at, count = open_frames.get(frame.flow, (0, 0))
        if count and count < JOINED_MOST and _continues(made[at], frame):
            length = int.from_bytes(made[at].data[IP + 2 : IP + 4], "big") + frame.payload_bytes
            longer = made[at].with_bytes(IP + 2, struct.pack("!H", length))
            wire = longer.bytes_on_wire + frame.payload_bytes
            made[at] = replace(longer, bytes_on_wire=wire)
            open_frames[frame.flow] = (at, count + 1)
            continue
        open_frames[frame.flow] = (len(made), 1)
        made.append(frame)
    return made


def _continues(first: Frame, frame: Frame) -> bool:
    plain = not first.comment and not frame.comment
    data = first.payload_bytes > 0 and frame.payload_bytes > 0
    follows = first.sequence + first.payload_bytes == frame.sequence
    return plain and data and follows and frame.time_ns - first.time_ns < JOINED_NS


def closing_late(frames: list[Frame]) -> list[Frame]:
    """All data is acknowledged; after a pause its sender closes, and three of its packets miss."""
    data: dict[Flow, Frame] = {}
    acks: dict[Flow, Frame] = {}
    for frame in frames:
        if frame.payload_bytes > 0:
            known = data.get(frame.flow, frame)
            data[frame.flow] = max(known, frame, key=lambda one: one.sequence)
        elif frame.data[TCP + 12] >> 4 == STAMPED_WORDS:
            acks[frame.flow] = frame
    closed = list(frames)
    for flow, frame in data.items():
        end = struct.pack("!I", frame.sequence + frame.payload_bytes & 0xFFFFFFFF)
        back = acks[flow[4:8] + flow[:4] + flow[10:12] + flow[8:10]]
        ack = _follows(back, 1).with_bytes(TCP + 8, end)
        fin = _follows(frame, 4).with_bytes(TCP + 4, end).with_bytes(TCP + 13, bytes([FIN_ACK]))
        closed.append(replace(ack, time_ns=frames[-1].time_ns + ACKED_NS))
        closed.append(replace(fin, time_ns=frames[-1].time_ns + IDLE_NS, comment=LATE))
    return in_order(closed)


def _follows(frame: Frame, packets: int) -> Frame:
    """A frame without data, so many packets of its sender later."""
    header = 20 + (frame.data[TCP + 12] >> 4) * 4
    known = struct.pack("!HH", header, frame.identification + packets & 0xFFFF)
    bare = frame.with_bytes(IP + 2, known).data[: IP + header]
    return replace(frame, data=bare, bytes_on_wire=len(bare), comment="")


def blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Type and bytes of each block of one of our files."""
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        yield kind, data[at : at + length]
        at += length


def option(block: bytes, at: int) -> tuple[int, bytes]:
    """The option of a block that begins there."""
    code, length = struct.unpack_from("<HH", block, at)
    return code, block[at + 4 : at + 4 + length]


def read(blocks: Iterator[tuple[int, bytes]], comments: list[str]) -> list[Frame]:
    """The frames of one of our files with one interface; stamps are nanoseconds."""
    frames = []
    for kind, block in blocks:
        if kind == 6:
            high, low, kept, length = struct.unpack_from("<IIII", block, 12)
            comment = comments[len(frames)]
            frames.append(Frame(high << 32 | low, block[28 : 28 + kept], length, comment))
    return frames


def write(path: Path, frames: list[Frame]) -> list[str]:
    """Writes a pcap file; the comments of its frames."""
    parts = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 18, 1)]
    for frame in frames:
        seconds, rest = divmod(frame.time_ns, 10**9)
        parts.append(struct.pack("<IIII", seconds, rest, len(frame.data), frame.bytes_on_wire))
        parts.append(frame.data)
    path.write_bytes(b"".join(parts))
    return [frame.comment for frame in frames]
