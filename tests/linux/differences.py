"""What is known to differ between the simulator and releases other than 6.1, by test."""

from __future__ import annotations

_PATHS = "unknown, from 571 ms on: the scheduler takes the second path an ACK earlier on the kernel"

#: Release → test → cause. Such a test must fail: once it passes, its line goes.
KNOWN: dict[str, dict[str, str]] = {
    "7.3": {"test_multipath.py::test_segments_end_where_the_kernels_do": _PATHS},
}
