"""What is known to differ between the simulator and releases other than 6.1, by test."""

from __future__ import annotations

#: Release → test → cause. Such a test must fail: once it passes, its line goes.
KNOWN: dict[str, dict[str, str]] = {"6.12": {}, "7.3": {}}
