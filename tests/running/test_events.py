"""Sweeps tell programs what happens, as lines of JSON, and people, on a terminal and elsewhere."""

from __future__ import annotations

import io
import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

import dumbbell
from dumbbell import _core
from dumbbell.cli import app
from dumbbell.console import FIRST_LINE_S
from dumbbell.errors import DumbbellError, EngineError
from dumbbell.execution import Interrupted, execute, use_progress
from dumbbell.execution.bar import _BarProgress, progress_on
from dumbbell.execution.events import event_log
from dumbbell.execution.progress import Sweep, Work
from dumbbell.execution.shard import Shard
from dumbbell.store import MemoryStore, Store
from tests.helpers import FakeEngine, loaded
from tests.running.test_execution import GRID
from tests.running.test_shards import TINY


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_events_of_a_sweep(tmp_path: Path) -> None:
    file, log = tmp_path / "tiny.yaml", tmp_path / "deep" / "events"
    file.write_text(TINY)
    begin = time.time()
    result = call("run", file, "--store", tmp_path / "s", "--events", log, "--workers", 2)
    assert result.exit_code == 0, result.output
    first, *middle, last = read(log)
    assert begin - 1 < first.pop("time") <= last.pop("time") < time.time() + 1
    assert first == {
        "event": "begin", "experiment": "tiny", "engine": "sim", "shard": None, "runs": 6, "kept": 0
    }  # fmt: skip
    assert last == {"event": "end", "finished": 6, "failed": 0, "left": 0}
    started = {one["run"]: one for one in middle if one["event"] == "started"}
    finished = {one["run"]: one for one in middle if one["event"] == "finished"}
    assert len(middle) == 12 and started.keys() == finished.keys()
    runs = dumbbell.load_results(tmp_path / "s").runs
    for row in runs.iter_rows(named=True):
        one, other = started[row["run"]], finished[row["run"]]
        assert middle.index(one) < middle.index(other)
        for name in ("levels", "repeat", "seed", "worker"):
            assert one[name] == other[name]
        assert one["levels"] == {"cc": row["cc"]}
        assert [one["repeat"], one["seed"]] == [row["repeat"], row["seed"]]
        assert one["worker"] in (1, 2)
        assert [other["digest"], other["wall_s"]] == [row["digest"], row["wall_s"]]
    # Appended: what was there before stays.
    call("run", file, "--store", tmp_path / "s", "--events", log, "--shard", "1/2")
    *before, begun, ended = read(log)
    assert len(before) == 14
    assert [begun["runs"], begun["kept"], begun["shard"]] == [0, 3, "1/2"]
    assert ended["finished"] == 0


def test_events_of_failures_and_of_a_stop(tmp_path: Path) -> None:
    engine = FakeEngine()
    engine.fail = lambda run: _core.DefectError("1 lost") if run.seed == 3 else None
    with event_log(tmp_path / "e") as log, use_progress(log):
        with pytest.raises(EngineError):
            execute(loaded(GRID), engine, MemoryStore(), workers=1)
        failed = [one for one in read(tmp_path / "e") if one["event"] == "failed"]
        assert len(failed) == 4
        assert failed[0]["error"].endswith("repeat 2: a defect of the engine fake: 1 lost [E610]")
        assert read(tmp_path / "e")[-1]["left"] == 0
        assert read(tmp_path / "e")[-1]["failed"] == 4
        timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), 15))
        timer.start()
        with pytest.raises(Interrupted):
            execute(loaded(GRID), FakeEngine(wait_s=0.05), MemoryStore(), workers=1)
    last = read(tmp_path / "e")[-1]
    assert last["event"] == "end"
    assert last["left"] > 0 and last["finished"] + last["left"] == 20


def test_events_to_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    lines: list[str] = []
    reader = threading.Thread(
        target=lambda: lines.extend((tmp_path / "pipe").read_text().splitlines())
    )
    reader.start()
    with event_log(tmp_path / "pipe") as log, use_progress(log):
        execute(loaded(GRID, repeats=1), FakeEngine(), MemoryStore())
    reader.join(10)
    assert len(lines) == 2 + 2 * 4


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("-", "--events -: standard output has the tables: name a file"),
        ("/proc/none/e", "/proc/none/e: events cannot be written"),
        ("/", "/: events cannot be written: Is a directory"),
    ],
)
def test_events_that_cannot_be_written(path: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "tiny.yaml"
    file.write_text(TINY)
    result = call("run", file, "--store", tmp_path / "s", "--events", path)
    assert result.exit_code == 2
    assert said in result.stderr
    assert not (tmp_path / "s").exists()


def test_a_full_disk_stops_the_sweep_and_keeps_its_runs(tmp_path: Path) -> None:
    with (
        Store(tmp_path / "s", write=True) as store,
        event_log(Path("/dev/full")) as log,
        use_progress(log),
        pytest.raises(DumbbellError, match="/dev/full: events cannot be written: No space left"),
    ):
        execute(loaded(GRID), FakeEngine(), store)


def said(monkeypatch: pytest.MonkeyPatch, *, terminal: bool, verbose: bool, seconds: float) -> str:
    """What progress shows of two workers after a time."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=terminal, width=100, color_system=None)
    shown = progress_on(console, verbose=verbose)
    shown.begin(Sweep("sweep", "sim", 10, 3, Shard(2, 4)))
    now[0] += seconds
    works = [(Work("x", {"cc": name}, 1, 2, k, 0.0), 0.4) for k, name in ((1, "reno"), (2, "bbr"))]
    shown.working(works)
    shown.update(4, 40.0, 8.0, 7.5)
    if isinstance(shown, _BarProgress) and shown._bar is not None:
        shown._bar.refresh()
    shown.end()
    return stream.getvalue()


def test_lines_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    late = FIRST_LINE_S + 0.1
    plain = said(monkeypatch, terminal=False, verbose=False, seconds=late)
    assert plain.splitlines() == [
        "sweep, shard 2/4: 3 runs are in the store already",
        "sweep, shard 2/4: 4 of 10 runs, 8 simulated s/s, 8 s left",
        "sweep, shard 2/4: 4 of 10 runs, 8 simulated s/s, in 5 s",
    ]
    verbose = said(monkeypatch, terminal=False, verbose=True, seconds=late)
    assert "  worker 1: cc=reno, repeat 1, 40 %\n  worker 2: cc=bbr, repeat 1, 40 %\n" in verbose
    early = said(monkeypatch, terminal=False, verbose=True, seconds=1)
    assert len(early.splitlines()) == 2


def test_workers_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = said(monkeypatch, terminal=True, verbose=False, seconds=1)
    assert "4/10 runs, 8 simulated s/s, 1 s, 8 s left" in plain
    assert "worker" not in plain
    verbose = said(monkeypatch, terminal=True, verbose=True, seconds=1)
    for number, name in ((1, "reno"), (2, "bbr")):
        lines = [one for one in verbose.splitlines() if one.startswith(f"  worker {number} ")]
        assert lines and all(f"40 % of cc={name}, repeat 1" in line for line in lines)


def test_a_sweep_shows_its_workers(tmp_path: Path) -> None:
    """Through the program: no bar where there is no terminal."""
    file = tmp_path / "tiny.yaml"
    file.write_text(TINY)
    result = call("run", file, "--store", tmp_path / "s", "-v")
    assert "━" not in result.stderr
    assert "tiny: 6 of 6 runs, " in result.stderr
