"""A store survives its writer's death at every step, and two writers that create it at once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import ROOT
from tests.scale import ALL, SCALE

pytestmark = pytest.mark.slow

#: Every step in `make test-all`; otherwise those of creation and some of the others.
EVERY = ALL or SCALE >= 10


def told(*arguments: object) -> list[dict[str, Any]]:
    """The lines of `killed_writer`."""
    command = [sys.executable, "-m", "tests.running.killed_writer", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("before", [0, 40, 90, -1])
def test_a_writer_killed_at_any_step_loses_nothing(tmp_path: Path, before: int) -> None:
    """At 40 a process died with runs in its journal, at 90 while it moved them to a segment; -1 is
    a store that is damaged: it is killed while it makes runs again."""
    lines = told("kill", tmp_path, before, 1 if EVERY else 7 if before == 0 else 15)
    *dead, last = lines
    assert last["status"] == 0, last
    assert {line["status"] for line in dead} == {9}
    if before == 0:
        steps = {"open", "write", "fsync", "os.mkdir", "os.rename", "os.remove"}
        assert set(last["told"]) == steps
        assert len(last["told"]) > 100
    status, whole = last["again"]
    assert status == 0, whole
    for line in dead:
        assert line["again"] == [0, whole], line
    assert whole["left"] == []
    assert whole["whole"]


def test_two_processes_create_one_store(tmp_path: Path) -> None:
    lines = told("race", tmp_path, 100 if EVERY else 25)
    ends = [tuple(ended) for line in lines for ended in line["ended"]]
    assert {status for status, _ in ends} == {0}, ends
    found = {tuple(line["found"]) for line in lines}
    assert len(found) == 1 and {status for status, _ in found} == {0}, found
