"""Compaction joins segments, removes what no experiment needs, and loses nothing when killed."""

from __future__ import annotations

from pathlib import Path

import pytest

import dumbbell
from dumbbell.errors import StoreError
from dumbbell.execution import execute
from dumbbell.execution.shard import Shard
from dumbbell.files.urls import store_path
from dumbbell.store import Store
from dumbbell.store import compact as compaction
from dumbbell.store.compact import compact
from dumbbell.store.verify import examine
from tests.helpers import FakeEngine, loaded
from tests.running.test_merge import TEXT, call, made, of_store

pytestmark = pytest.mark.slow


def scattered(folder: Path) -> Path:
    """A store with a segment per run."""
    for number in range(1, 9):
        made(folder, f"{number}/8")
    return folder


def segments(store: Path) -> int:
    return len(list((store / "segments").iterdir()))


def newer() -> FakeEngine:
    engine = FakeEngine()
    engine.version = "another"
    return engine


def test_segments_are_joined(tmp_path: Path) -> None:
    store = scattered(tmp_path / "s")
    digest, before = of_store(store), dumbbell.load_results(store)
    plan = compact(store, dry=True)
    assert (len(plan.old), plan.new, plan.kept, plan.unneeded) == (8, 1, 0, frozenset())
    assert segments(store) == 8
    compact(store)
    assert segments(store) == 1 and of_store(store) == digest
    after = dumbbell.load_results(store)
    for table in ("runs", "flows", "pipes", "samples"):
        assert getattr(before, table).equals(getattr(after, table))
    found = examine(store)
    assert not found.damages and not found.leftovers and len(found.runs) == 8
    assert not compact(store).old


def test_large_segments_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "SEGMENT_RUNS", 3)
    store = scattered(tmp_path / "s")
    digest = of_store(store)
    assert compact(store).new == 3 and segments(store) == 3
    assert not compact(store).old  # two of three runs, one of two
    made(store, text=TEXT.replace("seed: 7", "seed: 70"))  # a segment of 8 runs
    again = compact(store)
    assert (len(again.old), again.kept) == (0, 4)
    assert digest != of_store(store)


def test_runs_of_no_experiment_go(tmp_path: Path) -> None:
    store = made(tmp_path / "s")
    made(store, engine=newer())
    digest = of_store(store)
    files = {path.name for path in (store / "runs").iterdir()}
    plan = compact(store)
    assert len(plan.unneeded) == 8 and plan.freed == 0
    left = {path.name for path in (store / "runs").iterdir()}
    assert len(files) == 2 * len(left) and left < files
    assert of_store(store) == digest and not examine(store).leftovers


@pytest.mark.parametrize("method", ["write_frames", "remove"])
def test_killed_at_any_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    """A step that raises leaves the files as a kill before it does."""
    monkeypatch.setattr(compaction, "SEGMENT_RUNS", 3)
    whole = getattr(compaction, method)
    steps = 0
    while True:
        store = scattered(tmp_path / f"{steps}")
        made(store, engine=newer())
        made(store)  # the older version is needed again
        digest, calls = of_store(store), 0

        def dying(*arguments: object) -> object:
            nonlocal calls
            calls += 1
            if calls > steps:  # noqa: B023
                raise KeyboardInterrupt
            return whole(*arguments)

        monkeypatch.setattr(compaction, method, dying)
        try:
            compact(store)
        except KeyboardInterrupt:
            monkeypatch.setattr(compaction, method, whole)
            assert of_store(store) == digest
            assert not examine(store).damages
            compact(store)
            assert of_store(store) == digest and segments(store) == 3
            steps += 1
            continue
        break
    assert steps == (3 if method == "write_frames" else 9 + 8)


def test_what_is_refused(tmp_path: Path) -> None:
    store = scattered(tmp_path / "s")
    with Store(store, write=True) as writer:
        execute(loaded(TEXT + "\n"), FakeEngine(), writer, workers=1, shard=Shard(1, 1))
        writer.prepare()
        with pytest.raises(StoreError, match="a process is writing to it"):
            compact(store)
    next((store / "segments").glob("*/flows.parquet")).write_bytes(b"")
    with pytest.raises(StoreError, match=r"flows\.parquet: .*store repair"):
        compact(store)
    with pytest.raises(StoreError, match="not a store"):
        compact(tmp_path / "none")
    with pytest.raises(StoreError, match="merge the store into a new one"):
        compact(store_path("memory://lab/compacted"))


def test_the_verb(tmp_path: Path) -> None:
    store = scattered(tmp_path / "s")
    made(store, engine=newer())
    dry = call("store", "compact", store, "--dry-run")
    assert dry.exit_code == 0
    assert "9 segments would become 1, 0 stay" in dry.stdout
    assert "8 runs of no experiment would be removed" in dry.stdout
    done = call("store", "compact", store)
    assert "9 segments became 1" in done.stdout and "8 runs of no experiment removed" in done.stdout
    assert "1 segment, nothing to compact" in call("store", "compact", store).stdout
