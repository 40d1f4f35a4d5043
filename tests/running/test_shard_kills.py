"""Shards killed at random moments, resumed and merged hold what an undisturbed sweep holds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import dumbbell
from dumbbell.store.digest import digests, of_all
from tests.helpers import ROOT
from tests.running.test_shards import TINY
from tests.scale import SCALE

pytestmark = pytest.mark.slow

#: Sweeps of four shards, and kills in each: of a shard, or, of every fourth, of a merge.
SWEEPS, KILLS = 2 * SCALE, 12


def test_shards_killed_at_random_moments_lose_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.running.killed_shards", str(tmp_path)]
    done = subprocess.run(
        [*command, str(SWEEPS), str(KILLS)], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
    whole, *sweeps = [json.loads(line) for line in done.stdout.splitlines()]
    assert whole["runs"] == 24 and not whole["wrong"]
    assert len(sweeps) == SWEEPS
    for one in sweeps:
        assert one["kills"] == {"shard": KILLS - KILLS // 4, "merge": KILLS // 4}
        assert one["merged"] == whole, one
        assert one["twice"] == []
        assert sum(part["runs"] for part in one["parts"]) == whole["runs"]
        assert not any(part["wrong"] for part in one["parts"])


#: What docs/clusters.md has for a plain shell.
SHELL = """\
for k in 1 2 3 4; do
    dumbbell run sweep.yaml --shard $k/4 --workers 1 --store shard-$k &
done; wait
dumbbell store merge shard-* -o all
"""


def test_four_shards_in_a_shell(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "clusters.md").read_text(encoding="utf-8")
    assert "".join(f"    {line}\n" for line in SHELL.splitlines()) in page
    (tmp_path / "sweep.yaml").write_text(TINY)
    (tmp_path / "dumbbell").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dumbbell "$@"\n')
    (tmp_path / "dumbbell").chmod(0o755)
    path = f"{tmp_path}:{os.environ.get('PATH', '')}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["sh", "-ec", SHELL],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    dumbbell.run(tmp_path / "sweep.yaml", store=tmp_path / "whole")
    whole, merged = (of_all(digests(tmp_path / name)) for name in ("whole", "all"))
    assert merged == whole
    assert "all: 6 runs of 1 experiment" in done.stdout
