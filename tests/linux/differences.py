"""What is known to differ between the simulator and releases of the kernel, by test."""

from __future__ import annotations

_PATHS = "unknown, from 571 ms on: the scheduler takes the second path an ACK earlier on the kernel"

_MEMORY = "unknown, from 405 ms on: the application writes ten segments more on the kernel"
_CLOCK = "known: the burst comes a clock reading later, after the frame that leaves the full queue"

#: Release → test → cause. Such a test must fail: once it passes, its line goes.
KNOWN: dict[str, dict[str, str]] = {
    "6.1": {"test_packet_by_packet.py::test_memory_of_skbs_that_sacks_split_and_merge": _MEMORY},
    "7.3": {
        "test_multipath.py::test_segments_end_where_the_kernels_do": _PATHS,
        "test_packet_by_packet.py::test_memory_of_skbs_that_sacks_split_and_merge": _CLOCK,
    },
}
