"""Carries Ethernet frames between two TAP devices after a fixed delay: `delay_line.py A B US`.

It stands for netem, which not every kernel has. It ends when its standard input does.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import struct
import sys
import time
from collections import deque

#: linux/if_tun.h
_TUNSETIFF, _IFF_TAP, _IFF_NO_PI = 0x400454CA, 2, 0x1000
_FRAME_MAX = 65536
#: Frames on the way that are carried; more are lost.
_ROOM = 10_000


def tap(name: str) -> int:
    """A new TAP device, as a descriptor."""
    handle = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(handle, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TAP | _IFF_NO_PI))
    return handle


def carry(ends: tuple[int, int], delay_ns: int) -> None:
    """Carries until standard input ends."""
    ways = {ends[0]: ends[1], ends[1]: ends[0]}
    ending = sys.stdin.fileno()
    line: deque[tuple[int, int, bytes]] = deque()
    while True:
        wait = max(0, line[0][0] - time.monotonic_ns()) / 1e9 if line else None
        ready, _, _ = select.select([*ends, ending], [], [], wait)
        if ending in ready:
            return
        now = time.monotonic_ns()
        while line and line[0][0] <= now:
            _, out, frame = line.popleft()
            with contextlib.suppress(OSError):  # a device that is down takes nothing
                os.write(out, frame)
        for end in ready:
            with contextlib.suppress(BlockingIOError, OSError):
                while len(line) < _ROOM:
                    line.append(
                        (time.monotonic_ns() + delay_ns, ways[end], os.read(end, _FRAME_MAX))
                    )


def main(first: str, second: str, delay_us: str) -> None:
    """Makes the devices, says so, and carries."""
    ends = (tap(first), tap(second))
    with contextlib.suppress(OSError):  # on a busy machine the delay is kept better so
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    carry(ends, int(delay_us) * 1000)


if __name__ == "__main__":
    main(*sys.argv[1:])
