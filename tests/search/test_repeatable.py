"""The same seed gives the same search: with any number of workers, and killed and resumed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dumbbell.search.run import Outcome
from dumbbell.store.digest import digests, of_all
from tests.helpers import ROOT
from tests.search.helpers import SHARES, levels, searched, written


def told(outcome: Outcome) -> list[object]:
    """Everything that a search found, in order."""
    every = [*outcome.evaluations, outcome.found, *outcome.again]
    return [(levels(outcome), outcome.file), *((one.point, one.value) for one in every)]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcome, str]:
    folder = tmp_path_factory.mktemp("undisturbed")
    outcome = searched(SHARES, folder, workers=1)
    return outcome, of_all(digests(folder / "store"))


@pytest.mark.slow
def test_the_number_of_workers_changes_nothing(
    undisturbed: tuple[Outcome, str], tmp_path: Path
) -> None:
    outcome, digest = undisturbed
    for workers in (2, 3):
        folder = tmp_path / str(workers)
        again = searched(SHARES, folder, workers=workers)
        assert str(told(again)) == str(told(outcome))
        assert of_all(digests(folder / "store")) == digest


@pytest.mark.slow
def test_another_seed_searches_elsewhere(undisturbed: tuple[Outcome, str], tmp_path: Path) -> None:
    outcome, digest = undisturbed
    other = searched(SHARES, tmp_path, seed=7)
    points = [[dict(one.point) for one in each.evaluations[1:]] for each in (outcome, other)]
    assert str(points[0]) != str(points[1])
    assert of_all(digests(tmp_path / "store")) != digest


@pytest.mark.slow
def test_a_killed_search_goes_on_and_repeats_nothing(
    undisturbed: tuple[Outcome, str], tmp_path: Path
) -> None:
    outcome, digest = undisturbed
    file, store = written(SHARES, tmp_path), tmp_path / "store"
    command = [sys.executable, "-m", "dumbbell", "search", str(file), "--store", str(store)]
    killed, rewritten = 0, 0
    kept: dict[str, int] = {}
    while True:
        running = subprocess.Popen(
            [*command, "--workers", "1"], cwd=ROOT, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        while running.poll() is None and len(files(store)) < len(kept) + 60:
            time.sleep(0.002)
        if killable := running.poll() is None:
            os.kill(running.pid, signal.SIGKILL)
        running.wait()
        found = files(store)
        rewritten += len({name.partition(".")[0] for name in kept if found[name] != kept[name]})
        if not killable:
            break
        killed, kept = killed + 1, found
    assert running.returncode == 0
    assert killed >= 2
    # Only the run during which it was killed is done again.
    assert rewritten <= killed
    assert of_all(digests(store)) == digest
    again = searched(SHARES, tmp_path)
    assert str(told(again)) == str(told(outcome))


def files(store: Path) -> dict[str, int]:
    """Files of runs with the times at which they were written."""
    found: dict[str, int] = {}
    for path in (store / "runs").glob("[!.]*"):
        found[path.name] = path.stat().st_mtime_ns
    return found
