"""Folders that ship inside the package: copies in an installed wheel, links in a checkout."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path


def shipped(name: str) -> Path:
    """Folder of the package `dumbbell`, links resolved. It may be missing in a broken installation.

    Args:
        name: `_guest`, `_kernel`, `_plugin`, `_studies`, `_examples` or `_docs`.
    """
    return Path(str(files("dumbbell") / name)).resolve()
