"""What is known to differ between the simulator and releases other than 6.1, by test."""

from __future__ import annotations

_BATCH = (
    "bursts of 3 segments instead of 2 where several ACKs arrive at one instant: probably small "
    "queues and tcp_grow_skb (docs/profiles.md)"
)
_LOSSY = "unknown: with bursts of ACKs the kernel's window does not double in Recovery"
_PATHS = "unknown, from 571 ms on: the scheduler takes the second path an ACK earlier on the kernel"

_PACKETS = "test_packet_by_packet.py"
_SPRAYED = f"{_PACKETS}::test_four_seconds_over_two_sprayed_paths_are_the_same_packets"
_MULTIPATH = "test_multipath.py::test"

_BOTH = {
    f"{_SPRAYED}[reno]": _BATCH,
    f"{_SPRAYED}[cubic]": _BATCH,
}
#: Release → test → cause. Such a test must fail: once it passes, its line goes.
KNOWN: dict[str, dict[str, str]] = {
    "6.12": _BOTH,
    "7.3": {
        **_BOTH,
        f"{_MULTIPATH}_segments_end_where_the_kernels_do": _PATHS,
        "test_slots.py::test_an_access_link_carries_as_much_on_both[starlink]": _LOSSY,
    },
}
