"""Child processes of the benchmarks, measured separately.

`child.py imports`, `child.py run FILE`, `child.py grid`, `child.py call` or `child.py import` print
one line of JSON; `child.py export FILE` prints the scenario of an experiment file, for profiling
the simulator alone.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

import dumbbell
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

CALLS = 300
SMALL = Path(__file__).parent / "scenarios" / "call.yaml"
STARTS = 11
#: Programs whose whole processes `child.py import` measures.
STARTED = {
    "python_s": ["-c", "pass"],
    "import_s": ["-c", "import dumbbell"],
    "help_s": ["-m", "dumbbell", "--help"],
    "version_s": ["-m", "dumbbell", "--version"],
    "first_call_s": ["-c", "import sys, dumbbell; dumbbell.run(sys.argv[1]).flows", "FILE"],
    "run_s": ["-m", "dumbbell", "run", "FILE", "--store", "STORE"],
}


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


def call() -> dict[str, float]:
    """Runs a simulation of 1 s from Python in a loop, as an optimisation does.

    Medians in s: the call and one of its tables, and the simulation alone.
    """
    dumbbell.run(SMALL)
    walls_s, simulating_s = [], []
    for seed in range(CALLS):
        begin = time.perf_counter()
        results = dumbbell.run(SMALL, seed=seed)
        results.flows["delivered_bytes"].sum()
        walls_s.append(time.perf_counter() - begin)
        simulating_s.append(results.runs["wall_s"][0])
    return {
        "wall_s": statistics.median(walls_s),
        "simulating_s": statistics.median(simulating_s),
        "calls": CALLS,
    }


def start() -> dict[str, float]:
    """Starts the interpreter with our package. Medians of whole processes in s."""
    found = {}
    for name, arguments in STARTED.items():
        walls_s = []
        for _ in range(STARTS):
            with tempfile.TemporaryDirectory(prefix="dumbbell-bench-") as folder:
                places = {"FILE": str(SMALL), "STORE": str(Path(folder) / "store")}
                command = [sys.executable, *(places.get(part, part) for part in arguments)]
                begin = time.perf_counter()
                subprocess.run(command, check=True, capture_output=True)
                walls_s.append(time.perf_counter() - begin)
        found[name] = statistics.median(walls_s)
    return found


def main(arguments: list[str]) -> None:
    """Runs the command of the arguments."""
    if arguments == ["imports"]:
        print(json.dumps({}))
    elif arguments == ["grid"]:
        print(json.dumps(grid()))
    elif arguments == ["call"]:
        print(json.dumps(call()))
    elif arguments == ["import"]:
        print(json.dumps(start()))
    elif len(arguments) == 2 and arguments[0] == "run":
        print(json.dumps(run(Path(arguments[1]))))
    elif len(arguments) == 2 and arguments[0] == "export":
        print(load(Path(arguments[1])).cells[0].scenario)
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
