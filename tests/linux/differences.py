"""Known differences between the simulator and the kernel, by release and test."""

from __future__ import annotations

_MEMORY = "one skb more in memory: at 904 ms the application writes 2.4 ms later than on the kernel"
_PACKETS = "test_packet_by_packet.py"
_LOSSES = "test_multipath.py::test_two_paths_with_losses_are_the_kernels"
_CARRY = "test_multipath.py::test_subflows_carry_what_the_kernels_carry"

#: Release → test → cause. Such a test must fail: once it passes, its line goes.
KNOWN: dict[str, dict[str, str]] = {
    "6.1": {
        f"{_PACKETS}::test_memory_of_skbs_that_sacks_split_and_merge": _MEMORY,
        f"{_PACKETS}::test_a_source_that_finds_a_full_buffer": "unknown; counters are equal",
        f"{_CARRY}[slow reader]": "unknown; goodput +1 %",
        f"{_CARRY}[bursts]": "unknown; goodput is equal",
    },
    "7.3": {
        f"{_CARRY}[slow reader]": "unknown; goodput -4 %",
        _LOSSES: "at 1563 ms a segment of 208 bytes is coalesced, on the kernel it is not",
    },
}
