"""Programs of a scenario on this machine: does each exist, and may it run?"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from dumbbell.codes import Code
from dumbbell.engines.base import scenario_error
from dumbbell.errors import did_you_mean, nearest_name
from dumbbell.scenario import read_scenario

#: Where programs are looked up; the guest has the same.
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#: Folders that are empty in a program's view.
_HIDDEN = ("/tmp/", "/var/tmp/", "/run/", "/proc/", "/sys/")


def check_programs(scenario: str) -> None:
    """Raises `ScenarioError` for a program that is not here, or may not run."""
    if '"programs"' not in scenario:
        return
    for number, program in enumerate(read_scenario(scenario).get("programs", [])):
        path = program["environment"].get("PATH", PATH)
        message = _problem(program["run"][0], path)
        if message is not None:
            raise scenario_error(f"programs[{number}].run", message, Code.PROGRAM)


def _problem(name: str, path: str) -> str | None:
    """Why a program cannot run here; None if it can."""
    if "/" not in name:
        if shutil.which(name, path=path) is not None:
            return None
        there = (entry for folder in path.split(":") for entry in _entries(folder))
        near = nearest_name(name, there)
        hint = did_you_mean(near)
        return f"no program {name} in {path}{hint}"
    if not name.startswith("/"):
        return f"{name}: a path must be absolute: the working folder of a program is empty"
    file = Path(name)
    if is_hidden(name):
        return f"{name}: programs do not see this folder: theirs is empty"
    if not file.exists():
        return f"{name}: no such file"
    # For root, access(2) may allow what execve(2) refuses: a file without any bit to execute it.
    if file.is_dir() or not os.access(file, os.X_OK) or not file.stat().st_mode & 0o111:
        return f"{name}: it may not be executed"
    return None


def is_hidden(path: str) -> bool:
    """Returns true if programs do not see this path of the machine."""
    return path.startswith(_HIDDEN)


def _entries(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 (names alone)
    except OSError:
        return []
