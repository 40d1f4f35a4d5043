"""Folders that killed runs left behind; all else ends with their processes."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from dumbbell.engines.linux.launch import FOLDER_PREFIX


def sweep() -> list[str]:
    """Removes folders of runs whose process is gone. Returns a line that says so, if any were."""
    removed = []
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*"):
        owner = folder.name.removeprefix(FOLDER_PREFIX).split("-")[0]
        if owner.isdigit() and not Path("/proc", owner).exists():
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                removed.append(folder.name)
    if not removed:
        return []
    what = "folder" if len(removed) == 1 else "folders"
    return [f"removed {len(removed)} {what} of runs that were killed: {', '.join(sorted(removed))}"]
