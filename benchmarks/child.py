"""Child processes of the benchmarks, measured separately.

`child.py imports`, `child.py run FILE` or `child.py grid` print one line of JSON; `child.py export
FILE` prints the scenario of an experiment file, for profiling the simulator alone.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

from dumbbell import _core
from dumbbell.experiment import load
from dumbbell.studies import run_study

SEED = 1
WORKERS = 2
BOTTLENECK = "bottleneck/forward"
S_PER_NS = 1e-9
BITS = 8
# The 134 cells of the published study, without our further parts and variants.
GRID_PARTS = ["single-vs-multi", "delay", "loss", "fairness", "udp"]


def run(path: Path) -> dict[str, float]:
    """Runs a benchmark scenario: time of the simulation alone, and packets of the bottleneck."""
    cell = load(path).cells[0]
    begin, cpu_begin = time.perf_counter(), time.process_time()
    output = _core.run(cell.scenario, SEED)
    wall_s, cpu_s = time.perf_counter() - begin, time.process_time() - cpu_begin
    tables = {name: pl.read_ipc_stream(stream) for name, stream in output.tables.items()}
    pipe = tables["pipes"].row(by_predicate=pl.col("pipe") == BOTTLENECK, named=True)
    duration_s = cell.duration_ns * S_PER_NS
    return {
        "wall_s": wall_s,
        "cpu_s": cpu_s,
        "packets": pipe["left_packets"],
        "dropped": pipe["dropped_overflow_packets"],
        "bottleneck_bps": pipe["left_bytes"] * BITS / duration_s,
        "goodput_bps": int(tables["flows"]["delivered_bytes"].sum()) * BITS / duration_s,
        "retransmitted": int(tables["flows"]["retransmitted_packets"].sum()),
        "events": output.events,
    }


def grid() -> dict[str, float]:
    """Runs and evaluates study 1's grid in a temporary store."""
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="dumbbell-bench-") as folder:
        store = Path(folder) / "store"
        result = run_study("multipath", parts=GRID_PARTS, workers=WORKERS, store=store)
    wall_s = time.perf_counter() - begin
    runs = pl.concat([part.runs.select("wall_s", "packets") for part in result.parts.values()])
    return {
        "wall_s": wall_s,
        "packets": int(runs["packets"].sum()),
        "runs": runs.height,
        "simulating_s": float(runs["wall_s"].sum()),
    }


def main(arguments: list[str]) -> None:
    """Runs the command of the arguments."""
    if arguments == ["imports"]:
        print(json.dumps({}))
    elif arguments == ["grid"]:
        print(json.dumps(grid()))
    elif len(arguments) == 2 and arguments[0] == "run":
        print(json.dumps(run(Path(arguments[1]))))
    elif len(arguments) == 2 and arguments[0] == "export":
        print(load(Path(arguments[1])).cells[0].scenario)
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
