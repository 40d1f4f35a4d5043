"""One wheel per session, and one machine of a newcomer per process that runs tests."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from tests.newcomer.machine import Machine, machine, wheel


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel. Of several processes of a session (pytest-xdist) the first one builds it."""
    session = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    if session is None:
        return wheel(tmp_path_factory.mktemp("wheel"))
    folder = tmp_path_factory.getbasetemp().parent / f"wheel-{session}"
    folder.mkdir(exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return next(folder.glob("*.whl"), None) or wheel(folder)


@pytest.fixture(scope="session")
def newcomer(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return machine(tmp_path_factory.mktemp("newcomer"), archive)
