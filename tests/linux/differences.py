"""Known differences between the simulator and the kernel, by release and test."""

from __future__ import annotations

_MEMORY = "unknown, from 405 ms on: the application writes ten segments more on the kernel"
_RED = "unknown: BIC delivers 16 % less on the kernel at an RTT of 10 ms, 4 % less at 10.3 ms"

#: Release → test → cause. Such a test must fail: once it passes, its line goes.
KNOWN: dict[str, dict[str, str]] = {
    "6.1": {"test_packet_by_packet.py::test_memory_of_skbs_that_sacks_split_and_merge": _MEMORY},
    "7.3": {"test_red.py::test_a_short_red_drops_as_often_as_the_kernels": _RED},
}
