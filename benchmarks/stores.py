"""Large stores made without running: what listing, queries and merges of stores are measured with.

    python -m benchmarks.stores build FOLDER RUNS [K/N]
    python -m benchmarks.stores merge FOLDER SHARDS RUNS

`build` makes a store of so many runs, or a shard of it; `merge` makes the shards and measures
`dumbbell store merge`. Each run has the tables of one run of a second, with its samples and queues.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
from pathlib import Path

import polars as pl

from dumbbell.engines import Monitor, RunResult, engine_named
from dumbbell.execution import Task, plan
from dumbbell.execution.plan import of_shard
from dumbbell.execution.shard import Shard, shard_of
from dumbbell.experiment import load_text
from dumbbell.store import Store
from dumbbell.store.files import mark_of
from dumbbell.store.segments import write_frames
from dumbbell.store.store import SEGMENT_RUNS
from dumbbell.store.tables import LARGE, SMALL, frame_of, frame_of_runs, parquet, run_fields

TEXT = """\
dumbbell: 1
name: synthetic
template: {dumbbell: {rate: $rate, rtt: $rtt, buffer: 50 packets}}
flows: [{name: f, from: s1, to: d1, tcp: $cc}]
duration: 1 s
factors:
  rate: [5 Mbit/s, 6 Mbit/s, 7 Mbit/s, 8 Mbit/s, 9 Mbit/s]
  rtt: [10 ms, 20 ms, 30 ms, 40 ms, 50 ms]
  cc: [reno, cubic, bbr, westwood]
"""
#: Combinations of levels in `TEXT`.
CELLS = 100


def build(folder: Path, runs: int, shard: Shard | None = None, *, files: bool = True) -> None:
    """Makes a store of an experiment with so many runs (a multiple of `CELLS`), or a shard of it.

    Without `files`, no run has samples or queues.
    """
    text = TEXT if files else TEXT + "sampling: none\n"
    experiment = load_text(text, Path("synthetic.yaml"), repeats=max(1, runs // CELLS))
    engine = engine_named("sim")
    tasks = plan(experiment, engine)
    own = tasks if shard is None else of_shard(tasks, experiment, engine, shard)
    result = engine.execute(tasks[0].run, Monitor())
    with Store(folder, write=True) as store:
        planned = [task.planned for task in tasks]
        store.record(experiment.info, engine.name, {}, planned, "synthetic.yaml")
    for begin in range(0, len(own), SEGMENT_RUNS):
        _segment(folder, own[begin : begin + SEGMENT_RUNS], result)


def _segment(folder: Path, tasks: list[Task], result: RunResult) -> None:
    """Runs with one result, and digests of their own."""
    rows = []
    for task in tasks:
        digest = hashlib.sha256(task.run.id.encode()).hexdigest()
        fields = run_fields(task.run, "sim", engine_named("sim").version, result)
        rows.append({**fields, "digest": digest})
    ids = pl.DataFrame({"run": [task.run.id for task in tasks]})
    frames = {"runs": frame_of_runs(rows)}
    for name in SMALL:
        if name in result.tables:
            one = frame_of(name, {"any": result.tables[name]})
            frames[name] = ids.join(one.drop("run"), how="cross").select(one.columns)
    files: dict[str, dict[str, tuple[int, str]]] = {task.run.id: {} for task in tasks}
    for name in LARGE:
        if name in result.tables and (frame := pl.read_ipc_stream(result.tables[name])).height:
            data = parquet(frame)
            mark = mark_of(data)
            for task in tasks:
                file = f"{task.run.id}.{name}.parquet"
                (folder / "runs" / file).write_bytes(data)
                files[task.run.id][file] = (mark.size, mark.hash)
    write_frames(folder, frames, files, "benchmark")


def merge(folder: Path, shards: int, runs: int) -> None:
    """Makes shards of a sweep of so many runs each, and measures their merge."""
    parts = [folder / f"shard-{k}" for k in range(1, shards + 1)]
    for number, part in enumerate(parts, 1):
        if not part.exists():
            build(part, runs * shards, Shard(number, shards))
    into = folder / "merged"
    command = [sys.executable, "-m", "dumbbell", "store", "merge", *map(str, parts), "-o"]
    for what in ("merged", "merged again"):
        begin = time.monotonic()
        done = subprocess.run([*command, str(into)], check=True, capture_output=True, text=True)
        last = done.stdout.splitlines()[-1]
        print(f"{what} in {time.monotonic() - begin:.1f} s: {last}")


if __name__ == "__main__":
    what, place, *rest = sys.argv[1:]
    if what == "build":
        build(Path(place), int(rest[0]), shard_of(rest[1]) if len(rest) > 1 else None)
    else:
        merge(Path(place), int(rest[0]), int(rest[1]))
