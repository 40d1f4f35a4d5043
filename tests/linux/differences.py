"""Known differences between the simulator and the kernel, by release and test."""

from __future__ import annotations

#: Release → test → cause. Such a test must fail: once it passes, its line goes.
KNOWN: dict[str, dict[str, str]] = {}
