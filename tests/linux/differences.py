"""What is known to differ between the simulator and releases other than 6.1, by test."""

from __future__ import annotations

_TIES = "packets of several paths at one nanosecond are taken in another order"
_PATHS = "unknown, from 571 ms on: the scheduler prefers the second path one ACK earlier on the kernel"

_PACKETS = "test_packet_by_packet.py"
_SPRAYED = f"{_PACKETS}::test_four_seconds_over_two_sprayed_paths_are_the_same_packets"
_MULTIPATH = "test_multipath.py::test"
_CONTROLS = "test_congestion_controls.py::test"

_BOTH = {
    f"{_SPRAYED}[reno]": _TIES,
    f"{_SPRAYED}[cubic]": _TIES,
}
#: Release → test → cause. Such a test must fail: once it passes, its line goes.
KNOWN: dict[str, dict[str, str]] = {
    "6.12": {
        **_BOTH,
    },
    "7.3": {
        **_BOTH,
        f"{_MULTIPATH}_goodput_over_a_grid_of_paths_is_the_kernels": _PATHS,
        f"{_MULTIPATH}_segments_end_where_the_kernels_do": _PATHS,
        "test_small_queues.py::test_seventeen_transfers_are_the_same_packets_in_the_same_order"
        "[cubic-false-1]": "who is first at a full queue of four packets, at one instant",
        "test_slots.py::test_an_access_link_carries_as_much_on_both[starlink]": "unknown: after "
        "200 ms of 75 % loss the kernel is slower",
        f"{_CONTROLS}_three_seconds_are_the_same_packets_and_windows[htcp]": "unknown, from 0.66 s",
    },
}
