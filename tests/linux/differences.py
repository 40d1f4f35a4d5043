"""Known differences between the simulator and the kernel, by release and test."""

from __future__ import annotations

_MEMORY = "one skb more in memory: at 904 ms the application writes 2.4 ms later than on the kernel"

#: Release → test → cause. Such a test must fail: once it passes, its line goes.
KNOWN: dict[str, dict[str, str]] = {
    "6.1": {"test_packet_by_packet.py::test_memory_of_skbs_that_sacks_split_and_merge": _MEMORY},
}
