"""Known differences between the simulator and the kernel, by release and test."""

from __future__ import annotations

_LOSSES = "test_multipath.py::test_two_paths_with_losses_are_the_kernels"

#: Release → test → cause. Such a test must fail: once it passes, its line goes.
KNOWN: dict[str, dict[str, str]] = {
    "7.3": {
        _LOSSES: "at 1733 ms the scheduler picks the other of two subflows, 1.6 % apart here",
    },
}
