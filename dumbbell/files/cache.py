"""Folder of what can be made again: kernels, copies of stores, plug-ins."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder(name: str) -> Path:
    """`$XDG_CACHE_HOME/dumbbell/NAME`, by default below `~/.cache`."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    cache = Path(given) if given.startswith("/") else Path.home() / ".cache"
    return cache / "dumbbell" / name
