"""Sweeps that are killed at random moments and resumed give what an undisturbed sweep gives.

`make test` kills six times in two sweeps, `make test-all` twelve times in four; more with
DUMBBELL_SCALE=10. The moment is drawn by how much the journal has grown, not by a clock.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import dumbbell
from dumbbell.results import Results
from tests.helpers import ROOT, size
from tests.scale import SCALE, tried

pytestmark = pytest.mark.slow

SWEEPS, KILLS = tried(2, 4), 3 * SCALE
TEXT = """\
dumbbell: 1
name: sweep
template: {dumbbell: {rate: 10 Mbit/s, rtt: $rtt, buffer: 30 packets, loss: 0.5 %}}
flows: [{name: f, from: s1, to: d1, tcp: $cc}]
taps: [{name: t, at: r1, link: bottleneck}]
sampling: {interval: 20 ms, keep: [samples, queues, drops], capture: true}
duration: 5 s
factors: {rtt: [10 ms, 50 ms], cc: [reno, cubic, bbr]}
repeats: 30
"""
#: Runs of the sweep.
RUNS = 2 * 3 * 30
TABLES = ("flows", "pipes", "samples", "queues", "drops", "transfers", "probes")


def sweep(file: Path, store: Path) -> subprocess.Popen[bytes]:
    """A sweep in a process of its own."""
    command = [sys.executable, "-m", "dumbbell", "run", str(file), "--store", str(store)]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )


def written(store: Path) -> int:
    """Bytes of finished runs outside segments: grows with every run."""
    return sum(size(log) for log in store.glob("journal/*.log"))


def kill_after(child: subprocess.Popen[bytes], store: Path, growth: int) -> bool:
    """Kills a sweep once its journal has grown so much; False if it was done before."""
    before, limit = written(store), time.monotonic() + 60
    while child.poll() is None and time.monotonic() < limit:
        if written(store) - before >= growth:
            child.send_signal(signal.SIGKILL)
            break
        time.sleep(0.001)
    child.communicate()
    return child.returncode == -signal.SIGKILL


def same(found: Results, whole: Results) -> bool:
    """Every table equal, whatever the order in which runs were made."""
    if found.runs.sort("run")["digest"].to_list() != whole.runs.sort("run")["digest"].to_list():
        return False
    for name in TABLES:
        one, other = getattr(found, name), getattr(whole, name)
        if not one.sort(one.columns).equals(other.sort(other.columns)):
            return False
    return True


def captures(store: Path) -> dict[str, bytes]:
    """What passed the taps of each run."""
    return {path.name: path.read_bytes() for path in store.glob("runs/*.pcapng")}


def test_killed_sweeps_go_on_and_lose_nothing(tmp_path: Path) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(TEXT, encoding="utf-8")
    whole = dumbbell.run(file, store=tmp_path / "whole")
    assert whole.runs.height == RUNS
    killed = 0
    for number in range(SWEEPS):
        draw = random.Random(number)
        store = tmp_path / f"killed-{number}"
        for _ in range(KILLS):
            killed += kill_after(sweep(file, store), store, draw.choice([0, 1, 20_000, 200_000]))
        before = dumbbell.load_results(store).runs.height if (store / "store.json").exists() else 0
        resumed = dumbbell.run(file, store=store)
        assert resumed.runs["run"].n_unique() == resumed.runs.height == RUNS
        assert before <= RUNS
        assert same(resumed, whole)
        assert captures(store) == captures(tmp_path / "whole")
        assert not [path for path in store.rglob("*.tmp") if path.stat().st_size]
    assert killed >= SWEEPS * KILLS // 2
