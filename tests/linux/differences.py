"""What is known to differ between the simulator and releases other than 6.1, by test."""

from __future__ import annotations

_RENO = "unknown, from data packet 1329 (6.12) or 4971 (7.3) on (docs/profiles.md)"
_CUBIC = "a window 256 bytes smaller after an out-of-order segment of 384 bytes (docs/profiles.md)"
_PATHS = "unknown, from 571 ms on: the scheduler takes the second path an ACK earlier on the kernel"

_PACKETS = "test_packet_by_packet.py"
_SPRAYED = f"{_PACKETS}::test_four_seconds_over_two_sprayed_paths_are_the_same_packets"
_MULTIPATH = "test_multipath.py::test"

_BOTH = {
    f"{_SPRAYED}[reno]": _RENO,
    f"{_SPRAYED}[cubic]": _CUBIC,
}
#: Release → test → cause. Such a test must fail: once it passes, its line goes.
KNOWN: dict[str, dict[str, str]] = {
    "6.12": _BOTH,
    "7.3": {
        **_BOTH,
        f"{_MULTIPATH}_segments_end_where_the_kernels_do": _PATHS,
    },
}
