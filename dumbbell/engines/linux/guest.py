"""The program that realises a scenario on Linux (`crates/guest`): where it lies, what it can do."""

from __future__ import annotations

import json
import subprocess
from functools import lru_cache
from pathlib import Path

from dumbbell.codes import Code
from dumbbell.engines.base import scenario_error
from dumbbell.errors import EngineError
from dumbbell.files.shipped import shipped

_PATH = shipped("_guest") / "dumbbell-guest"


def guest_program() -> Path:
    """The program, static. Raises `EngineError` if it was not built."""
    if not _PATH.is_file():
        raise EngineError(
            f"{_PATH}: the guest's program is missing; build it with: make build",
            code=Code.NOT_INSTALLED,
        )
    return _PATH


@lru_cache(maxsize=1)
def guest_version() -> str:
    """Hash of its sources."""
    command = [str(guest_program()), "version"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def needs(scenario: str) -> frozenset[str]:
    """Features of Linux that a scenario needs, by the names that the program's `lacks` takes.

    Raises `ScenarioError` if Linux or this program cannot do what it asks.
    """
    command = [str(guest_program()), "check"]
    done = subprocess.run(command, input=scenario, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    if "path" in found:
        raise scenario_error(found["path"], found["message"])
    return frozenset(found["needs"])
